"""What a captured graph does besides returning values: what it writes in place and whether it draws
random numbers. Read off the op schemas that torch publishes.
"""

from __future__ import annotations

import torch
from torch import fx

#: ops that write running statistics although their schema does not say so: op -> operand positions
WRITES_STATISTICS = {
    torch.ops.aten.native_batch_norm.default: (3, 4),
    torch.ops.aten.batch_norm_update_stats.default: (1, 2),
    torch.ops.aten.miopen_batch_norm.default: (3, 4),
}


def mutated_placeholders(graph: fx.Graph) -> set[int]:
    """Positions of the graph inputs that some op writes to, directly or through a view."""
    placeholders = [node for node in graph.nodes if node.op == "placeholder"]
    base: dict[fx.Node, int] = {node: position for position, node in enumerate(placeholders)}
    mutated: set[int] = set()
    for node in graph.nodes:
        if node.op != "call_function":
            continue
        if not isinstance(node.target, torch._ops.OpOverload):
            if node.args and isinstance(node.args[0], fx.Node) and node.args[0] in base:
                base[node] = base[node.args[0]]  # getitem of a view op
            continue
        for position in WRITES_STATISTICS.get(node.target, ()) if updates_statistics(node) else ():
            operand = node.args[position]
            if isinstance(operand, fx.Node) and operand in base:
                mutated.add(base[operand])
        for position, argument in enumerate(node.target._schema.arguments):
            alias = argument.alias_info
            if alias is None:
                continue
            # `out` and its like come by name
            value = node.args[position] if position < len(node.args) else node.kwargs.get(argument.name)
            for operand in value if isinstance(value, list | tuple) else (value,):
                if not isinstance(operand, fx.Node) or operand not in base:
                    continue
                if alias.is_write:
                    mutated.add(base[operand])
                base[node] = base[operand]
    return mutated


def updates_statistics(node: fx.Node) -> bool:
    """Whether a normalisation writes its running statistics: with fixed ones (its sixth operand) it does not."""
    fixed = node.target is torch.ops.aten.native_batch_norm.default and node.args[5] is False
    return node.target in WRITES_STATISTICS and not fixed


def uses_random(graph: fx.Graph) -> bool:
    """Whether any op draws from the random state."""
    tag = torch.Tag.nondeterministic_seeded
    return any(
        node.op == "call_function"
        and isinstance(node.target, torch._ops.OpOverload)
        and tag in node.target.tags
        for node in graph.nodes
    )
