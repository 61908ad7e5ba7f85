"""What the user's annotations say during a capture. While `forward` runs on fake tensors one `Capture` is current;
every op recorded takes a snapshot (`Annotation`) of it. Outside a capture annotations have no effect.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import torch

from tremula.frontends.torch.capture.placement import PlacementRule, SingleIpu
from tremula.frontends.torch.graphs.program import Annotation
from tremula.program.op import SourceLine

if TYPE_CHECKING:
    from tremula.frontends.torch.capture.refusals import Refused

_NO_ATTRIBUTES: Mapping[str, Any] = {}


class Capture:
    """The capture under way: placement, name scopes, op attributes, losses."""

    def __init__(self, training: bool, rule: PlacementRule | None = None) -> None:
        self.training = training
        self.rule: PlacementRule = rule or SingleIpu()
        self.scopes: list[str] = []
        #: paths of the modules whose forward is running, innermost last
        self.modules: list[str] = []
        self.losses: list[torch.Tensor] = []
        #: calls that the real compiler would refuse, in the order of the program
        self.refused: list[Refused] = []
        #: the line that ops recorded now come from, innermost last, where it is not on the stack; None: not known
        self.sources: list[SourceLine | None] = []
        self._attributes: list[Mapping[str, Any]] = []
        self._snapshot: Annotation | None = None

    def annotation(self) -> Annotation:
        """The snapshot that an op recorded now would take."""
        placement = self.rule.current()
        snapshot = self._snapshot
        if snapshot is None or snapshot.placement is not placement:
            module = self.modules[-1] if self.modules else ""
            snapshot = Annotation(placement, tuple(self.scopes), self.current_attributes(), module)
            self._snapshot = snapshot
        return snapshot

    def current_attributes(self) -> Mapping[str, Any]:
        """The attributes in force, inner ones over outer ones."""
        merged: dict[str, Any] = {}
        for attributes in self._attributes:
            merged.update(attributes)
        return merged or _NO_ATTRIBUTES

    def push_scope(self, name: str) -> None:
        self.scopes.append(name)
        self._snapshot = None

    def pop_scope(self) -> None:
        self.scopes.pop()
        self._snapshot = None

    def enter_module(self, path: str) -> None:
        self.modules.append(path)
        self._snapshot = None

    def leave_module(self) -> None:
        self.modules.pop()
        self._snapshot = None

    @contextlib.contextmanager
    def attributes(self, **attributes: Any) -> Iterator[None]:
        """Ops recorded inside carry `attributes` (inner ones win)."""
        self._attributes.append(attributes)
        self._snapshot = None
        try:
            yield
        finally:
            self._attributes.remove(attributes)
            self._snapshot = None


_current: Capture | None = None


def current() -> Capture | None:
    """The capture under way in this process, or None."""
    return _current


@contextlib.contextmanager
def capturing(capture: Capture) -> Iterator[Capture]:
    """Make `capture` the current one; captures do not nest."""
    global _current
    if _current is not None:
        raise RuntimeError("a capture is already under way; captures do not nest")
    _current = capture
    try:
        yield capture
    finally:
        _current = None


@contextlib.contextmanager
def suspended() -> Iterator[None]:
    """What runs inside runs on the host, although a capture is under way."""
    global _current
    capture, _current = _current, None
    try:
        yield
    finally:
        _current = capture


def annotated(tensor: torch.Tensor, **attributes: Any) -> torch.Tensor:
    """`tensor` through an alias op that carries `attributes`; outside a capture the tensor itself."""
    capture = current()
    if capture is None:
        return tensor
    with capture.attributes(**attributes):
        result: torch.Tensor = torch.ops.aten.alias.default(tensor)
    return result
