"""Operations. Modules are imported when they are first used."""

import importlib as _importlib
from importlib.util import find_spec as _find_spec


def __getattr__(name: str) -> object:
    if name.startswith("_") or _find_spec(f"{__name__}.{name}") is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _importlib.import_module(f"{__name__}.{name}")
