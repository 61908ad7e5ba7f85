"""Layer norms: statistics of each example over all channels and the field."""

from __future__ import annotations

from typing import Any

from poplar import Graph, Tensor
from poplar.program import Sequence as Program

from ._group_norm import gradients as layerNormGradients
from ._group_norm import normalise as layerNormalise
from ._group_norm import param_gradients as layerNormParamGradients
from ._group_norm import param_update as layerNormParamUpdate
from ._group_norm import statistics as _statistics
from ._group_norm import whiten as layerNormWhiten


def layerNormStatistics(
    graph: Graph, acts: Tensor, eps: float, prog: Program, unbiasedVarEstimate: bool, stableAlgo: bool = False,
    *rest: Any, debug: Any = "", options: Any = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The mean of each example, and one over the root of its variance and `eps`."""
    return _statistics(
        graph, acts, eps, prog, 1, unbiasedVarEstimate, stableAlgo, *rest, debug=debug, options=options
    )


__all__ = [
    "layerNormGradients",
    "layerNormParamGradients",
    "layerNormParamUpdate",
    "layerNormStatistics",
    "layerNormWhiten",
    "layerNormalise",
]
