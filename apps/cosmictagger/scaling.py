"""`cosmictagger scale`: how a configuration would scale over IPUs, as Tremula models it; measured replicas beside it.

The study is that of `tremula scale` for this program. Events are read from a file, as in a real run: where the
configuration generates them, a file of them is written first, so that the speed of loading is that of reading.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tremula.cli.command import CommandError
from tremula.cli.scale import add_options, scale
from tremula.errors import Error

from cosmictagger.config import Config, ConfigError, load
from cosmictagger.config.groups import ComputeMode, SyntheticData
from cosmictagger.data.generate import FULL_SHAPE

#: the configuration of the published runs, as one that fits
DEFAULT = "a21_ipu"
#: events that are written to be read
_EVENTS = 64
#: how much coarser measured runs may be than the study: a full image takes a host's core a quarter of a minute
_COARSEST = 3


def main(words: Sequence[str]) -> int:
    """Make the study; the exit code."""
    try:
        return _main(words)
    except ConfigError as problem:
        return _said(problem, 2)
    except (CommandError, Error) as problem:
        return _said(problem.message if isinstance(problem, Error) else problem, 1)
    except OSError as problem:
        return _said(problem, 1)


def _said(problem: object, code: int) -> int:
    print(f"cosmictagger: {problem}", file=sys.stderr)
    return code


def _main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="cosmictagger scale",
        usage="cosmictagger scale [options] [--config-name=NAME] [key=value ...]",
        description="How a configuration (a21_ipu by default) would scale over IPUs. Figures of IPUs are modelled.",
        allow_abbrev=False,
    )
    parser.add_argument("--config-name", metavar="NAME", default=DEFAULT, help="preset or YAML file")
    add_options(parser)
    try:
        options, overrides = parser.parse_known_args(words)
    except SystemExit as end:  # argparse has printed the help or the mistake
        return int(end.code or 0)
    unknown = [word for word in overrides if word.startswith("-")]
    if unknown:
        raise ConfigError(f"There is no option {unknown[0]}; `cosmictagger scale --help` lists them.")
    config = load(options.config_name, overrides)
    if config.mode.name != "train":
        raise ConfigError("A scaling study is one of training: leave mode= out.")
    short = Path(options.config_name).stem
    options.out, options.name = options.out or f"scale-{short}", options.name or f"CosmicTagger {short}"
    if not options.measure_with:
        options.measure_with = _smaller(config)
    program = [
        f"--config-name={options.config_name}",
        # in a folder of its own: the run that the configuration names is left alone
        *(word for word in overrides if not word.startswith("output_dir=")),
        f"output_dir={Path(options.out) / 'run'}",
        *([] if config.run.compute_mode is ComputeMode.IPU else ["run.compute_mode=IPU"]),
        *_events(config, Path(options.out)),
    ]
    return scale(["run", "-m", "cosmictagger", *program], options)


def _smaller(config: Config) -> str:
    """What makes a measured run as coarse as the network can take; nothing if it is that already."""
    data = config.data
    wires, ticks = (data.wires, data.ticks) if isinstance(data, SyntheticData) else FULL_SHAPE
    for downsample in range(_COARSEST, data.downsample, -1):
        try:
            config.network.check_image(ticks >> downsample, wires >> downsample)
        except ValueError:
            continue
        return f"data.downsample={downsample}"
    return ""


def _events(config: Config, folder: Path) -> list[str]:
    """Events in a file, if the configuration has none."""
    data = config.data
    if not isinstance(data, SyntheticData):
        return []
    from cosmictagger.data.generate import generate

    name = f"events-{data.wires}x{data.ticks}-{data.seed}-{data.cosmics}.h5"
    if not (folder / name).is_file():
        folder.mkdir(parents=True, exist_ok=True)
        generate(
            folder / name,
            _EVENTS,
            data.seed,
            shape=(data.wires, data.ticks),
            cosmics=data.cosmics,
            progress=sys.stderr.isatty(),
        )
    # the group of keys changes with the kind of data, so those that matter are said again
    return [
        "data=real",
        f"data.data_directory={folder}",
        f"data.file={name}",
        "data.aux_file=",
        f"data.downsample={data.downsample}",
        f"data.img_transform={str(data.img_transform).lower()}",
        f"data.workers={data.workers}",
    ]
