"""One of two graphs, by a condition."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from popart._internal.errors import graph_error_class

from ..context import get_current_context
from ..graph import Graph
from ..tensor import Tensor
from .call import CallSiteInfo, prepared_inputs
from .utils import check_in_graph

Inputs = Iterable[Tensor | Iterable[Tensor]] | None


class ConditionalSiteInfo(CallSiteInfo):
    """A conditional, and which tensors of its branches and of its caller belong together."""

    @property
    def called_graph(self) -> tuple[Graph, Graph]:  # type: ignore[override]
        """The branches."""
        then, otherwise = self._op.getCalledGraphs()
        return Graph._from_pb(then), Graph._from_pb(otherwise)

    def graph_to_parent_input_index(self, idx: int, then_branch: bool = True) -> int:
        """Index of the op's input for one of a branch's."""
        return self._found(self._op.subgraphInToOpInIndex, int(not then_branch), idx)

    def parent_to_graph_input_index(self, idx: int) -> int:
        """Index of a branch's input for one of the op's."""
        for branch in (0, 1):
            index = self._op.opInToSubgraphInIndex(branch, idx)
            if index != -1:
                return index
        raise IndexError(f"The conditional has no input {idx}.")

    def is_parent_index_in_then_branch(self, idx: int) -> bool:
        """Whether an input of the op belongs to the first branch."""
        self.parent_to_graph_input_index(idx)
        return self._op.opInToSubgraphInIndex(0, idx) != -1

    def graph_to_parent_output_index(self, idx: int, then_branch: bool = True) -> int:
        """Index of the op's output for one of a branch's."""
        return self._found(self._op.subgraphOutToOpOutIndex, int(not then_branch), idx)

    def parent_to_graph_output_index(self, idx: int, then_branch: bool = True) -> int:
        """Index of a branch's output for one of the op's."""
        return self._found(self._op.opOutToSubgraphOutIndex, int(not then_branch), idx)

    @staticmethod
    def _found(lookup: Callable[[int, int], int], branch: int, idx: int) -> int:
        try:
            return lookup(branch, idx)
        except graph_error_class() as problem:
            raise IndexError(str(problem)) from problem

    def graph_to_parent(self, graph_tensor: Tensor) -> Tensor:
        """The caller's tensor for an input or output of a branch."""
        for branch, graph in enumerate(self._op.getCalledGraphs()):
            then = not branch
            if graph.hasInputId(graph_tensor.id):
                index = graph.getInputIndex(graph_tensor.id)
                return self.parent_input(self.graph_to_parent_input_index(index, then))
            if graph.hasOutputId(graph_tensor.id):
                index = graph.getOutputIndex(graph_tensor.id)
                return self.parent_output(self.graph_to_parent_output_index(index, then))
        raise ValueError(f"{graph_tensor.name} is neither an input nor an output of the branches.")

    def parent_to_graph(self, parent_tensor: Tensor) -> Tensor:
        """The input of a branch for a tensor of the caller."""
        try:
            index = self._op.firstInIndex(parent_tensor._pb_tensor)
        except IndexError as problem:
            raise ValueError(f"{parent_tensor.name} is not given to the branches.") from problem
        branch = self._op.getCalledGraphs()[int(not self.is_parent_index_in_then_branch(index))]
        return Tensor._from_pb_tensor(branch.getInputTensor(self.parent_to_graph_input_index(index)))

    def set_parent_input_modified(self, parent_tensor: Tensor, infer_modified_regions: bool = True) -> None:
        """Not there in PopXL either."""
        raise NotImplementedError("Branches of a conditional cannot change tensors of the caller.")


def conditional(
    cond: Tensor,
    then_branch: Graph,
    else_branch: Graph,
    then_inputs: Inputs = None,
    else_inputs: Inputs = None,
    then_inputs_dict: Mapping[Tensor, Tensor] | None = None,
    else_inputs_dict: Mapping[Tensor, Tensor] | None = None,
) -> tuple[Tensor, ...]:
    """Call one of two graphs."""
    return conditional_with_info(
        cond, then_branch, else_branch, then_inputs, else_inputs, then_inputs_dict, else_inputs_dict
    ).outputs


def conditional_with_info(
    cond: Tensor,
    then_branch: Graph,
    else_branch: Graph,
    then_inputs: Inputs = None,
    else_inputs: Inputs = None,
    then_inputs_dict: Mapping[Tensor, Tensor] | None = None,
    else_inputs_dict: Mapping[Tensor, Tensor] | None = None,
    check_inputs: bool = True,
) -> ConditionalSiteInfo:
    """Run one of two graphs, and return the `ConditionalSiteInfo`."""
    context = get_current_context()
    parent = context.graph
    check_in_graph(parent, cond=cond)
    given = [
        prepared_inputs(parent, then_branch, "then_branch", then_inputs, then_inputs_dict, check_inputs),
        prepared_inputs(parent, else_branch, "else_branch", else_inputs, else_inputs_dict, check_inputs),
    ]
    first, second = then_branch.outputs, else_branch.outputs
    if len(first) != len(second):
        raise ValueError(f"The branches must return as many tensors: {len(first)} and {len(second)}.")
    by_ref = [*then_branch._by_ref_inputs, *else_branch._by_ref_inputs]
    if by_ref:
        raise NotImplementedError(f"Branches of a conditional cannot have inputs by reference: {by_ref}.")
    inputs, mappings = {0: cond._pb_tensor}, []
    for branch in given:
        mapping = {}
        for inner, tensor in branch.items():
            mapping[len(inputs)] = inner
            inputs[len(inputs)] = tensor._pb_tensor
        mappings.append(mapping)
    op = parent._pb_graph.add_op(
        "If",
        inputs,
        {
            index: f"{one.name}_or_{other.name}"
            for index, (one, other) in enumerate(zip(first, second, strict=True))
        },
        {"graphs": [then_branch._pb_graph, else_branch._pb_graph], "inputs": mappings},
        context._get_op_settings("conditional"),
    )
    context._op_created(op)
    return ConditionalSiteInfo(op)
