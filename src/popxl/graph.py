"""Graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import popart._internal.ir as _ir

from .context import get_current_context
from .tensor import Constant, Tensor, Variable

if TYPE_CHECKING:
    from .ir import Ir


class Graph:
    """A list of ops with inputs and outputs. `Ir.create_graph` creates graphs. Ops are created inside `with graph:`."""

    _pb_graph: Any
    _by_ref_inputs: set[Tensor]
    _ir: Ir

    def __init__(self) -> None:
        raise TypeError(
            "popxl.Graph cannot be called: use ir.main_graph, ir.create_graph or ir.create_empty_graph."
        )

    @classmethod
    def _from_pb(cls, pb_graph: Any) -> Graph:
        from .ir import Ir

        ir = Ir._from_pb(pb_graph.getIr())
        found = ir._graph_cache.get(str(pb_graph.id))
        if found is None:
            found = cls._create_from_pb(pb_graph)
        return found

    @classmethod
    def _create_from_pb(cls, pb_graph: Any) -> Graph:
        from .ir import Ir

        ir = Ir._from_pb(pb_graph.getIr())
        self = super().__new__(cls)
        self._pb_graph, self._by_ref_inputs, self._ir = pb_graph, set(), ir
        ir._graph_cache[self.id] = self
        return self

    @property
    def name(self) -> str:
        """The scope of its tensors; that of the main graph is empty."""
        return str(self._pb_graph.getScope())

    @property
    def id(self) -> str:
        """The identifier."""
        return str(self._pb_graph.id)

    @property
    def ir(self) -> Ir:
        """The IR that it is part of."""
        return self._ir

    @property
    def main_graph(self) -> Graph:
        """The main graph of the IR."""
        return self._ir.main_graph

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The inputs of the graph."""
        return tuple(Tensor._from_pb_tensor(each) for each in self._pb_graph.inputs)

    @property
    def inputs_by_name(self) -> dict[str, Tensor]:
        """The inputs by name."""
        return {each.name: each for each in self.inputs}

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """The outputs of the graph."""
        return tuple(Tensor._from_pb_tensor(each) for each in self._pb_graph.outputs)

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """All its tensors."""
        return tuple(Tensor._from_pb_tensor(each) for each in self._pb_graph.getTensors())

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables of the graph."""
        return tuple(each for each in self.tensors if isinstance(each, Variable))

    @property
    def constants(self) -> tuple[Constant, ...]:
        """The constants of the graph."""
        return tuple(each for each in self.tensors if isinstance(each, Constant))

    @property
    def called_graphs(self) -> tuple[Graph, ...]:
        """The graphs that its ops call."""
        return tuple(Graph._from_pb(each) for each in self._pb_graph.getCalledGraphs())

    def get_tensor(self, tensor_id: str) -> Tensor:
        """The tensor of that identifier."""
        return Tensor._from_pb_tensor(self._pb_graph.getTensor(tensor_id))

    def _create_tensor_id(self, name: str | None = None) -> str:
        scoped = "/".join((*get_current_context().name_scopes, name or "t"))
        return self._pb_graph.unique(scoped)

    def register_op_created_hook(self, fn: Callable[[Any], Any]) -> int:
        """Call `fn` with each op that is created in this graph."""

        def hook(op: _ir.Op) -> None:
            if op.getGraph() is self._pb_graph:
                fn(op)

        return get_current_context().register_op_created_hook(hook)

    def remove_op_created_hook(self, handle: int) -> None:
        """Call the function of that handle no more."""
        get_current_context().remove_op_created_hook(handle)

    def __contains__(self, value: Tensor) -> bool:
        if not isinstance(value, Tensor):
            raise TypeError(f"Only tensors are in a graph, not {value!r} ({type(value).__name__}).")
        return value.id in self._pb_graph

    def __eq__(self, value: object) -> bool:
        if not isinstance(value, Graph):
            raise TypeError(f"A graph cannot be compared to {value!r} ({type(value).__name__}).")
        return self._pb_graph is value._pb_graph

    def __hash__(self) -> int:
        return hash((self.id, self._ir.id))

    def __repr__(self) -> str:
        return f"Graph[id={self.id} name={self.name}]"

    def __enter__(self) -> Graph:
        get_current_context().push_graph(self)
        return self

    def __exit__(self, *exc: object) -> Literal[False]:
        get_current_context().pop_graph()
        return False
