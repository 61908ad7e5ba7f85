"""Values of vertex fields that are known before a program runs: those of fields of one element connected to constants.

Many codelets loop as often as such a field says, so estimates of their cycles need it.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from tremula.frontends.poplar.codelets.codelet import Kind
from tremula.frontends.poplar.graph.edges import FieldEdges
from tremula.frontends.poplar.graph.layout import Ints
from tremula.frontends.poplar.graph.memory import Memory, Variable
from tremula.frontends.poplar.graph.vertices import VertexBatch


def scalars(
    memory: Memory, batch: VertexBatch, edges: Mapping[str, FieldEdges]
) -> dict[str, NDArray[np.generic]]:
    """A column with the value of each vertex, for the inputs of one element that are constants in all vertices."""
    found: dict[str, NDArray[np.generic]] = {}
    for name, each in edges.items():
        field = batch.codelet.fields[name]
        if field.kind is not Kind.SCALAR or field.direction.writes or len(each.runs) != batch.count:
            continue
        column = _values(memory, each.runs.offset)
        if column is not None:
            found[name] = column
    return found


def _values(memory: Memory, addresses: Ints) -> NDArray[np.generic] | None:
    """The value at each address; None where one is not a constant."""
    if not len(addresses):
        return None
    numbers = memory.numbers_of(addresses)
    unique, inverse = np.unique(numbers, return_inverse=True)
    if not all(memory.variables[number].constant for number in unique.tolist()):
        return None
    order = np.argsort(inverse.reshape(-1), kind="stable")
    ends = np.cumsum(np.bincount(inverse.reshape(-1)))
    first = memory.variables[int(unique[0])]
    column = np.zeros(len(addresses), dtype=memory.storage(first.type))
    begin = 0
    for number, end in zip(unique.tolist(), ends.tolist(), strict=True):
        variable = memory.variables[number]
        mine = order[begin:end]
        places = (addresses[mine] - variable.address) // variable.element_bytes
        column[mine] = _contents(memory, variable)[places]
        begin = end
    return column


def _contents(memory: Memory, variable: Variable) -> NDArray[np.generic]:
    held = np.zeros(variable.elements, dtype=memory.storage(variable.type))
    for addresses, values in variable.initial:
        if addresses is None:
            held[:] = values
        else:
            held[(addresses - variable.address) // variable.element_bytes] = values
    return held
