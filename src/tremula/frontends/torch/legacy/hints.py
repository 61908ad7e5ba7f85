"""When a program ends by an error that TREMULA_LEGACY_TORCH=1 would have prevented, a line says so.

Nothing is hooked for it: Python keeps the exception that ended a program, and it is looked at when the process exits.
"""

from __future__ import annotations

import atexit
import pickle
import re
import sys
from collections.abc import Iterator
from types import TracebackType

import torch.utils.data

from tremula import log
from tremula.frontends.torch.legacy import PICKLE_SWITCH, SWITCH
from tremula.settings.environment import env

_NUMPY_NAME = re.compile(r"module 'numpy' has no attribute '(\w+)'|`np\.(\w+)` was removed in the NumPy")
_REFUSED_TYPE = re.compile(r"GLOBAL (\S+) was not an allowed global")
_VERBOSE = re.compile(r"(\w+)\.__init__\(\) got an unexpected keyword argument 'verbose'")
_NO_ARGUMENT = ("object.__init__() takes exactly one argument", "Sampler() takes no arguments")
_LONGEST_CHAIN = 20


def hint(error: BaseException) -> str:
    """What to say about `error`: which old habit it comes from and which variable allows it; else nothing."""
    for each in _chain(error):
        about = _habit(each)
        if about:
            return about
    return ""


def _habit(error: BaseException) -> str:
    text = str(error)
    if isinstance(error, AttributeError):
        return _about_numpy(text)
    if isinstance(error, pickle.UnpicklingError):
        return _about_checkpoint(text)
    if isinstance(error, TypeError) and not env.get(SWITCH):
        if any(words in text for words in _NO_ARGUMENT) and _in_sampler(text, error.__traceback__):
            return f"Samplers of torch no longer take a data source. {SWITCH}=1 lets them take and ignore it."
        named = _VERBOSE.search(text)
        if named and named[1] in vars(torch.optim.lr_scheduler):
            return f"Schedulers of torch no longer take verbose. {SWITCH}=1 lets them take and ignore it."
    return ""


def _about_numpy(text: str) -> str:
    from tremula.frontends.numpy_names import NAMES

    found = _NUMPY_NAME.search(text)
    name = (found[1] or found[2]) if found else ""
    if name not in NAMES or env.get(SWITCH):
        return ""
    return f"numpy has removed np.{name}. {SWITCH}=1 brings names like this back when poptorch is imported."


def _about_checkpoint(text: str) -> str:
    from tremula.frontends.torch.legacy.checkpoints import common_names

    refused = _REFUSED_TYPE.search(text)
    if refused is None:
        return ""
    start = "torch.load only reads weights by default"
    if refused[1] in common_names() and not env.get(SWITCH):
        return f"{start}. {SWITCH}=1 adds what old checkpoints hold besides, {refused[1]} among it."
    if env.get(PICKLE_SWITCH):
        return ""
    return (
        f"{start}, and {refused[1]} is refused. Only if you trust the file, for it can execute any code: "
        f"{PICKLE_SWITCH}=1."
    )


def _in_sampler(text: str, traceback: TracebackType | None) -> bool:
    """Whether the innermost call was made by a sampler, or of the class itself."""
    return "Sampler()" in text or isinstance(_innermost_self(traceback), torch.utils.data.Sampler)


def _innermost_self(traceback: TracebackType | None) -> object:
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    return traceback.tb_frame.f_locals.get("self") if traceback is not None else None


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """An exception and those that it was raised from or in the handling of."""
    for _ in range(_LONGEST_CHAIN):
        if error is None:
            return
        yield error
        error = error.__cause__ or error.__context__


@atexit.register
def _at_exit() -> None:
    error = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    if isinstance(error, Exception):
        said = hint(error)
        if said:
            log.layer("tremula").error("%s (docs/programs.md)", said)
