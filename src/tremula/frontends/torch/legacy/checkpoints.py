"""Checkpoints of older programs: what `torch.load` reads besides tensors when `weights_only` is not said.

Since torch 2.6 it reads weights only. Old checkpoints also hold arrays and numbers of numpy (states of random
generators, best accuracies), the arguments of the command line, paths. These types are made known to torch as safe:
making one from a file executes no code of the file. Everything else is still refused.
"""

from __future__ import annotations

import _codecs
import argparse
import os
import pathlib
import types
from typing import Any

import numpy as np
import torch.serialization

from tremula import log

_FORCE = "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"
#: module names under which numpy's functions were and are pickled
_MULTIARRAY = ("numpy.core.multiarray", "numpy._core.multiarray")
#: one letter for each type of array element
_LETTERS = "?bBhHiIlLqQefdgFDGSUVOmM"


def common_types() -> list[Any]:
    """What old checkpoints hold besides weights, as `torch.serialization.add_safe_globals` takes it."""
    array = np.empty(0).__reduce__()[0]
    scalar = np.float64(0).__reduce__()[0]
    numpy_functions = [
        (function, f"{module}.{name}")
        for function, name in ((array, "_reconstruct"), (scalar, "scalar"))
        for module in _MULTIARRAY
    ]
    element_types = dict.fromkeys(type(np.dtype(letter)) for letter in _LETTERS)
    return [
        *numpy_functions, np.ndarray, np.dtype, *element_types,
        (_codecs.encode, "_codecs.encode"),  # bytes in the pickle protocol that torch writes
        argparse.Namespace, types.SimpleNamespace,
        pathlib.PosixPath, pathlib.PurePosixPath,
        list, dict, set, frozenset, tuple, int, float, complex, bool, str, bytes, bytearray, range, slice,
    ]  # fmt: skip


def common_names() -> set[str]:
    """The same as names, as torch's message for a refused type says them."""
    return {
        each[1] if isinstance(each, tuple) else f"{each.__module__}.{each.__qualname__}"
        for each in common_types()
    }


def allow_common_types() -> None:
    """Let `torch.load` read them in this process."""
    torch.serialization.add_safe_globals(common_types())


def allow_everything() -> None:
    """Let `torch.load` unpickle whole objects where the program does not say `weights_only`, and warn of it."""
    os.environ[_FORCE] = "1"  # torch's own variable; it warns at each load as well
    log.warn_once(
        "unpickling",
        "TREMULA_LEGACY_PICKLE is set: torch.load without weights_only unpickles whole objects, so a file can execute "
        "any code. Load only files that you trust; TREMULA_LEGACY_TORCH=1 is enough for most old checkpoints.",
    )
