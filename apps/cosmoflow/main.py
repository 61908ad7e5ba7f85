"""The `cosmoflow` command: `cosmoflow --config-name=demo mode=train key=value ...`."""

from __future__ import annotations

import argparse
import logging
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

from cosmoflow import __version__
from cosmoflow.config import config_names, keys, load
from cosmoflow.settings import MODES, Config, ConfigError

_USAGE = """\
cosmoflow: read cosmological parameters off the distribution of matter.

  cosmoflow [--config-name=NAME] [key=value ...]

  cosmoflow --config-name=demo mode=train                    generate universes, train, report: two minutes
  cosmoflow --config-name=gc64 mode=throughput               how fast the network trains
  cosmoflow --config-name=mlperf128 data.train=DIR data.validation=DIR
  cosmoflow --config-name=demo mode=inference                report on test samples again
  poprun --num-instances 2 --num-replicas 2 cosmoflow --config-name=demo
  cosmoflow scale [--config-name=NAME] [key=value ...]       how a configuration would scale over IPUs
  cosmoflow weights import FILE --output CHECKPOINT          take over weights of the TensorFlow program
  cosmoflow weights export CHECKPOINT FILE                   write weights for it

  --config-name=NAME  {names}, or a YAML file; gc64 by default
  --cfg               show the configuration and stop
  --help, -h          show this text
  --version           show the version

A training run that is started again continues from its newest checkpoint. Exit codes: 0 done, 1 failed, 2 the command
line or configuration is wrong, 130 interrupted (saved first).
"""
_SECTIONS = {"": "general"}


def help_text(config: Config | None = None) -> str:
    """How the command is used, and every key with its meaning and default."""
    lines = [_USAGE.format(names=", ".join(config_names())).rstrip(), ""]
    section = None
    for name, (value, meaning, _) in keys(config).items():
        group = name.rpartition(".")[0]
        if group != section:
            section = group
            lines += ["", f"{_SECTIONS.get(group, group)}:"]
        shown = "" if value is None else f" [{str(value).lower() if isinstance(value, bool) else value}]"
        text = textwrap.wrap(f"{meaning}{shown}", 110 - 30)
        lines.append(f"  {name:<26}  {text[0]}")
        lines += [" " * 30 + more for more in text[1:]]
    return "\n".join(lines) + "\n"


def build_parser() -> argparse.ArgumentParser:
    """Options and keys as a parser, for shell completion."""
    made = argparse.ArgumentParser(prog="cosmoflow")
    made.add_argument("--config-name", choices=config_names(), help="a configuration, or a YAML file")
    made.add_argument("--cfg", action="store_true", help="show the configuration and stop")
    made.add_argument("--version", action="store_true", help="show the version")
    made.add_argument(
        "setting",
        nargs="*",
        metavar="command or key=value",
        choices=["scale", "weights", *(f"{key}=" for key in keys(None))],
        help="a command (scale or weights), or a setting of the run",
    )
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words[:1] == ["scale"]:
        from cosmoflow import scaling

        return scaling.main(words[1:])
    if words[:1] == ["weights"]:
        from cosmoflow import weights_command

        return weights_command.main(words[1:])
    name, overrides, show = "gc64", [], False
    while words:
        word = words.pop(0)
        if word in ("--help", "-h"):
            print(help_text(), end="")
            return 0
        if word == "--version":
            print(f"cosmoflow {__version__}")
            return 0
        if word == "--cfg":
            show = True
        elif word == "--config-name" and words:
            name = words.pop(0)
        elif word.startswith("--config-name="):
            name = word.partition("=")[2]
        elif word.startswith("-"):
            return _wrong(f"There is no option '{word}'; settings have the form key=value. See --help.")
        else:
            overrides.append(word)
    try:
        config = load(name, overrides)
    except ConfigError as problem:
        return _wrong(str(problem))
    if show:
        print(config.as_yaml(), end="")
        return 0
    return _run(config)


def _wrong(text: str, code: int = 2) -> int:
    print(f"cosmoflow: {text}", file=sys.stderr)
    return code


def _run(config: Config) -> int:
    # what is slow to import is imported when the command line is known to be right
    import poptorch

    from cosmoflow.checkpoints import BadCheckpoint
    from cosmoflow.data.layout import BadSampleFile
    from cosmoflow.training import Interrupted, NotFinite
    from tremula.atomic_files import disk_problem

    logging.getLogger("matplotlib").setLevel(logging.WARNING)
    assert config.mode in MODES
    try:
        _do(config)
    except ConfigError as problem:
        return _wrong(str(problem))
    except (BadSampleFile, BadCheckpoint, NotFinite, poptorch.Error) as problem:
        return _wrong(str(problem), 1)
    except OSError as problem:
        full = disk_problem(problem)
        return _wrong(
            full or f"{problem.strerror or problem}{f': {problem.filename}' if problem.filename else ''}", 1
        )
    except Interrupted as problem:
        return _wrong(str(problem), 130)
    except KeyboardInterrupt:
        return _wrong("Interrupted.", 130)
    return 0


def _do(config: Config) -> None:
    from cosmoflow.data.sources import PARTS, generate, generated_path
    from cosmoflow.processes import Processes

    processes = Processes.of(config)
    if config.mode == "generate":
        for part in PARTS if processes.first else ():
            path = generated_path(config, part)
            known = path.is_file()
            print(
                f"{part}: {path if known else generate(config, part)}{' (is there already)' if known else ''}",
                flush=True,
            )
        return
    if config.mode == "throughput":
        from cosmoflow.throughput import throughput

        throughput(config, processes)
    elif config.mode == "data-benchmark":
        from cosmoflow.throughput import data_benchmark

        data_benchmark(config, processes)
    elif config.mode == "train":
        from cosmoflow.training import Trainer

        if (
            config.data.source == "generated"
            and processes.first
            and not generated_path(config, "train").is_file()
        ):
            print(
                f"Generating {config.generate.train} universes for training, others for validation and test ...",
                flush=True,
            )
        Trainer(config, processes, _tell).run()
        if config.inference.after_training:
            _infer(config, processes, asked=False)
    else:
        _infer(config, processes, asked=True)


def _tell(line: str) -> None:
    print(line, flush=True)


def _infer(config: Config, processes: object, *, asked: bool) -> None:
    from cosmoflow.inference import infer
    from cosmoflow.processes import Processes

    assert isinstance(processes, Processes)
    infer(config, processes, Path(config.output), _tell, asked=asked)
