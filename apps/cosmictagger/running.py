"""A run of `cosmictagger`: one mode, as a preset and `key=value` overrides describe it.

Mistakes are one line on stderr. Exit codes: 0 done, 1 failed, 2 the command line or the configuration is wrong, 130
interrupted (143 by SIGTERM) after the run saved itself.
"""

from __future__ import annotations

import contextlib
import logging
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

from cosmictagger import __version__
from cosmictagger.config import Config, ConfigError, as_yaml, load
from cosmictagger.config.keys import did_you_mean, show

_FLAGS = ("--config-name", "--help", "--version", "--cfg")


def main(given: list[str]) -> int:
    """Run it; the exit code."""
    try:
        return _main(given)
    except ConfigError as error:
        return _refuse(error, 2)


def _main(given: list[str]) -> int:
    name, overrides, shown = _parse(given)
    if "--help" in shown:
        from cosmictagger.config.help import help_text

        print(help_text())
        return 0
    if "--version" in shown:
        print(f"cosmictagger {__version__}")
        return 0
    config = load(name, overrides)
    if "--cfg" in shown:
        print(as_yaml(config), end="")
        return 0
    return _run(config, given)


def _parse(given: list[str]) -> tuple[str, list[str], set[str]]:
    name, overrides, shown = "config", [], set()
    rest = iter(given)
    for each in rest:
        if each in ("--help", "-h", "--version", "--cfg"):
            shown.add("--help" if each == "-h" else each)
        elif each == "--config-name" or each.startswith("--config-name="):
            _, equals, value = each.partition("=")
            name = value if equals else next(rest, "")
            if not name:
                raise ConfigError("--config-name needs a name, such as --config-name=demo.")
        elif each.startswith("-"):
            raise ConfigError(
                f"There is no option {show(each)}.{did_you_mean(each.partition('=')[0], _FLAGS)}"
            )
        else:
            overrides.append(each)
    return name, overrides, shown


def run_folder(config: Config, apart: int | None = None) -> Path:
    """Where a run has its files: always the same for the same run.id, so that it can be continued.

    Args:
        config: the configuration.
        apart: number of a process that trains on its own beside others.
    """
    name = config.run.id if apart is None else f"{config.run.id}-instance{apart}"
    return Path(config.output_dir).expanduser() / config.framework / config.network.name / name


def _run(config: Config, given: list[str]) -> int:
    # torch and all it brings along take a second, which --help need not wait for
    import poptorch

    from cosmictagger.data.layout import BadEventFile
    from cosmictagger.training.checkpoints import BadCheckpoint
    from tremula.atomic_files import disk_problem, write_text_atomically
    from cosmictagger.interruption import Interrupted
    from cosmictagger.training.logs import close_log, open_log
    from cosmictagger.training.ranks import Ranks
    from cosmictagger.training.trainer import Diverged

    ranks = Ranks.of(config)
    if config.run.progress is None:
        config.run.progress = sys.stderr.isatty() and not ranks.launched
    folder = run_folder(config, ranks.apart)
    logger: logging.Logger | None = None
    try:
        from cosmictagger.training import building

        events = building.events(config)
        logger = open_log(folder, ranks.index)
        logger.info("Dumping launch arguments.")
        logger.info(str(["cosmictagger", *given]))
        if ranks.first:
            _describe(config, folder, events.files, write_text_atomically)
        with _deterministic(config):
            _by_mode(config, ranks, folder, logger, events)
        return 0
    except Interrupted as end:
        if logger is not None:
            logger.warning(f"Interrupted ({end}); start it again to continue from there.")
        return 130 if end.number == signal.SIGINT else 128 + end.number
    except Diverged as error:
        if logger is not None:
            logger.error(str(error))
        return _refuse(error, 1)
    except (BadEventFile, BadCheckpoint, OSError, poptorch.Error) as error:
        if isinstance(error, BrokenPipeError):
            raise
        return _refuse((disk_problem(error) if isinstance(error, OSError) else None) or error, 1)
    finally:
        if logger is not None:
            close_log(logger)


def _by_mode(config, ranks, folder, logger, events) -> None:
    mode = config.mode.name
    logger.info(f"Running {mode}\n\n-- CONFIG --\n{as_yaml(config)}")
    if mode == "train":
        from cosmictagger.training.trainer import Trainer

        Trainer(config, ranks, folder, logger, events).run()
    elif mode == "iotest":
        from cosmictagger.data import iotest

        iotest(
            events.train,
            config.run.minibatch_size,
            batches=config.run.iterations,
            workers=config.data.workers,
            progress=bool(config.run.progress),
            tell=logger.info,
            rank=ranks.index,
            ranks=ranks.count,
            seed=config.run.seed,
        )
    elif mode == "inference":
        from cosmictagger.training.inference import run_inference

        run_inference(config, ranks, folder, logger, events)
    else:
        from cosmictagger.display.run import run_display

        run_display(config, ranks, folder, logger, events)


def _describe(config: Config, folder: Path, files: list[Path], write) -> None:
    """What the run is and where it comes from, in its folder; training and other modes side by side."""
    from cosmictagger.config.provenance import as_json, provenance

    prefix = "" if config.mode.name == "train" else f"{config.mode.name}-"
    write(folder / f"{prefix}config.yaml", as_yaml(config))
    write(folder / f"{prefix}provenance.json", as_json(provenance(config, files)))


@contextlib.contextmanager
def _deterministic(config: Config) -> Iterator[None]:
    """The same bits every time, if that is asked for."""
    import torch

    before = (
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
    )
    fill = torch.utils.deterministic.fill_uninitialized_memory
    if config.run.deterministic:
        # on GPUs some operations have no such form: torch says which
        torch.use_deterministic_algorithms(True, warn_only=config.run.compute_mode == "GPU")
        torch.utils.deterministic.fill_uninitialized_memory = False
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before[0], warn_only=before[1])
        torch.utils.deterministic.fill_uninitialized_memory = fill


def _refuse(error: object, code: int) -> int:
    text = " ".join(str(error).split())
    print(f"cosmictagger: {text}", file=sys.stderr)
    return code
