"""GCDA_OPTIONS: what users ask of the library that reaches devices, as a JSON object.

Names and defaults follow the public documentation of the command line tools. A name or a value that is not known is
refused: an option that does something else than the user thinks is worse than none.
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
    """What GCDA_OPTIONS asks for; None where it says nothing."""

    config_file: str = ""  #: another mapping of IPUs
    discover_usb: bool | None = None  #: whether to look for devices at USB ports
    enable_monitoring: bool | None = None  #: whether tools show power and temperatures
    force_hsp_posted: bool | None = None  #: how the host waits for the device
    monitor_utilisation: bool | None = None  #: whether tools show how busy an IPU is
    errors: tuple[str, ...] = ()  #: the errors to simulate, in turn
    trigger_count: int = 0  #: the use of the device that fails
    rearm_on_reset: bool = False  #: whether a reset restarts the count


def parse(given: Mapping[str, Any]) -> GcdaOptions:
    """Check the object; raises ValueError if something is not known; the text says what would be."""
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
            raise ValueError(f"there is no option {name!r}; known: {', '.join(sorted(OPTIONS))}")
    if values.get("errors") and "trigger_count" not in values:
        raise ValueError("simulateSOCError.errorList needs simulateSOCError.triggerCount beside it")
    return GcdaOptions(**values)


def _errors(text: str) -> tuple[str, ...]:
    names = tuple(text.replace(",", " ").replace('"', " ").upper().split())
    for name in names:
        if name not in SOC_ERRORS:
            raise ValueError(f"there is no error {name!r} to simulate; known: {', '.join(SOC_ERRORS)}")
    if not names:
        raise ValueError(f"simulateSOCError.errorList names no error; known: {', '.join(SOC_ERRORS)}")
    return names


def _count(value: object) -> int:
    text = str(value).strip()
    if isinstance(value, bool) or not text.isdecimal() or int(text) < 1:
        raise ValueError(f"simulateSOCError.triggerCount takes a whole number from 1 on, not {value!r}")
    return int(text)
