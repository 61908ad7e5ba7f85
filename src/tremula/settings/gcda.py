"""GCDA_OPTIONS: options of the device access library, as a JSON object.

Names and defaults follow the public documentation of the command line tools. Unknown names and values are errors, so
that no option is ignored silently.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

#: the errors that can be simulated, called as Poplar's public error codes are
SOC_ERRORS = (
    "IPUSOFTERR", "EXCHANGE_ERROR", "MEMORY_ERROR", "LINK_DOWN", "HOST_LINK_DOWN", "HOST_SYNC_TIMEOUT",
    "IPU_MEMORY_FAILURE",
)  # fmt: skip
_FLAGS = {
    "discoverUSBDevices": "discover_usb",
    "enableMonitoring": "enable_monitoring",
    "forceHSPPosted": "force_hsp_posted",
    "monitorUtilisation": "monitor_utilisation",
    "simulateSOCError.rearmOnReset": "rearm_on_reset",
}
_WORDS = {"true": True, "1": True, "false": False, "0": False}
OPTIONS = (*_FLAGS, "configFile", "simulateSOCError.errorList", "simulateSOCError.triggerCount")


@dataclass(frozen=True)
class GcdaOptions:
    """The options in GCDA_OPTIONS; None for those that are not set."""

    config_file: str = ""  #: another mapping of IPUs
    discover_usb: bool | None = None  #: whether to look for devices at USB ports
    enable_monitoring: bool | None = None  #: whether tools show power and temperatures
    force_hsp_posted: bool | None = None  #: how the host waits for the device
    monitor_utilisation: bool | None = None  #: whether tools show how busy an IPU is
    errors: tuple[str, ...] = ()  #: the errors to simulate, in turn
    trigger_count: int = 0  #: the use of the device that fails
    rearm_on_reset: bool = False  #: whether a reset restarts the count


def parse(given: Mapping[str, Any]) -> GcdaOptions:
    """Check the object. Raises ValueError with the known names or values if one is unknown."""
    values: dict[str, Any] = {}
    for name, value in given.items():
        if name in _FLAGS:
            word = str(value).strip().lower()
            if word not in _WORDS:
                raise ValueError(f"{name} takes true or false, not {value!r}")
            values[_FLAGS[name]] = _WORDS[word]
        elif name == "configFile":
            values["config_file"] = str(value)
        elif name == "simulateSOCError.errorList":
            values["errors"] = _errors(str(value))
        elif name == "simulateSOCError.triggerCount":
            values["trigger_count"] = _count(value)
        else:
            raise ValueError(f"unknown option {name!r}; the options are {', '.join(sorted(OPTIONS))}")
    if values.get("errors") and "trigger_count" not in values:
        raise ValueError("simulateSOCError.errorList also needs simulateSOCError.triggerCount")
    return GcdaOptions(**values)


def _errors(text: str) -> tuple[str, ...]:
    names = tuple(text.replace(",", " ").replace('"', " ").upper().split())
    for name in names:
        if name not in SOC_ERRORS:
            raise ValueError(f"unknown error {name!r}; the errors are {', '.join(SOC_ERRORS)}")
    if not names:
        raise ValueError(f"simulateSOCError.errorList is empty; the errors are {', '.join(SOC_ERRORS)}")
    return names


def _count(value: object) -> int:
    text = str(value).strip()
    if isinstance(value, bool) or not text.isdecimal() or int(text) < 1:
        raise ValueError(f"simulateSOCError.triggerCount takes a whole number of 1 or more, not {value!r}")
    return int(text)
