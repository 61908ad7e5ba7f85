"""A graph with one sequence: tensors that start with values, in several layouts, and what they hold after a run."""

from __future__ import annotations

from typing import Any

import numpy as np

from tremula.frontends.poplar.graph.concat import concat
from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.libs import poputil
from tremula.frontends.poplar.program.programs import Execute, Sequence_
from tremula.frontends.poplar.target import TargetFacts, TargetKind
from tremula.frontends.poplar.types import Type, type_of_array
from tremula.plan.planner import Planner

from ..conftest import started, value_of

#: how the elements of a tensor lie in memory
LAYOUTS = ("plain", "transposed", "spaced", "reversed", "joined")


class Case:
    """One sequence on a graph of 16 tiles."""

    def __init__(self, *, accurate_half: bool = True, replicas: int = 1, ipus: int = 1) -> None:
        facts = TargetFacts(TargetKind.IPU_MODEL, ipus=ipus, tiles_per_ipu=16, accurate_half=accurate_half)
        self.graph = Graph(facts, replicas)
        self.program = Sequence_()
        self.engine: Any = None

    def tensor(self, values: Any, type: Type | None = None, layout: str = "plain") -> View:
        """A tensor that starts with `values`."""
        array = np.asarray(values)
        made_of = type or type_of_array(array.dtype)
        assert made_of is not None
        view = self._laid_out(made_of, array.shape, layout)
        self.graph.set_initial_value(view, array)
        return view

    def _laid_out(self, type: Type, shape: tuple[int, ...], layout: str) -> View:
        graph = self.graph
        if layout == "transposed":
            view = graph.add_variable(type, shape[::-1]).transpose()
        elif layout == "spaced" and shape:
            view = graph.add_variable(type, (*shape[:-1], max(2 * shape[-1], 1))).sub_sample(
                2, len(shape) - 1
            )
            view = view.slice_dimension(0, shape[-1], len(shape) - 1)
        elif layout == "reversed" and shape:
            view = graph.add_variable(type, shape).reverse(0)
        elif layout == "joined" and shape and shape[0] > 1:
            first = graph.add_variable(type, (1, *shape[1:]))
            rest = graph.add_variable(type, (shape[0] - 1, *shape[1:]))
            view = concat([rest, first]) if shape[0] != 2 else concat([first, rest])
        else:
            view = graph.add_variable(type, shape)
        for variable in np.unique(graph.memory.numbers_of(view.addresses().reshape(-1))).tolist():
            found = graph.memory.variables[variable]
            whole = View(graph, found.type, (found.elements,), found.address, (found.element_bytes,))
            poputil.map_tensor_linearly(graph, whole)
        return view

    def run(self, times: int = 1) -> Case:
        """Run the sequence, whose calls all have work that can be planned; `case[view]` reads a tensor then."""
        assert self.works is not None
        self.engine = started(self.graph, self.program)
        for _ in range(times):
            self.engine.run()
        return self

    def execute(self, sets: Any) -> None:
        """Add compute sets to the sequence."""
        for each in sets:
            self.program.add(Execute(each))

    def __getitem__(self, view: View) -> np.ndarray:
        return value_of(self.engine, view)

    @property
    def works(self) -> list[Any]:
        """The work of all calls, each of which the chip model could plan."""
        found = [each for step in self.program.walk() if hasattr(step, "call") and hasattr(step.call, "works")
                 for each in step.call.works]  # fmt: skip
        planner = Planner(self.graph.contents.target.chip)
        for each in found:
            assert planner.plan(each).supersteps is not None
        return found


def arrays(
    shape: tuple[int, ...], seed: int, dtype: Any = np.float32, low: float = -4, high: float = 4
) -> np.ndarray:
    """Random numbers."""
    made = np.random.default_rng(seed).uniform(low, high, shape)
    return made.astype(dtype)
