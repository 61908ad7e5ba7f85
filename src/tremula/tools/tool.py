"""The common parts of all tools: options, exit codes, and the line about virtual IPUs.

Exit codes: 0 success, 1 a failure with a message on stderr, 2 a wrong command line, 130 interrupted.
No tool shows a traceback.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

from tremula import __version__, log
from tremula.errors import Error
from tremula.formatting import plain
from tremula.machine.device_ids import Device, device
from tremula.machine.occupancy import Occupancy, current_occupancy
from tremula.settings.environment import VARIABLES, env

_PREFIXES = ("GCDA_", "IPUOF_", "VIPU_")
_NO_EFFECT = "no effect: "
Body = Callable[[argparse.Namespace], int]


def parser(name: str, description: str, **more: Any) -> argparse.ArgumentParser:
    """A command line with the options that all tools have."""
    made = argparse.ArgumentParser(prog=name, description=description, **more)
    made.add_argument("-v", "--version", action="version", version=f"{name} of Tremula {__version__}")
    return made


def add_device(made: argparse.ArgumentParser, *, default: int | None = 0) -> None:
    """Add an option for the device."""
    shown = "" if default is None else f" (default: {default})"
    made.add_argument(
        "-d",
        "--device-id",
        type=whole_number,
        default=default,
        metavar="ID",
        help=f"the device, by its id in gc-info --list-devices{shown}",
    )


def add_json(made: argparse.ArgumentParser, *names: str) -> None:
    """Add an option for the result as JSON."""
    made.add_argument("-j", "--json-output", *names, action="store_true", help="print the result as JSON")


def add_count(made: argparse.ArgumentParser, name: str, default: int, help: str) -> None:
    """Add an option for a number of 1 or more."""
    made.add_argument(name, type=positive, default=default, metavar="N", help=f"{help} (default: {default})")


def add_interval(made: argparse.ArgumentParser, least: float, help: str) -> None:
    """Add an option for a number of seconds."""

    def seconds(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = 0.0
        if not least <= value <= 3600.0:
            raise argparse.ArgumentTypeError(f"between {least} and 3600 seconds")
        return value

    made.add_argument("--interval", type=seconds, default=1.0, metavar="SECONDS", help=f"{help} (default: 1)")


def whole_number(text: str) -> int:
    """An option's value: 0, 1, 2 ..."""
    if not text.isdecimal() or len(text) > 12:
        raise argparse.ArgumentTypeError(f"must be a whole number, not {text!r}")
    return int(text)


def positive(text: str) -> int:
    """An option's value: 1, 2 ..."""
    number = whole_number(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be a whole number of 1 or more")
    return number


def run(name: str, made: argparse.ArgumentParser, body: Body, arguments: Sequence[str] | None) -> int:
    """Parse the command line and run the tool. All errors become an exit code and a short message."""
    try:
        given = made.parse_args(arguments)
    except SystemExit as request:  # argparse has printed the help or the mistake
        return int(request.code or 0)
    try:
        _warn_of_ignored_options()
        code = body(given)
        sys.stdout.flush()
    except Error as error:
        return _explained(name, error.message)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # `gc-monitor | head`
        _silence()
        return 141
    except OSError as problem:
        where = f"{problem.filename}: " if problem.filename else ""
        return _explained(name, f"{where}{problem.strerror or problem}")
    except Exception as problem:
        if log.level("tremula") in ("DEBUG", "TRACE", "TRACE_ALL"):
            raise
        return _explained(
            name, f"{type(problem).__name__}: {problem}\nThis is a bug in Tremula. "
            "Set TREMULA_LOG_LEVEL=DEBUG to see where it happened."
        )  # fmt: skip
    return code


def _warn_of_ignored_options() -> None:
    """Warn about each variable for such tools that the user set and that has no effect."""
    ours = (each for each in VARIABLES if each.name.startswith(_PREFIXES) and env.is_set(each.name))
    for variable in ours:
        if variable.effect.startswith(_NO_EFFECT):
            log.no_effect(variable.name, variable.effect.removeprefix(_NO_EFFECT))


def occupancy() -> Occupancy:
    """The partition that tools look at; raises Error if this machine has no IPUs, or they cannot be used."""
    found = current_occupancy()
    if found is None:
        raise no_ipus()
    return found


def no_ipus() -> Error:
    """What to say on a machine without IPUs."""
    return Error(
        "this machine has no IPUs, because TREMULA_VIRTUAL_IPUS is 0. Unset it to use those of `tremula system`."
    )


def device_of(found: Occupancy, device_id: int) -> Device:
    """The device that the user named."""
    return device(device_id, found.partition.size)


def write_json(value: Any) -> None:
    """Print as JSON."""
    print(json.dumps(value, indent=2))


def remark(text: str) -> None:
    """Print a remark to stderr, so that scripts do not read it."""
    sys.stdout.flush()
    print(plain(text), file=sys.stderr)


def what_this_is(found: Occupancy) -> str:
    """The line that describes the virtual IPUs."""
    system = found.system
    return f"virtual IPUs: {system.hardware.title} ({system.name}), Tremula {__version__}"


def _explained(name: str, text: str) -> int:
    with contextlib.suppress(OSError):
        print(f"{name}: {plain(text)}", file=sys.stderr)
    return 1


def _silence() -> None:
    """The reader is gone; keep the interpreter from complaining when it flushes at its end."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
