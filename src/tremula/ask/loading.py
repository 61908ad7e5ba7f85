"""Loads functions named as `file.py:function` or `package.module:function`, without importing a framework."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tremula.errors import Error

#: functions to look for in a file if none is named
USUAL_NAMES = ("example", "model_and_inputs", "make_model", "factory")


def load(name: str) -> tuple[Callable[[], Any], str]:
    """The factory called `name`, and a short name for its result."""
    place, _, function = name.rpartition(":")
    if not place or (len(place) == 1 and function.startswith(("\\", "/"))):  # no colon but that of a drive
        place, function = name, ""
    if place.endswith(".py") or Path(place).is_file():
        module, short = _from_file(Path(place)), Path(place).stem
    else:
        module, short = _from_module(place), place.rpartition(".")[2]
    if not function:
        function = next((each for each in USUAL_NAMES if callable(getattr(module, each, None))), "")
        if not function:
            raise Error(
                f"No function was named. Write {place}:function, where the function takes no arguments and returns the "
                "model and example inputs of one micro-batch. To estimate a whole program, use "
                f"`tremula estimate run {place}`."
            )
    found = module
    for part in function.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        known = ", ".join(sorted(key for key, value in vars(module).items() if callable(value))[:12])
        raise Error(f"{place} has no function {function}; its functions are: {known or 'none'}.")
    return found, f"{short}:{function}"


def _from_file(path: Path) -> Any:
    if not path.is_file():
        raise Error(f"File {path} does not exist.")
    spec = importlib.util.spec_from_file_location(path.stem, path.resolve())
    if spec is None or spec.loader is None:
        raise Error(f"{path} is not a Python file: its name must end in .py.")
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)  # dataclasses and pickles look their module up
    sys.path.insert(0, str(path.resolve().parent))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.pop(0)
    return module


def _from_module(name: str) -> Any:
    sys.path.insert(0, "")
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as problem:
        if problem.name is None or not (name + ".").startswith(problem.name + "."):
            raise
        raise Error(
            f"No module or file named {name!r} was found in this folder or among the installed packages."
        ) from None
    finally:
        sys.path.pop(0)
