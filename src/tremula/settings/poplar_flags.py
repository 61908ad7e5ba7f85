"""The flags of TF_POPLAR_FLAGS, by name and type: `--name`, or `--name=value`, separated by spaces.

Names, types and defaults are public interface of the TensorFlow plugin. As there, an unknown flag stops the program.
The error suggests a similar flag.
"""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

HONOURED = "honoured"
RECORDED = "recorded"
#: what can be left out of the traffic between host and device
SYNTHETIC_CATEGORIES = ("seed", "infeed", "outfeed", "hostembedding", "parameters")
_COMPILER = "no effect: it controls the compiler of the real stack"


class BadFlag(ValueError):
    """An unknown flag or a wrong value. The text says what is allowed."""


def _flag(text: str) -> bool:
    if text in ("", "true", "1"):
        return True
    if text in ("false", "0"):
        return False
    raise BadFlag("takes no value, or true or false")


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise BadFlag("takes a whole number") from None


def _at_least(minimum: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        number = _number(text)
        if number < minimum:
            raise BadFlag(f"takes a whole number of {minimum} or more")
        return number

    return parse


def _text(text: str) -> str:
    if not text:
        raise BadFlag("needs a value")
    return text


def _categories(text: str) -> tuple[str, ...]:
    words = tuple(word.strip() for word in text.split(",") if word.strip())
    for word in words:
        if word not in SYNTHETIC_CATEGORIES:
            raise BadFlag(f"takes a list of {', '.join(SYNTHETIC_CATEGORIES)}, not {word!r}")
    return words


def _initializer(text: str) -> str | float:
    if text in ("random", "uniform", "normal"):
        return text
    try:
        return float(text)
    except ValueError:
        raise BadFlag("takes random, uniform, normal or a number") from None


def _switch(text: str) -> str:
    if text.lower() not in ("true", "false", "auto"):
        raise BadFlag("takes true, false or auto")
    return text.lower()


@dataclass(frozen=True)
class Flag:
    """One row of the table."""

    name: str
    kind: str  #: what it takes, in words for the reader
    parse: Callable[[str], Any]
    default: Any
    meaning: str
    effect: str = HONOURED  #: `honoured`, `recorded`, or `no effect: <why>`


# fmt: off
FLAGS: tuple[Flag, ...] = (
    Flag("help", "flag", _flag, False, "Write this table to the log when IPUs are configured."),
    Flag("use_ipu_model", "flag", _flag, False, "Run on an IPU model, without a device."),
    Flag("ipu_model_tiles", "whole number", _at_least(1), 0,
        "Tiles of each IPU of the model, unless `ipu_model.tiles_per_ipu` is set.", RECORDED),
    Flag("use_synthetic_data", "flag", _flag, False, "Move no data between host and device."),
    Flag("synthetic_data_categories", "list of " + ", ".join(SYNTHETIC_CATEGORIES), _categories, (),
        "Move no data of these kinds between host and device."),
    Flag("synthetic_data_initializer", "random, uniform, normal or a number", _initializer, "",
        "Values of synthetic inputs."),
    Flag("executable_cache_path", "path", _text, "", "Cache directory for compiled programs."),
    Flag("show_progress_bar", "true, false or auto", _switch, "auto",
        "Whether a progress bar is shown during compilation; auto: on a terminal.",
        "no effect: programs are ready quickly, so there is no progress to show"),
    Flag("use_on_demand", "flag", _flag, False,
        "Attach to devices when a program first runs, as with DeviceConnectionType.ON_DEMAND."),
    Flag("on_demand_device_poll_time", "milliseconds, 100 or more", _at_least(100), 1000,
        "Pause between two attempts to take a device, if devices are taken on demand."),
    Flag("on_demand_device_timeout", "milliseconds", _at_least(0), 3600000,
        "Timeout for a device that is taken on demand."),
    Flag("null_data_feed", "flag", _flag, False,
        "Give no data to infeeds, to measure the rest of a program.", RECORDED),
    Flag("log_cycle_count", "whole number", _number, -1,
        "Log the modelled cycles of each run. On hardware, the number is that of the counting tile; negative: off."),
    Flag("max_compilation_threads", "whole number", _number, -1, "Threads for compilation; negative: automatic.",
        _COMPILER),
    Flag("max_infeed_threads", "whole number", _number, -1, "Threads for each infeed; negative: automatic.",
        "no effect: one thread feeds each infeed, and tf.data uses its own threads"),
    Flag("while_loop_brute_force_max_trip_count", "whole number", _number, 128,
        "Most iterations of a while loop that are tried to find its trip count.", _COMPILER),
    Flag("dump_schedule_as_dot", "flag", _flag, False, "Draw the schedule.", _COMPILER),
    Flag("tensor_map_file_path", "path", _text, "", "Folder for files with the placement of tensors on tiles.",
        "no effect: tensors are not placed on tiles"),
    Flag("fallback_scheduler", "flag", _flag, False, "Use the simple scheduler.", _COMPILER),
    Flag("sync_replica_start", "flag", _flag, False, "Start all replicas at the same time.",
        "no effect: replicas on the host always start together"),
    Flag("enable_hlo_verifier", "flag", _flag, False, "Check the graph after each pass.", _COMPILER),
    Flag("disable_poplar_version_check", "flag", _flag, False, "Accept executables of other versions.",
        "no effect: there is no Poplar version to compare"),
    Flag("allow_nans", "flag", _flag, False, "Allow NaN.", _COMPILER),
)
# fmt: on

_BY_NAME = {flag.name: flag for flag in FLAGS}


def by_name(name: str) -> Flag:
    """The row of `name`; KeyError if there is none."""
    return _BY_NAME[name]


def parse(text: str) -> dict[str, Any]:
    """The flags that `text` sets.

    Raises:
        BadFlag: an unknown flag or a wrong value.
    """
    try:
        words = shlex.split(text)
    except ValueError as problem:
        raise BadFlag(f"unbalanced quotes ({problem})") from None
    values: dict[str, Any] = {}
    for word in words:
        name, _, value = word.removeprefix("--").partition("=")
        flag = _BY_NAME.get(name)
        if flag is None or not word.startswith("--"):
            raise BadFlag(f"unknown flag {word!r}.{_nearest(name)} docs/settings.md lists the flags")
        try:
            values[name] = flag.parse(value)
        except BadFlag as problem:
            raise BadFlag(f"--{name} {problem}, not {value!r}") from None
    if "synthetic_data_initializer" in values and not (
        values.get("use_synthetic_data") or values.get("synthetic_data_categories")
    ):
        raise BadFlag(
            "--synthetic_data_initializer also needs --use_synthetic_data or --synthetic_data_categories"
        )
    return values


def _nearest(name: str) -> str:
    near = difflib.get_close_matches(name.lstrip("-"), list(_BY_NAME), n=1, cutoff=0.5)
    return f" Did you mean --{near[0]}?" if near else ""
