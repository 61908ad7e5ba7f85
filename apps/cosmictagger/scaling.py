"""`cosmictagger scale`: how a configuration would scale over IPUs, as Tremula models it; measured replicas beside it.

The study is that of `tremula scale` for this program. What is measured reads events from a file, as a real run does:
where the configuration generates them, a file is written first, so that the speed of loading is that of reading.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tremula.atomic_files import disk_problem
from tremula.cli.command import CommandError
from tremula.cli.scale import scale
from tremula.cli.scale_options import add_options, question_of
from tremula.errors import Error

from cosmictagger.config import Config, ConfigError, load
from cosmictagger.config.groups import ComputeMode, SyntheticData
from cosmictagger.data.dense import grid
from cosmictagger.data.layout import BadEventFile

#: the configuration of the published runs, as one that fits
DEFAULT = "a21_ipu"
#: events that are written to be read; more if a call of the model takes many
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
    except (BadEventFile, OSError) as problem:
        return _said((disk_problem(problem) if isinstance(problem, OSError) else None) or problem, 1)


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
    question_of(options)  # mistakes are told before anything is made
    short = Path(options.config_name).stem
    folder = Path(options.out or f"scale-{short}").expanduser()
    options.out, options.name = str(folder), options.name or f"CosmicTagger {short}"
    smaller = _smaller(config)
    options.measure_with = options.measure_with or smaller
    # in a folder of its own: the run that the configuration names is left alone
    kept = [word for word in overrides if not word.startswith("output_dir=")]
    if not options.no_measure and isinstance(config.data, SyntheticData):
        # another kind of data has other keys
        kept = [word for word in kept if not word.startswith(("data=", "data."))]
        kept += _events(config, config.data, folder, max(options.measure))
    program = [
        f"--config-name={options.config_name}",
        *kept,
        f"output_dir={folder / 'run'}",
        *([] if config.run.compute_mode is ComputeMode.IPU else ["run.compute_mode=IPU"]),
    ]
    return scale(["run", "-m", "cosmictagger", *program], options)


def _smaller(config: Config) -> str:
    """What makes a measured run as coarse as the network can take; nothing if it is that already.

    Raises:
        ConfigError: there are no events, or the network cannot take them as they are.
        BadEventFile: a file of events is broken.
    """
    from cosmictagger.training import building

    wires, ticks = building.events(config).train.source.shape
    for downsample in range(_COARSEST, config.data.downsample, -1):
        try:
            config.network.check_image(*grid((wires, ticks), downsample))
        except ValueError:
            continue
        return f"data.downsample={downsample}"
    return ""


def _events(config: Config, data: SyntheticData, folder: Path, processes: int) -> list[str]:
    """Events in a file, enough for a few calls of the model in so many processes."""
    from cosmictagger.data.generate import generate

    run, accumulated = config.run, config.mode.optimizer.gradient_accumulation
    call = run.minibatch_size * accumulated * run.replicas * run.device_iterations
    # two calls, and those that are held out
    events = max(_EVENTS, 3 * call * processes)
    name = f"events-{events}-{data.wires}x{data.ticks}-{data.seed}-{data.cosmics}.h5"
    if not (folder / name).is_file():
        folder.mkdir(parents=True, exist_ok=True)
        generate(
            folder / name,
            events,
            data.seed,
            shape=(data.wires, data.ticks),
            cosmics=data.cosmics,
            progress=sys.stderr.isatty(),
        )
    return [
        "data=real",
        f"data.data_directory={folder}",
        f"data.file={name}",
        "data.aux_file=",
        f"data.downsample={data.downsample}",
        f"data.img_transform={str(data.img_transform).lower()}",
        f"data.workers={data.workers}",
        f"data.loading={data.loading}",
    ]
