"""Graphs with state of their own."""

from __future__ import annotations

from typing import Any


class Module:
    """A callable that builds a graph. Pass it to `Ir.create_graph` like a function; it keeps the attributes
    that it sets."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.build(*args, **kwargs)

    def build(self, *args: Any, **kwargs: Any) -> Any:
        """Create the ops of the graph. Subclasses implement this."""
        raise NotImplementedError("A popxl.Module needs a method build, which creates the ops of its graph.")
