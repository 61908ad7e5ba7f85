"""Which nodes the compiler computes once, for they depend on no input, variable, feed or random draw.

Shapes are static on the device, so whatever is computed from shapes alone is constant. Zeros and ones of a tensor's
shape are too: the device repeats one number, which takes no memory.
"""

from __future__ import annotations

from collections.abc import Iterable

from tremula.frontends.tensorflow.capture.nodes import Node, Value

#: results that follow from the shapes of the inputs, or that have no inputs and never change
_STATIC_TEXT = """
    Const HostConst Shape ShapeN Size Rank BroadcastGradientArgs DynamicBroadcastGradientArgs BroadcastArgs ZerosLike
    OnesLike TensorListLength TensorListElementShape TensorArraySizeV3 Empty ImmutableConst StatelessRandomGetAlg
    VariableShape
"""
STATIC = frozenset(_STATIC_TEXT.split())

#: results that vary, or that matter for what they do to something else
_VARYING_TEXT = """
    ReadVariableOp VarHandleOp IteratorGetNext IteratorGetNextSync IteratorGetNextAsOptional OptionalGetValue
    Placeholder PlaceholderWithDefault PyFunc PyFuncStateless EagerPyFunc RngReadAndSkip RngSkip Multinomial
    TruncatedNormal ParameterizedTruncatedNormal AnonymousSeedGenerator Timestamp TensorListReserve EmptyTensorList
    TensorArrayV3 QueueDequeueV2 QueueDequeueManyV2 ResourceGather ResourceGatherNd VarIsInitializedOp
    DestroyResourceOp MutexLock Assert Print PrintV2 NoOp
"""
_VARYING = frozenset(_VARYING_TEXT.split())
_VARYING_PREFIXES = (
    "Random", "Stateless", "Stateful", "Resource", "Assign", "tremula.", "Queue", "Stage", "Dataset", "Iterator",
    "Anonymous", "Collective", "Lookup",
)  # fmt: skip


def constants_of(nodes: Iterable[Node]) -> set[Node]:
    """The constant nodes among `nodes`, which come in the order in which they run."""
    found: set[Node] = set()

    def known(value: Value) -> bool:
        if value.node is not None:
            return value.node in found
        return value.variable is None and value.constant is not None

    for node in nodes:
        computed = node.inputs and not _varies(node) and all(known(value) for value in node.inputs)
        if computed or node.type in STATIC:
            found.add(node)
    return found


def _varies(node: Node) -> bool:
    """Whether the same inputs may give other results: each replica has its own of a collective's."""
    if node.type in _VARYING or node.type.startswith(_VARYING_PREFIXES) or not node.outputs:
        return True
    return "_tremula_collective" in node.attributes or "collective" in node.facts
