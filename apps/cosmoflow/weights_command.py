"""`cosmoflow weights`: exchange of weights with the published TensorFlow program and Keras."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from cosmoflow.config import load
from cosmoflow.settings import ConfigError

_DESCRIPTION = """\
Exchange weights with the published TensorFlow program. FILE is an HDF5 file of Keras (.h5, .weights.h5, or a whole
model in .h5, of which the weights are read) or a checkpoint of TensorFlow: its name without .index, or, to import, the
folder of an estimator.
"""


def main(words: Sequence[str]) -> int:
    """Import or export weights; the exit code."""
    parser = argparse.ArgumentParser(prog="cosmoflow weights", description=_DESCRIPTION, allow_abbrev=False)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    reading = commands.add_parser(
        "import", help="create a checkpoint from FILE", allow_abbrev=False, description=_DESCRIPTION,
        usage="cosmoflow weights import FILE --output CHECKPOINT [--config-name=NAME] [network.KEY=VALUE ...]",
    )  # fmt: skip
    reading.add_argument("file", metavar="FILE", help="weights of TensorFlow or Keras")
    reading.add_argument("--output", metavar="CHECKPOINT", required=True, help="the checkpoint to write, .pt")
    reading.add_argument(
        "--config-name",
        metavar="NAME",
        default="gc64",
        help="preset or YAML file with the size of the network",
    )
    writing = commands.add_parser(
        "export",
        help="write the weights of a checkpoint to FILE",
        allow_abbrev=False,
        description=_DESCRIPTION,
    )
    writing.add_argument("checkpoint", metavar="CHECKPOINT", help="a checkpoint of this program, .pt")
    writing.add_argument("file", metavar="FILE", help="the file to write")
    try:
        options, overrides = parser.parse_known_args(words)
        if options.command == "export" and overrides:
            writing.error(f"unrecognized arguments: {' '.join(overrides)}")
    except SystemExit as end:  # argparse has printed the help or the mistake
        return int(end.code or 0)
    try:
        unknown = [word for word in overrides if not word.startswith("network.")]
        if unknown:
            raise ConfigError(f"'{unknown[0]}' has no meaning here; settings are network.KEY=VALUE.")
        config = load(options.config_name, overrides) if options.command == "import" else None
    except ConfigError as problem:
        return _wrong(str(problem), 2)
    return _exchange(options, None if config is None else config.variant)


def _exchange(options: argparse.Namespace, variant: object) -> int:
    # torch is imported when the command line is known to be right
    from cosmoflow.checkpoints import BadCheckpoint
    from cosmoflow.exchange.layers import BadWeights
    from cosmoflow.exchange.weights import export_weights, import_weights
    from cosmoflow.network import Variant
    from tremula.atomic_files import disk_problem

    file = Path(options.file).expanduser()
    try:
        if isinstance(variant, Variant):
            target = Path(options.output).expanduser()
            count = import_weights(file, target, variant)
            print(
                f"{target}: {count:,} weights. Look at them with mode=inference inference.checkpoint={target}"
            )
        else:
            count = export_weights(Path(options.checkpoint).expanduser(), file)
            print(f"{file}: {count:,} weights.")
    except (BadWeights, BadCheckpoint) as problem:
        return _wrong(str(problem), 1)
    except OSError as problem:
        where = f": {problem.filename}" if problem.filename else ""
        return _wrong(disk_problem(problem) or f"{problem.strerror or problem}{where}", 1)
    return 0


def _wrong(text: str, code: int) -> int:
    print(f"cosmoflow weights: {text}", file=sys.stderr)
    return code
