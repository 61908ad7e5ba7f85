"""Instance norms: statistics of each example and channel over the field. In C++ the namespace is `popnn::in`."""

from __future__ import annotations

from typing import Any

from poplar import Graph, Tensor
from poplar.program import Sequence as Program

from ._group_norm import gradients as instanceNormGradients
from ._group_norm import normalise as instanceNormalise
from ._group_norm import param_gradients as instanceNormParamGradients
from ._group_norm import param_update as instanceNormParamUpdate
from ._group_norm import statistics as _statistics
from ._group_norm import whiten as instanceNormWhiten


def instanceNormStatistics(
    graph: Graph, acts: Tensor, eps: float, prog: Program, unbiasedVarEstimate: bool, stableAlgo: bool = False,
    *rest: Any, debug: Any = "", options: Any = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The mean of each example and channel, and one over the root of its variance and `eps`."""
    return _statistics(
        graph,
        acts,
        eps,
        prog,
        acts.dim(1),
        unbiasedVarEstimate,
        stableAlgo,
        *rest,
        debug=debug,
        options=options,
    )


__all__ = [
    "instanceNormGradients",
    "instanceNormParamGradients",
    "instanceNormParamUpdate",
    "instanceNormStatistics",
    "instanceNormWhiten",
    "instanceNormalise",
]
