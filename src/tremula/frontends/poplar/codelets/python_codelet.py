"""Codelets written as Python classes: which way they are executed, and their cycles.

A compute function whose steps depend on sizes only runs for all vertices at once with NumPy; where that takes long,
and compiled code computes the very same numbers, it changes to that. One with other loops is translated to C++ where a
compiler is there. What neither can do runs as plain Python, vertex by vertex, with one warning that says why. The first
run with NumPy is compared with plain Python for some vertices.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tremula import log
from tremula.frontends.poplar.codelets.codelet import (
    Batch,
    Codelet,
    CycleEstimate,
    EstimateSource,
    Kind,
    Run,
    Shapes,
    StateVectors,
)
from tremula.frontends.poplar.codelets.python import checking, cost, parallel, translation
from tremula.frontends.poplar.codelets.python.grouping import data_of, groups_of, overlapping
from tremula.frontends.poplar.codelets.python.lanes import Data, Lanes
from tremula.frontends.poplar.codelets.python.packing import is_strided, packed
from tremula.frontends.poplar.codelets.python.plain import PlainRunner
from tremula.frontends.poplar.codelets.python.reading import NotTranslatable, read
from tremula.frontends.poplar.codelets.python_classes import PythonVertex, fields_of
from tremula.frontends.poplar.errors import GraphObjectCreationError
from tremula.frontends.poplar.types import HALF, Type, type_of_array

#: seconds after which compiled code is worth its compilation, where it computes the very same numbers
_WORTH_COMPILING = 1.0
#: more groups than this are better computed one by one, by compiled code
_MOST_GROUPS = 32
#: steps of a loop for which NumPy is asked again each time; beyond, compiled code is worth its compilation
_FEW_VERTICES = 64


class PythonCodelet(Codelet):
    """A vertex class in Python."""

    def __init__(self, vertex: type[PythonVertex]) -> None:
        if not callable(getattr(vertex, "compute", None)):
            raise GraphObjectCreationError(f"{vertex.__qualname__} has no compute function")
        self.vertex = vertex
        self.name = vertex.__name__
        self.base = vertex.base
        self.fields = fields_of(vertex)
        self.function, self.reason = None, ""
        try:
            self.function = read(vertex, self.fields, self.base)
        except NotTranslatable as problem:
            self.reason = str(problem)
        self.plan = parallel.Plan({}, frozenset(), self.reason)
        if self.function is not None:
            self.plan = parallel.plan(self.function, self.fields)
        self.accepts_strides = True
        self._translated: dict[tuple[Any, ...], Codelet] = {}

    # -- executing ----------------------------------------------------------------------------------------------

    def bind(self, batch: Batch) -> Run:
        """Choose how to execute, and prepare it."""
        way, reason = self.choose(batch)
        if way == "compiled":
            return self._compiled(batch)
        plain = PlainRunner(self.vertex, self.fields, batch)
        if way == "plain":
            log.warn_once(
                f"slow codelet {self.vertex.__module__}.{self.vertex.__qualname__}",
                f"Codelet {self.name} is executed slowly, vertex by vertex, as plain Python: {reason}.",
            )
            return plain.run
        return self._vectorised(batch, plain)

    def choose(self, batch: Batch) -> tuple[str, str]:
        """How a batch is executed (`vectorised`, `compiled` or `plain`), and why not better."""
        if not batch.count:
            return "plain", ""
        if self.function is None:
            return "plain", self.reason
        plan = self._plan_for(batch)
        compiler = _has_compiler()
        if plan is not None and not plan.refusal:
            groups = len(groups_of(self.fields, batch, plan.keys))
            few = plan.sequential and batch.count < _FEW_VERTICES
            if not compiler or not (plan.sequential or groups > _MOST_GROUPS):
                if few and not compiler:
                    self._warn_sequential(plan)
                return "vectorised", ""
        if compiler:
            return "compiled", ""
        reason = self.plan.refusal or "fields of a vertex overlap in different orders"
        return "plain", f"{reason}, and there is no C++ compiler to translate it for"

    def _warn_sequential(self, plan: parallel.Plan) -> None:
        reasons = "; ".join(sorted({each.reason for each in plan.loops.values() if not each.parallel}))
        log.warn_once(
            f"slow codelet {self.vertex.__module__}.{self.vertex.__qualname__}",
            f"Codelet {self.name} is executed slowly, because a loop of it runs step by step ({reasons}) and there is "
            "no C++ compiler to translate it for.",
        )

    def _plan_for(self, batch: Batch) -> parallel.Plan | None:
        """The plan for the fields of this batch, some of which may lie on the same elements."""
        same = overlapping(self.fields, batch)
        if same is None or self.function is None:
            return None
        if not same:
            return self.plan
        names = dict(same)
        return parallel.plan(self.function, self.fields, lambda name: names.get(name, name))

    def _vectorised(self, batch: Batch, plain: PlainRunner) -> Run:
        function, plan = self.function, self._plan_for(batch)
        if function is None or plan is None:
            return plain.run
        check = checking.FirstRun(self.vertex, self.fields, batch)
        instead: list[Run] = []
        spent = 0.0
        exact = parallel.rounds_alike(function)
        # groups by inputs are made anew in each run, because the inputs may have changed
        changing = any(self.fields[name].kind is Kind.SCALAR for name in plan.keys)
        fixed = None if changing else list(self._groups(batch, plan))

        def run() -> bool | None:
            nonlocal spent
            if instead:
                return instead[0]()
            begin = time.perf_counter()
            check.before()
            for data in fixed if fixed is not None else self._groups(batch, plan):
                Lanes(function, plan, data).run()
            problem = check.after()
            if problem:
                log.warn_once(
                    f"codelet check {self.vertex.__module__}.{self.vertex.__qualname__}",
                    f"Codelet {self.name} is executed vertex by vertex, because {problem}.",
                )
                instead.append(self._compiled(batch) if _has_compiler() else plain.run)
                return instead[0]()
            spent += time.perf_counter() - begin
            if exact and spent > _WORTH_COMPILING and _has_compiler():
                instead.append(self._compiled(batch))
            return True

        return run

    def _groups(self, batch: Batch, plan: parallel.Plan) -> Iterator[Data]:
        for group in groups_of(self.fields, batch, plan.keys):
            yield data_of(self.fields, batch, group, plan.keys)

    def _compiled(self, batch: Batch) -> Run:
        codelet = self._translation(batch)
        if not is_strided(batch):
            return codelet.bind(self._renamed(batch))
        moved = packed(batch, self.fields)
        inner = codelet.bind(self._renamed(moved.batch))

        def run() -> bool | None:
            moved.gather()
            agreed = inner()
            moved.scatter()
            return agreed

        return run

    def _renamed(self, batch: Batch) -> Batch:
        return Batch(
            batch.count,
            batch.buffer,
            {translation.PREFIX + name: each for name, each in batch.edges.items()},
            {translation.PREFIX + name: each for name, each in batch.state.items()},
            batch.accurate_half,
            batch.workers,
        )

    def _translation(self, batch: Batch) -> Codelet:
        types = {name: self._type(name, batch) for name in self.fields}
        key = (batch.accurate_half, batch.workers, *(types[name].name for name in sorted(types)))
        found = self._translated.get(key)
        if found is None:
            found = self._translated[key] = self._translate(types, batch)
        return found

    def _translate(self, types: dict[str, Type], batch: Batch) -> Codelet:
        from tremula.frontends.poplar.codelets.cpp import codelet, library, sources

        if self.function is None:
            raise AssertionError("a function that cannot be read is not translated")
        text = translation.vertex_class(self.name, self.function, self.fields, self.base, types)
        title = f"codelet {self.name} ({self.function.file}:{self.function.line}), translated"
        made = codelet.load(
            library.prepare(sources.of_text(text, "", title), batch.accurate_half, batch.workers)
        )
        return made[self.name]

    def _type(self, name: str, batch: Batch) -> Type:
        """The element type of a field: the declared one, or that of what is connected."""
        declared = self.fields[name].type
        if declared is not None:
            return declared
        if name in batch.edges:
            dtype = batch.edges[name].dtype
        else:
            state = batch.state[name]
            dtype = state.values.dtype if isinstance(state, StateVectors) else state.dtype
        found = HALF if dtype == np.float16 else type_of_array(dtype)
        if found is None:
            raise GraphObjectCreationError(
                f"field {name!r} of codelet {self.name} is connected to elements of type {dtype}"
            )
        return found

    # -- estimating ---------------------------------------------------------------------------------------------

    def estimate(self, shapes: Shapes) -> CycleEstimate:
        """The class's own estimate; else counted in its code (`cost`); else guessed from the number of elements."""
        own: Callable[..., Any] | None = getattr(self.vertex, "estimate", None) or getattr(
            self.vertex, "cycles", None
        )
        if callable(own) and not inspect.isclass(own):
            return self._own_estimate(own, shapes)
        if self.function is not None:
            types = {name: field.type for name, field in self.fields.items()}
            return cost.estimate(self.function, self.fields, self.base, shapes, types)
        elements = np.sum([*shapes.elements.values(), np.zeros(shapes.count)], axis=0)
        return CycleEstimate(20.0 + 6.0 * elements, EstimateSource.GUESSED)

    def _own_estimate(self, own: Callable[..., Any], shapes: Shapes) -> CycleEstimate:
        sizes = {**shapes.elements}
        cycles = np.broadcast_to(
            np.asarray(own(sizes, {**shapes.state}), dtype=np.float64), (shapes.count,)
        ).copy()
        return CycleEstimate(cycles, EstimateSource.CODELET)


def _has_compiler() -> bool:
    from tremula.frontends.poplar.codelets.cpp import compiler

    return compiler.find() is not None


__all__ = ["Kind", "PythonCodelet"]
