"""The best stages for a model whose layers are measured."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import numpy as np

from tremula.frontends.tensorflow.addons.auto_pipeline import estimates

#: cycles of what is not possible
INF = int(1e16)


def get_model_cost_matrix(model_profile: Any, mem_limit: int) -> Any:
    """Cycles of the layers from one to another on one IPU, `[first, last]`.

    It is `INF` where they need more memory than `mem_limit` bytes, or where a layer of the same name is outside.
    """
    names, layers = model_profile["layerName"], model_profile["layerInfo"]
    uses = Counter(names)
    cycles = np.full((len(layers), len(layers)), INF, np.int64)
    for first in range(len(layers)):
        total = estimates.get_empty_range_info()
        inside: Counter[str] = Counter()
        for last in range(first, len(layers)):
            total = estimates.aggregate_info_inplace(total, layers[last])
            if total["memory"]["totalMemory"] > mem_limit:
                break
            inside[names[last]] += 1
            if all(uses[name] == count for name, count in inside.items()):
                cycles[first, last] = total["cycle"]["forward"]
    return cycles


def get_transfer_cost_matrix(model_profile: Any, cluster_info: Any) -> Any:
    """Cycles of the transfers when an IPU has the layers from one to another, `[ipu, first, last]`."""
    count = len(model_profile["layerInfo"])
    cycles = np.full((len(cluster_info["connection"]), count, count), INF, np.int64)
    for ipu, first, last in np.ndindex(*cycles.shape):
        if first <= last:
            cycles[ipu, first, last] = estimates.transfer_cycle(cluster_info, ipu, model_profile, first, last)
    return cycles


def get_auto_pipeline_partition_by_cycle_and_transfer(
    model_profile: Any, cluster_info: Any, config: Any
) -> list[int]:
    """The stages with the fewest cycles of the slowest stage and of the longest transfer together.

    Args:
        model_profile: what is known about the model, a `ModelInfo`.
        cluster_info: the machine, an `IPUClusterInfo`.
        config: an `AutoPipelineConfiguration`.

    Returns:
        Stage i has the layers from entry i to before entry i + 1.

    Raises:
        ValueError: no stages fit.
    """
    limit = int(cluster_info["memory"] * config["memoryProportion"] * 1024**2)
    compute = get_model_cost_matrix(model_profile, limit)
    transfer = get_transfer_cost_matrix(model_profile, cluster_info)
    ipus, layers = transfer.shape[0], transfer.shape[1]
    # for each longest transfer: the least cycles of the slowest stage
    bounds = np.unique(transfer[transfer < INF])

    def stage(ipu: int, firsts: slice, last: int) -> Any:
        """Cycles of the stages that end at `last`, `[first, bound]`."""
        allowed = transfer[ipu, firsts, last, np.newaxis] <= bounds
        return np.where(allowed, compute[firsts, last, np.newaxis], INF)

    slowest = np.full((ipus, layers, len(bounds)), INF, np.int64)
    before = np.full((ipus, layers, len(bounds)), -1, np.int64)
    for last in range(layers):
        slowest[0, last] = stage(0, slice(0, 1), last)[0]
    for ipu in range(1, ipus):
        for last in range(1, layers):
            choices = np.maximum(slowest[ipu - 1, :last], stage(ipu, slice(1, last + 1), last))
            before[ipu, last] = choices.argmin(axis=0)
            slowest[ipu, last] = choices.min(axis=0)
    best = int(np.argmin(slowest[-1, -1] + bounds))
    if slowest[-1, -1, best] >= INF:
        raise ValueError(
            f"No {ipus} stages fit: {layers} layers cannot be split so that each stage needs at most {limit} bytes and "
            "layers that share variables are in one stage. Use more IPUs, a smaller batch or a larger memoryProportion."
        )
    cuts, last = [layers], layers - 1
    for ipu in range(ipus - 1, -1, -1):
        last = int(before[ipu, last, best])
        cuts.append(last + 1)
    return cuts[::-1]


def estimate_pipelined_model_profile(
    model_profile: Any, cluster_info: Any, partition: list[int]
) -> list[Any]:
    """What each stage needs, from what its layers need."""
    stages = []
    for ipu, (first, end) in enumerate(itertools.pairwise(partition)):
        total = estimates.get_empty_range_info()
        for layer in model_profile["layerInfo"][first:end]:
            total = estimates.aggregate_info_inplace(total, layer)
        transfers = estimates.transfer_cycle(cluster_info, ipu, model_profile, first, end - 1)
        total["cycle"]["total"] = total["cycle"]["forward"] + transfers
        stages.append(total)
    return stages
