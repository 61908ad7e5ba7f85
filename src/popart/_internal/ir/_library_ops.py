"""What the bindings of C++ operators call: parameterizedopbinder.hpp of the headers for custom operators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tremula.frontends.poplar.user_ops.popart_ops import Original
from tremula.frontends.popxl.ops.library_ops import KIND, ORIGINAL

from ._graph import Graph
from ._ops import Op
from ._tensors import Settings
from ._values import OperatorIdentifier


def add_library_op(
    graph: Graph,
    inputs: Mapping[int, str],
    outputs: Mapping[int, str],
    handle: tuple[int, object],
    opid: OperatorIdentifier,
    parameters: Sequence[tuple[str, str]],
    settings: Settings,
) -> Any:
    """Add an op that computes what a C++ operator does; `handle` has its address and what keeps it in memory."""
    address, keeper = handle
    original = Original(opid.domain, opid.type, opid.version, tuple(parameters), address, keeper)
    made: Op = graph.add_op(
        KIND,
        {index: graph.getTensor(identifier) for index, identifier in inputs.items()},
        {index: graph.unscoped(identifier) for index, identifier in outputs.items()},
        {ORIGINAL: original},
        settings,
    )
    return made
