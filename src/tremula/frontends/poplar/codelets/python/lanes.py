"""Computes a compute function for all vertices of equal size at once, with NumPy.

Every value has a row for each vertex, and, in a parallel loop, a column for each iteration. Sums over iterations are
computed in the order of the iterations, so that they round as a loop does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.frontends.poplar.codelets.python import tree
from tremula.frontends.poplar.codelets.python.access import Array, Elements
from tremula.frontends.poplar.codelets.python.arithmetic import (
    ARITHMETIC,
    Value,
    arithmetic,
    call,
    common,
    computed,
)
from tremula.frontends.poplar.codelets.python.parallel import Plan, accumulation
from tremula.frontends.poplar.errors import ApplicationRuntimeError
from tremula.invariants import present

Rows = Callable[[str, int], Elements]

_NEUTRAL = {"+": 0, "-": 0, "|": 0, "^": 0, "*": 1, "&": -1}


class Data:
    """The fields of a group of vertices of equal size."""

    def __init__(
        self,
        vertices: int,
        vectors: Mapping[str, Elements],
        rows: Rows,
        row_counts: Mapping[str, int],
        scalars: Mapping[str, Elements],
        states: Mapping[str, tuple[Array, NDArray[np.int64]]],
        keys: Mapping[str, int],
        workers: int,
    ) -> None:
        self.vertices, self.vectors, self.rows, self.row_counts = vertices, vectors, rows, row_counts
        self.scalars, self.states, self.keys, self.workers = scalars, states, keys, workers


class Lanes:
    """One run of a function for a group of vertices."""

    def __init__(self, function: tree.Function, plan: Plan, data: Data) -> None:
        self._function, self._plan, self._data = function, plan, data
        self._locals: dict[str, Value] = {}
        self._mask: Array | None = None
        self._in_loop: tree.For | None = None
        self._worker = 0

    def run(self) -> None:
        """Compute."""
        with np.errstate(all="ignore"):
            for worker in reversed(range(self._data.workers if self._function.worker else 1)):
                self._locals, self._worker = {}, worker
                self._body(self._function.body)

    # -- statements ---------------------------------------------------------------------------------------------

    def _body(self, body: tree.Body) -> None:
        for node in body:
            if isinstance(node, tree.Assign):
                self._assign(node)
            elif isinstance(node, tree.If):
                self._branch(node)
            elif isinstance(node, tree.For):
                self._for(node)

    def _branch(self, node: tree.If) -> None:
        test = self._truth(node.test)
        if not isinstance(test, np.ndarray):
            self._body(node.yes if test else node.no)
            return
        outside = self._mask
        for chosen, body in ((test, node.yes), (~test, node.no)):
            mask = chosen if outside is None else outside & chosen
            if body and mask.any():
                self._mask = mask
                self._body(body)
        self._mask = outside

    def _for(self, node: tree.For) -> None:
        start, stop, step = (self._whole(each, node) for each in (node.start, node.stop, node.step))
        steps = range(start, stop, step) if step else range(0)
        plan = self._plan.loops[id(node)]
        if not steps:
            return
        if plan.parallel and self._in_loop is None and len(steps) > 1:
            self._parallel(node, steps, plan.accumulators)
            return
        for value in steps:
            self._locals[node.variable] = value
            self._body(node.body)

    def _parallel(self, node: tree.For, steps: range, accumulators: Mapping[Any, str]) -> None:
        """All iterations at once; afterwards the variables are those of the last."""
        self._in_loop, self._steps = node, steps
        before = dict(self._locals)
        self._locals[node.variable] = np.arange(steps.start, steps.stop, steps.step)[None, :]
        self._accumulators = accumulators
        self._body(node.body)
        self._in_loop = None
        for name, value in self._locals.items():
            if before.get(name) is value or tree.Local(name) in accumulators:
                continue
            if isinstance(value, np.ndarray) and value.shape[1] == len(steps):
                self._locals[name] = value[:, -1:]
        self._locals[node.variable] = steps[-1]

    def _assign(self, node: tree.Assign) -> None:
        if self._in_loop is not None:
            found = accumulation(node)
            if found is not None and found[0] in self._accumulators:
                self._accumulate(node, *found)
                return
        target = node.target
        if isinstance(target, tree.Local):
            value = self._value(node.value)
            value = value.copy() if isinstance(value, np.ndarray) and value.base is not None else value
            old = self._locals.get(target.name)
            self._locals[target.name] = (
                value if self._mask is None or old is None else self._masked(value, old)
            )
        elif isinstance(target, tree.Scalar):
            self._set_scalar(target.field, self._value(node.value))
        elif isinstance(target, tree.Item):
            value = self._value(node.value)
            if self._mask is None:
                elements, columns = self._item(target)
                elements.store(columns, value)
            else:
                elements = self._elements(target.field, target.row)
                elements.store_where(self._mask, self._value(target.index), value)
        else:
            self._store_span(node, target)

    def _store_span(self, node: tree.Assign, target: tree.Span) -> None:
        elements, columns = self._span(target)
        value = self._value(node.value)
        width = len(range(columns.start, columns.stop, columns.step))
        if isinstance(value, np.ndarray) and value.shape[1] not in (1, width):
            raise ApplicationRuntimeError(
                f"{value.shape[1]} values cannot be assigned to {width} elements of field {target.field!r} "
                f"({self._function.file}:{node.line})"
            )
        if self._mask is not None:
            value = self._masked(value, elements.load(columns))
        elements.store(columns, value)

    def _accumulate(
        self, node: tree.Assign, target: tree.Local | tree.Scalar, op: str, term: tree.Expr
    ) -> None:
        """`target op= term` for all iterations, in their order."""
        start = self._value(target)
        value = self._value(term)
        width = len(self._steps)
        if self._mask is not None:
            value = self._masked(value, _NEUTRAL.get(op, start))
        shape = (self._data.vertices, width)
        value = np.broadcast_to(np.asarray(value), shape)
        dtype = common(start, value)
        first = np.broadcast_to(np.asarray(start, dtype=dtype), (shape[0], 1))
        if op in ("min", "max"):
            both = np.concatenate([first, value.astype(dtype, copy=False)], axis=1)
            total = (both.min if op == "min" else both.max)(axis=1, keepdims=True)
        else:
            terms = np.empty((shape[0], width + 1), dtype=dtype)
            terms[:, :1], terms[:, 1:] = first, value
            function: Any = ARITHMETIC[op]
            total = function.accumulate(terms, axis=1)[:, -1:].copy()
        if isinstance(target, tree.Local):
            self._locals[target.name] = total
        else:
            mask, self._mask = self._mask, None
            self._set_scalar(target.field, total)
            self._mask = mask

    def _set_scalar(self, name: str, value: Value) -> None:
        if self._mask is not None:
            value = self._masked(value, self._scalar(name))
        if name in self._data.scalars:
            self._data.scalars[name].store(0, value)
            return
        column, vertices = self._data.states[name]
        made = np.broadcast_to(np.asarray(value), (self._data.vertices, 1))[:, 0]
        column[vertices] = made.astype(column.dtype)

    def _masked(self, new: Value, old: Value) -> Value:
        dtype = common(new, old)
        return np.where(present(self._mask, "the mask"), np.asarray(new, dtype), np.asarray(old, dtype))

    # -- fields -------------------------------------------------------------------------------------------------

    def _elements(self, name: str, row: tree.Expr | None) -> Elements:
        return self._data.vectors[name] if row is None else self._data.rows(name, self._whole(row, row))

    def _item(self, node: tree.Item) -> tuple[Elements, Any]:
        elements = self._elements(node.field, node.row)
        index = self._value(node.index)
        if not isinstance(index, np.ndarray):
            return elements, int(index)
        if self._mask is not None:
            index = np.where(self._mask, index, 0)
        if index.shape[0] == 1:
            flat = index[0]
            step = int(flat[1] - flat[0]) if len(flat) > 1 else 1
            if step > 0 and flat[0] >= 0 and (np.diff(flat) == step).all() and flat[-1] < elements.size:
                return elements, slice(int(flat[0]), int(flat[-1]) + 1, step)
            return elements, flat
        return elements, np.broadcast_to(index, (self._data.vertices, index.shape[1]))

    def _span(self, node: tree.Span) -> tuple[Elements, slice]:
        elements = self._elements(node.field, node.row)
        begin, step = self._whole(node.begin, node), self._whole(node.step, node)
        end = elements.size if node.end is None else self._whole(node.end, node)
        # as Python cuts slices
        return elements, slice(*slice(begin, end, step).indices(elements.size))

    def _scalar(self, name: str) -> Value:
        if name in self._data.keys:
            return self._data.keys[name]
        if name in self._data.scalars:
            return computed(self._data.scalars[name].load(0).copy())
        column, vertices = self._data.states[name]
        return computed(column[vertices][:, None])

    # -- values -------------------------------------------------------------------------------------------------

    def _whole(self, node: tree.Expr, where: Any) -> int:
        value = self._value(node)
        if isinstance(value, np.ndarray):
            if (value != value.flat[0]).any():
                raise AssertionError(
                    "the steps of vertices differ. This is a defect of Tremula: please report it."
                )
            value = value.flat[0]
        return int(value)

    def _truth(self, node: tree.Expr) -> Value:
        value = self._value(node)
        return value != 0 if isinstance(value, np.ndarray) and value.dtype != bool else value

    def _value(self, node: tree.Expr) -> Value:
        match node:
            case tree.Const(value):
                return value
            case tree.Local(name):
                if name not in self._locals:
                    raise ApplicationRuntimeError(
                        f"{name!r} is used before it is set ({self._function.file})"
                    )
                return self._locals[name]
            case tree.Scalar(name):
                return self._scalar(name)
            case tree.Item():
                elements, columns = self._item(node)
                return computed(elements.load(columns))
            case tree.Span():
                spanned, cut = self._span(node)
                return computed(spanned.load(cut))
            case tree.Size(name, None) if name in self._data.row_counts:
                return self._data.row_counts[name]
            case tree.Size(name, row):
                return self._elements(name, row).size
            case tree.Worker():
                return self._worker
            case tree.Workers():
                return self._data.workers
            case tree.Unary(op, inner):
                return self._unary(op, inner)
            case tree.Binary(op, left, right):
                return arithmetic(op, self._value(left), self._value(right))
            case tree.Logic(op, parts):
                return self._logic(op, parts)
            case tree.Choice(test, yes, no):
                return self._choice(test, yes, no)
            case tree.Call(name, arguments):
                return call(name, [self._value(each) for each in arguments])
            case tree.Reduce(op, inner):
                return self._reduce(op, inner)

    def _unary(self, op: str, inner: tree.Expr) -> Value:
        if op == "not":
            value = self._truth(inner)
            return ~value if isinstance(value, np.ndarray) else not value
        value = self._value(inner)
        if isinstance(value, np.ndarray) and value.dtype == bool:
            value = value.astype(np.int64)
        return -value if op == "-" else ~value if op == "~" else +value

    def _logic(self, op: str, parts: tuple[tree.Expr, ...]) -> Value:
        outside, found = self._mask, self._truth(parts[0])
        for part in parts[1:]:
            if not isinstance(found, np.ndarray):
                if bool(found) == (op == "or"):
                    break
                found = self._truth(part)
                continue
            asked = found if op == "and" else ~found
            self._mask = asked if outside is None else outside & asked
            other = self._truth(part)
            self._mask = outside
            found = found & other if op == "and" else found | other
        self._mask = outside
        return found

    def _choice(self, test: tree.Expr, yes: tree.Expr, no: tree.Expr) -> Value:
        chosen = self._truth(test)
        if not isinstance(chosen, np.ndarray):
            return self._value(yes if chosen else no)
        outside = self._mask
        self._mask = chosen if outside is None else outside & chosen
        first = self._value(yes)
        self._mask = ~chosen if outside is None else outside & ~chosen
        second = self._value(no)
        self._mask = outside
        dtype = common(first, second)
        return np.where(chosen, np.asarray(first, dtype), np.asarray(second, dtype))

    def _reduce(self, op: str, inner: tree.Expr) -> Value:
        value = self._value(inner)
        value = value.astype(np.int64) if value.dtype == bool else value
        if op in ("min", "max"):
            if not value.shape[1]:
                raise ApplicationRuntimeError(f"{op} of no elements ({self._function.file})")
            return (value.min if op == "min" else value.max)(axis=1, keepdims=True)
        if not value.shape[1]:
            return np.full((len(value), 1), 0 if op == "sum" else 1, dtype=value.dtype)
        function = np.add if op == "sum" else np.multiply
        return function.accumulate(value, axis=1, dtype=value.dtype)[:, -1:].copy()
