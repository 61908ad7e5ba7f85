"""`cosmoflow scale`: how a configuration would scale over IPUs, as Tremula models it; measured replicas beside it.

The study is that of `tremula scale` for this program. Samples are read from files, as in a real run: where the
configuration names none, a few are generated, so that the speed of loading is that of reading.
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

from cosmoflow.config import load
from cosmoflow.settings import Config, ConfigError

#: the reference benchmark, as one that fits
DEFAULT = "mlperf128_ipu"
#: samples that are generated to be read; more if a call of the model takes many
_SAMPLES = 16
#: side of the volumes that are measured, and their convolutions, at most
_SIDE, _LAYERS = 32, 3


def main(words: Sequence[str]) -> int:
    """Make the study; the exit code."""
    parser = argparse.ArgumentParser(
        prog="cosmoflow scale",
        usage="cosmoflow scale [options] [--config-name=NAME] [key=value ...]",
        description=f"How a configuration ({DEFAULT} by default) would scale over IPUs. Figures of IPUs are modelled.",
        allow_abbrev=False,
    )
    parser.add_argument("--config-name", metavar="NAME", default=DEFAULT, help="preset or YAML file")
    add_options(parser)
    try:
        options, overrides = parser.parse_known_args(words)
    except SystemExit as end:  # argparse has printed the help or the mistake
        return int(end.code or 0)
    try:
        unknown = [word for word in overrides if word.startswith("-")]
        if unknown:
            raise ConfigError(f"There is no option {unknown[0]}; `cosmoflow scale --help` lists them.")
        config = load(options.config_name, overrides)
        if config.mode != "train":
            raise ConfigError("A scaling study is one of training: leave mode= out.")
        question_of(options)  # mistakes are told before anything is made
        short = Path(options.config_name).stem
        folder = Path(options.out or f"scale-{short}").expanduser()
        options.out, options.name = str(folder), options.name or f"CosmoFlow {short}"
        options.measure_with = options.measure_with or _smaller(config)
        # in a folder of its own: the run that the configuration names is left alone
        kept = [word for word in overrides if not word.startswith("output=")]
        program = [
            f"--config-name={options.config_name}",
            *kept,
            *_samples(config, folder, max(options.measure)),
        ]
        return scale(["run", "-m", "cosmoflow", *program], options)
    except ConfigError as problem:
        return _said(problem, 2)
    except (CommandError, Error) as problem:
        return _said(problem.message if isinstance(problem, Error) else problem, 1)
    except OSError as problem:
        return _said(disk_problem(problem) or problem, 1)
    except KeyboardInterrupt:
        return 130


def _smaller(config: Config) -> str:
    """What is measured: volumes as small as the host can take, unless files have them; no numbers are drawn."""
    words = ["network.dropout=0", "device.memory_proportion="]
    if not _in_files(config) and config.variant.size > _SIDE:
        words += [f"network.size={_SIDE}", f"network.layers={min(_LAYERS, config.variant.layers)}"]
    return " ".join(words)


def _in_files(config: Config) -> bool:
    return config.data.source == "files" and config.data.train is not None


def _samples(config: Config, folder: Path, processes: int) -> list[str]:
    """Samples in files, if the configuration names none; everything in the folder of the study."""
    words = [f"output={folder / 'run'}"]
    if _in_files(config):
        return words
    device = config.device
    call = device.batch * device.accumulation * device.iterations * device.replicas
    return [
        *words,
        "data.source=generated",
        "data.parameters=",
        f"generate.train={max(_SAMPLES, 2 * call * processes)}",
        "generate.validation=2",
        "generate.test=2",
    ]


def _said(problem: object, code: int) -> int:
    print(f"cosmoflow: {problem}", file=sys.stderr)
    return code
