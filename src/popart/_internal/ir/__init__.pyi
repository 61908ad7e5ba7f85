"""The classes of `tremula.frontends.popxl`, which get the methods of the bindings when they are imported."""

from typing import Any

def __getattr__(name: str) -> Any: ...
