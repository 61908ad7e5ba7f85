"""Types of vertices with the memory that they take, and which of them each plan uses.

Code and state of an IPU are those of the memory report, divided over the types that its plans use: in proportion to
what the planners say of the code of a plan, and to the number of vertices.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from tremula.estimate.estimate import Estimate
from tremula.memory.categories import Category
from tremula.profile.model import VertexType
from tremula.profile.schema import TABLES
from tremula.recording.operations import Operations
from tremula.recording.shapes import Shapes
from tremula.recording.shares import divided


class Codelets:
    """The types of vertices of a program."""

    def __init__(self, estimate: Estimate, found: Operations, shaped: Shapes) -> None:
        self._estimate = estimate
        self._found = found
        self._shaped = shaped
        self._numbers: dict[str, int] = {}
        for steps in shaped.supersteps:
            for step in steps:
                for each in step.vertices:
                    self._numbers.setdefault(each.type, len(self._numbers))

    def types(self) -> Iterator[VertexType]:
        """Rows of all types."""
        code: dict[int, int] = defaultdict(int)
        state: dict[int, int] = defaultdict(int)
        plans = self._plans_of_ipus()
        for ipu in self._estimate.memory.ipus:
            sizes = ipu.by_category
            weights = self._weights(plans.get(ipu.ipu, set()))
            types = list(weights)
            for category, total, at in ((Category.VERTEX_CODE, code, 0), (Category.VERTEX_STATE, state, 1)):
                parts = divided(sizes.get(category, 0), [weights[each][at] for each in types])
                for number, part in zip(types, parts.tolist(), strict=True):
                    total[number] += part
        for name, number in self._numbers.items():
            yield VertexType(number, name, code[number], state[number])

    def vertices(self) -> dict[str, Any]:
        """Columns of the frame `vertices`."""
        rows = [
            (plan, superstep, self._numbers[each.type], each.count, each.tiles)
            for plan, steps in enumerate(self._shaped.supersteps[: TABLES["plans"].most_rows])
            for superstep, step in enumerate(steps)
            for each in step.vertices
        ]
        columns = zip(*rows, strict=True) if rows else [()] * 5
        return {
            name: list(values)
            for name, values in zip(
                ("plan_id", "superstep", "vertex_type", "count", "tiles"), columns, strict=True
            )
        }

    def _plans_of_ipus(self) -> dict[int, set[int]]:
        plans: dict[int, set[int]] = defaultdict(set)
        for op, plan in zip(self._estimate.program.ops, self._found.cost_of, strict=True):
            if plan >= 0:
                plans[op.ipu].add(plan)
        return plans

    def _weights(self, plans: set[int]) -> dict[int, list[float]]:
        """Weights of code and of state by type, for plans that share an IPU: types share their code."""
        weights: dict[int, list[float]] = {}
        for plan in sorted(plans):
            steps, size = self._shaped.supersteps[plan], self._found.costs[plan].bytes
            used = [each for step in steps for each in step.vertices]
            kinds = {each.type for each in used}
            vertices = sum(each.count for each in used) or 1
            for each in used:
                weight = weights.setdefault(self._numbers[each.type], [0.0, 0.0])
                weight[0] = max(weight[0], size.vertex_code / len(kinds))
                weight[1] += size.vertex_state * each.count / vertices
        return weights
