"""Which tensor training differentiates: of all losses that `forward` marks, the one that the others feed into."""

from __future__ import annotations

import torch
from torch import fx

from tremula.frontends.torch.capture.record import node_of
from tremula.frontends.torch.errors import compile_error

#: torch functions whose result is a loss, by public name in torch.nn.functional
_LOSS_FUNCTIONS_NAMES = """
    l1_loss mse_loss cross_entropy nll_loss kl_div binary_cross_entropy binary_cross_entropy_with_logits
    hinge_embedding_loss huber_loss smooth_l1_loss soft_margin_loss cosine_embedding_loss
    margin_ranking_loss triplet_margin_loss triplet_margin_with_distance_loss poisson_nll_loss
    gaussian_nll_loss multilabel_margin_loss multilabel_soft_margin_loss multi_margin_loss ctc_loss
"""
LOSS_FUNCTIONS = frozenset(_LOSS_FUNCTIONS_NAMES.split())


def final_loss(losses: list[torch.Tensor]) -> torch.Tensor:
    """The one loss that no other loss is computed from."""
    if not losses:
        raise compile_error(
            "Couldn't find a loss in graph. A training model must compute its loss inside forward(): call "
            "one of torch's loss functions there, or mark your own with poptorch.identity_loss(x, reduction).",
        )
    nodes = {id(loss): node_of(loss) for loss in losses}
    independent: list[torch.Tensor] = []
    for loss in losses:
        node = nodes[id(loss)]
        others = [other for each in losses if (other := nodes[id(each)]) is not None and other is not node]
        feeds_another = node is not None and any(node in _ancestors(other) for other in others)
        known = any(nodes[id(kept)] is node for kept in independent)
        if not feeds_another and not known:
            independent.append(loss)
    if len(independent) > 1:
        raise compile_error(
            f"Multiple independent losses found in graph: {len(independent)}. One loss starts the backward pass, so "
            "combine them and mark the result: poptorch.identity_loss(first + second, reduction='none').",
        )
    return independent[0]


def _ancestors(node: fx.Node) -> set[fx.Node]:
    seen: set[fx.Node] = set()
    stack = list(node.all_input_nodes)
    while stack:
        parent = stack.pop()
        if parent not in seen:
            seen.add(parent)
            stack.extend(parent.all_input_nodes)
    return seen
