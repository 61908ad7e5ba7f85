"""Which tensor training differentiates: of all losses that `forward` marks, the one that the others feed into."""

from __future__ import annotations

import torch
from torch import fx

from tremula import log
from tremula.frontends.torch.capture.record import node_of
from tremula.frontends.torch.errors import compile_error
from tremula.frontends.torch.graphs.program import RECORD

#: torch functions whose result is a loss, by public name in torch.nn.functional
_LOSS_FUNCTIONS_NAMES = """
    l1_loss mse_loss cross_entropy nll_loss kl_div binary_cross_entropy binary_cross_entropy_with_logits
    hinge_embedding_loss huber_loss smooth_l1_loss soft_margin_loss cosine_embedding_loss
    margin_ranking_loss triplet_margin_loss triplet_margin_with_distance_loss poisson_nll_loss
    gaussian_nll_loss multilabel_margin_loss multilabel_soft_margin_loss multi_margin_loss ctc_loss
"""
LOSS_FUNCTIONS = frozenset(_LOSS_FUNCTIONS_NAMES.split())

_WHICH = (
    "Training starts from the last loss function or poptorch.identity_loss in forward(), not from what forward() "
    "returns."
)
_MARK = "loss = poptorch.identity_loss(loss, reduction='mean'), or reduction='none' for a loss of one value"
_ATEN = torch.ops.aten
#: ops that only pass a loss on, to the outputs
_COPIES = frozenset({_ATEN.detach.default, _ATEN.alias.default, _ATEN.clone.default, _ATEN._to_copy.default})


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
    (final,) = independent
    _check_reduced(final, nodes[id(final)])
    return final


def _check_reduced(loss: torch.Tensor, node: fx.Node | None) -> None:
    """The compiler takes a loss of one value, and does not know what `forward` makes of an unreduced one."""
    if loss.dim() == 0 or node is None:
        return
    record = node.meta.get(RECORD)
    line = "" if record is None or record.source is None else f", computed at {record.source},"
    if loss.numel() > 1:
        raise compile_error(
            f"The final loss must be a scalar tensor, but the one that was found{line} has the shape "
            f"{list(loss.shape)}. {_WHICH} Reduce the loss there (reduction='mean' or 'sum'), or mark what you made "
            f"of it: {_MARK}."
        )
    if any(user.target not in _COPIES for user in node.users):
        log.warn_once(
            f"unreduced loss {line}",
            f"The final loss{line} is unreduced, and forward() computes something else from it, which is not "
            f"trained. {_WHICH} If that is the loss, mark it: {_MARK}.",
        )


def _ancestors(node: fx.Node) -> set[fx.Node]:
    seen: set[fx.Node] = set()
    stack = list(node.all_input_nodes)
    while stack:
        parent = stack.pop()
        if parent not in seen:
            seen.add(parent)
            stack.extend(parent.all_input_nodes)
    return seen
