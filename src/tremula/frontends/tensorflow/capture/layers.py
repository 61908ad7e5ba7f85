"""Which layer of the user's program an op belongs to, and the line that wrote it.

Ops carry name scopes. Those of a Keras model begin with the names of its layers; those of other programs are the scopes
that the program opened. Keras calls the layers of a functional model by itself, so their line is the one that made the
layer (`note_lines`); in other programs it is the innermost line of the user's at which the op was made.
"""

from __future__ import annotations

import functools
import re
from typing import Any

from tremula.frontends.tensorflow.stock_keras import internal
from tremula.frontends.tensorflow.user_lines import current_line
from tremula.program.op import SourceLine

#: where a layer keeps the line that made it
_LINE = "_tremula_line"
_GRADIENTS = re.compile(r"^(?:.*/)?(?:gradient_tape|gradients(?:_\d+)?)/")
#: what TensorFlow appends to the name of an op for the scope of its gradient
_GRADIENT_OF = re.compile(r"_grad(?=/|$)")


def note_lines() -> None:
    """Let every layer know the line that made it."""
    layer = internal("engine.base_layer").Layer
    stock = layer.__init__

    @functools.wraps(stock)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        if not hasattr(self, _LINE):
            object.__setattr__(self, _LINE, current_line())
        stock(self, *args, **kwargs)

    layer.__init__ = init


class LayerTree:
    """The layers of a model by name.

    Args:
        model: a Keras model; None: there is none, and scopes are all that is known.
    """

    def __init__(self, model: Any = None) -> None:
        self._root = model
        self._children: dict[int, dict[str, Any]] = {}
        self._assignable: dict[str, str] = {}

    def find(self, scope: list[str]) -> tuple[str, SourceLine | None]:
        """The path of the layer that a scope lies in, and the line that made it; the scope itself without a model."""
        if self._root is None:
            return "/".join(scope), None
        names = scope
        if names and names[0] == self._root.name:
            names = names[1:]
        path: list[str] = []
        layer = self._root
        for name in names:
            inner = self._below(layer).get(name)
            if inner is None:
                break
            layer = inner
            path.append(name)
        return "/".join(path), getattr(layer, _LINE, None) if path else None

    def layer(self, path: str) -> Any:
        """The layer at a path; None if there is none."""
        found = self._root
        for name in path.split("/") if path else ():
            found = self._below(found).get(name) if found is not None else None
        return found if path else None

    def assignable(self, path: str) -> str:
        """The layer at which a pipeline stage can begin, for something inside of it: models are looked into, other
        layers are one piece. Without a model, the outermost scope.
        """
        if path not in self._assignable:
            self._assignable[path] = self._begins_at(path)
        return self._assignable[path]

    def _begins_at(self, path: str) -> str:
        if self._root is None:
            return path.partition("/")[0]
        kept: list[str] = []
        layer = self._root
        for name in path.split("/") if path else ():
            if not hasattr(layer, "layers"):
                break
            layer = self._below(layer).get(name)
            if layer is None:
                break
            kept.append(name)
        return "/".join(kept)

    def _below(self, layer: Any) -> dict[str, Any]:
        known = self._children.get(id(layer))
        if known is None:
            inner = layer._flatten_layers(recursive=False, include_self=False)
            known = self._children[id(layer)] = {each.name: each for each in inner}
        return known


def scope_of(name: str, loop: str) -> tuple[list[str], bool]:
    """The scopes of an op without those of loops around it, and whether it is a gradient's.

    Args:
        name: of the op, in its graph.
        loop: the scope of the loop or branch whose body the graph is; empty for none.
    """
    stripped = _GRADIENTS.sub("", name)
    gradient = stripped != name
    if loop and stripped.startswith(loop):
        stripped = stripped[len(loop) :]
    if gradient:
        stripped = _GRADIENT_OF.sub("", stripped)
    return [part for part in stripped.split("/")[:-1] if part], gradient
