"""The session options of an IR: PopART's, with the values that PopXL begins with."""

from __future__ import annotations

from typing import Any

import popart
from popart import VirtualGraphMode
from tremula import log

#: what PopXL sets when an IR is made
_OWN: dict[str, Any] = {
    "virtualGraphMode": VirtualGraphMode.Manual,
    "useHostCopyOps": True,
    "aliasZeroCopy": True,
    "enableExplicitMainLoops": True,
    "explicitRecomputation": True,
    "enableInplaceAmbiguityChecking": True,
    "enableVariablesCaching": False,
    "decomposeGradSum": True,
}
#: options whose effect is on memory or speed of hardware alone
_RECORDED = (
    "numIOTiles",
    "enablePrefetchDatastreams",
    "defaultBufferingDepth",
    "enableOutlining",
    "outlineThreshold",
)


def session_options() -> Any:
    """New options."""
    options = popart.SessionOptions()
    for name, value in _OWN.items():
        setattr(options, name, value)
    return options


def tell_effects(options: Any) -> None:
    """Say once of options that were set that they change no results."""
    defaults = popart.SessionOptions()
    for name in _RECORDED:
        if getattr(options, name) != getattr(defaults, name):
            log.info_once(
                f"popxl option {name}",
                f"The PopXL session option {name} does not change results: it controls the use of hardware.",
            )
    if getattr(options, "enableStochasticRounding", False):
        log.no_effect("enableStochasticRounding of PopXL", "halves are rounded to the nearest value")
    if getattr(options, "enableFloatingPointChecks", False):
        log.no_effect("enableFloatingPointChecks of PopXL", "torch does not stop at invalid numbers")
