"""When a program ends by an error that TREMULA_TENSORFLOW=1 would have prevented, a line says so.

Nothing is hooked for it: Python keeps the exception that ended a program, and it is looked at when the process exits.
"""

from __future__ import annotations

import atexit
import re
import sys
from typing import Any

from tremula import log
from tremula.frontends.tensorflow.tensorflow1 import SWITCH, switched_on

_NO_NAME = re.compile(r"module 'tensorflow(?:\._api\.v2)?\.?([\w.]*)' has no attribute '(\w+)'")
#: what TensorFlow says to programs that build graphs and run sessions, in its own words
_EAGER = (
    "is not compatible with eager execution",
    "is not supported when eager execution is enabled",
    "not supported in eager mode",
    "The Session graph is empty",
    "get_default_graph().finalize",
)
_watching = False


def hint(error: BaseException) -> str:
    """What to say about `error` if the program is one for TensorFlow 1; else nothing."""
    if switched_on():
        return ""
    text = str(error)
    if isinstance(error, ModuleNotFoundError) and (error.name or "").startswith("tensorflow.contrib"):
        return _advice("tensorflow.contrib is")
    if isinstance(error, AttributeError):
        found = _NO_NAME.search(text)
        if found and _in_version_1(*found.groups()):
            return _advice(f"tf.{'.'.join(filter(None, found.groups()))} is")
    if isinstance(error, (RuntimeError, NotImplementedError)) and any(words in text for words in _EAGER):
        return _advice("Graphs and sessions are", " or call tf.disable_v2_behavior() at its beginning,")
    return ""


def _advice(what: str, besides: str = "") -> str:
    return (
        f"{what} of TensorFlow 1. Set {SWITCH}=1,{besides} or start the program with `tremula run --tf1 PROGRAM` "
        f"(docs/tensorflow.md)."
    )


def _in_version_1(module: str, name: str) -> bool:
    tensorflow = sys.modules.get("tensorflow")
    found: Any = getattr(getattr(tensorflow, "compat", None), "v1", None)
    for part in filter(None, module.split(".")):
        found = getattr(found, part, None)
    return name == "contrib" or hasattr(found, name)


def watch() -> None:
    """Look at the exception that ends the program, once it does."""
    global _watching
    if not _watching:
        _watching = True
        atexit.register(_at_exit)


def _at_exit() -> None:
    error = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    if isinstance(error, Exception):
        said = hint(error)
        if said:
            log.layer("tremula").error("%s", said)
