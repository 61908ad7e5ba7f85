"""How often a loop of a traced graph runs its body.

A counter is a loop variable whose first value is known and to which every iteration adds a constant. A condition that
compares counters with known bounds gives the count; of several conditions that must all hold, the first to fail.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from tensorflow.python.framework import tensor_util

from tremula.frontends.tensorflow.capture.nodes import Value

_PASS_ON = frozenset({"Identity", "Cast"})
_COMPARISONS = {"Less": 0, "LessEqual": 1, "NotEqual": 0}
_TURNED = {"Greater": 0, "GreaterEqual": 1}
#: for numbers that no iteration changes
_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "Less": operator.lt,
    "LessEqual": operator.le,
    "Greater": operator.gt,
    "GreaterEqual": operator.ge,
    "Equal": operator.eq,
    "NotEqual": operator.ne,
}


class Counters:
    """The loop variables of one loop that count.

    Args:
        condition, body: the graphs of the loop.
        start: what the loop variables are at first.
    """

    def __init__(self, condition: Any, body: Any, start: Sequence[Value]) -> None:
        self._condition, self._body, self._start = condition, body, start
        self._places = {tensor.ref(): place for place, tensor in enumerate(condition.inputs)}
        self._in_body = {tensor.ref(): place for place, tensor in enumerate(body.inputs)}

    def trips(self) -> int | None:
        """How often the body runs; None if that is not known."""
        found = self._bound(self._condition.outputs[0])
        return None if found is None or math.isinf(found) else int(found)

    def value_after(self, place: int, trips: int) -> np.ndarray[Any, Any] | None:
        """What a counter is after the loop; None if it is none."""
        first, step = self._first(place), self._step(place)
        return None if first is None or step is None else np.asarray(first + step * trips)

    def _bound(self, tensor: Any) -> float | None:
        """How often a condition holds before it first fails; infinite if it always holds, None if not known."""
        op = tensor.op
        if op.type in _PASS_ON:
            return self._bound(op.inputs[0])
        if op.type == "LogicalAnd":
            known = [found for each in op.inputs if (found := self._bound(each)) is not None]
            return min(known, default=None)
        if op.type == "LogicalOr":
            # of `tf.range`: one side for steps up, one for steps down
            sides = [self._bound(each) for each in op.inputs]
            return None if None in sides else max(each for each in sides if each is not None)
        if op.type in _COMPARE:
            one, other = (self._known(each) for each in op.inputs)
            if one is not None and other is not None:
                return math.inf if _COMPARE[op.type](one, other) else 0
        if op.type in _COMPARISONS:
            return self._count(op.inputs[0], op.inputs[1], _COMPARISONS[op.type])
        if op.type in _TURNED:
            return self._count(op.inputs[1], op.inputs[0], _TURNED[op.type])
        return None

    def _count(self, counter: Any, bound: Any, extra: int) -> int | None:
        place, last = self._place(counter), self._known(bound)
        if place is None or last is None:
            return None
        first, step = self._first(place), self._step(place)
        if first is None or not step or step < 0:
            return None
        return max(0, math.ceil((last + extra - first) / step))

    def _place(self, tensor: Any) -> int | None:
        while tensor.op.type in _PASS_ON:
            tensor = tensor.op.inputs[0]
        return self._places.get(tensor.ref())

    def _known(self, tensor: Any) -> float | None:
        """A bound: a constant, or a loop variable that no iteration changes."""
        return self._fixed(self._place(tensor), tensor)

    def _fixed(self, place: int | None, tensor: Any) -> float | None:
        """What a tensor is in all iterations: at `place` of the loop variables, or a constant."""
        if place is None:
            return _number(tensor_util.constant_value(tensor))
        return self._first(place) if _source(self._body, place) is self._body.inputs[place] else None

    def _first(self, place: int) -> float | None:
        return _number(self._start[place].constant)

    def _step(self, place: int) -> float | None:
        made = _source(self._body, place)
        if made.op.type not in ("AddV2", "Add"):
            return None
        one, other = (_behind(each) for each in made.op.inputs)
        for counter, added in ((one, other), (other, one)):
            if counter is self._body.inputs[place]:
                return self._fixed(self._in_body.get(added.ref()), added)
        return None


def _source(body: Any, place: int) -> Any:
    return _behind(body.outputs[place])


def _behind(tensor: Any) -> Any:
    while tensor.op.type in _PASS_ON:
        tensor = tensor.op.inputs[0]
    return tensor


def _number(value: Any) -> float | None:
    return float(np.asarray(value).item()) if value is not None and np.size(value) == 1 else None
