"""Stages are found from profiles of layers."""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ipu_tensorflow_addons.keras.experimental.auto_pipeline.prediction import (
    max_throughput,
    partition,
    partition_evaluate,
)
from ipu_tensorflow_addons.keras.experimental.auto_pipeline.utils import types_utils

CONFIG = {"memoryProportion": 1.0, "usePoplarEstimation": True}


def _cluster(ipus: int, memory: int = 1) -> Any:
    connection = {"recvGBps": 1, "recvIdleCycle": 5, "sendGBps": 2, "sendIdleCycle": 3}
    return {"clock": 1024**3, "memory": memory, "connection": [dict(connection) for _ in range(ipus)]}


def _profile(cycles: list[int], sizes: list[int], names: list[int], memory: list[int]) -> Any:
    layers = []
    for cycle, size, need in zip(cycles, sizes, memory, strict=True):
        info = types_utils.get_empty_layer_info()
        info["cycle"]["forward"] = cycle
        info["memory"].update(inputs=size, outputs=size, exclusive={"parameter": need})
        layers.append(info)
    texts = [str(name) for name in names]
    return {"layerName": texts, "layerType": texts, "layerInfo": layers}


def _cost(profile: Any, cluster: Any, cuts: tuple[int, ...]) -> float:
    names, cycles, transfers = profile["layerName"], [], []
    for ipu, (first, end) in enumerate(pairwise(cuts)):
        inside = profile["layerInfo"][first:end]
        if sum(layer["memory"]["exclusive"]["parameter"] for layer in inside) > cluster["memory"] * 1024**2:
            return float("inf")
        if set(names[first:end]) & (set(names[:first]) | set(names[end:])):
            return float("inf")
        cycles.append(sum(layer["cycle"]["forward"] for layer in inside))
        transfers.append(types_utils.transfer_cycle(cluster, ipu, profile, first, end - 1))
    return max(cycles) + max(transfers)


@settings(max_examples=60, deadline=None)
@given(
    data=st.lists(
        st.tuples(st.integers(0, 50), st.integers(0, 60), st.booleans(), st.integers(0, 700_000)),
        min_size=3,
        max_size=7,
    ),
    ipus=st.integers(2, 3),
)
def test_no_other_stages_have_fewer_cycles(data: list[tuple[int, int, bool, int]], ipus: int) -> None:
    names, name = [], 0
    for _, _, same, _ in data:
        name += not same
        names.append(name)
    profile = _profile([d[0] for d in data], [d[1] for d in data], names, [d[3] for d in data])
    cluster, count = _cluster(ipus), len(data)
    every = [(0, *inner, count) for inner in combinations(range(1, count), ipus - 1)]
    best = min(_cost(profile, cluster, cuts) for cuts in every)
    if best == float("inf"):
        with pytest.raises(ValueError, match="stages fit"):
            partition.get_auto_pipeline_partition_by_cycle_and_transfer(profile, cluster, CONFIG)
        return
    found = partition.get_auto_pipeline_partition_by_cycle_and_transfer(profile, cluster, CONFIG)
    assert _cost(profile, cluster, tuple(found)) == best


def test_an_estimate_adds_up_the_layers_and_transfers_of_each_stage() -> None:
    profile = _profile([5, 6, 7], [10, 20, 30], [0, 1, 2], [1, 2, 3])
    stages = partition_evaluate.estimate_pipelined_model_profile(profile, _cluster(2), [0, 2, 3])
    assert [stage["cycle"]["forward"] for stage in stages] == [11, 7]
    assert [stage["memory"]["totalMemory"] for stage in stages] == [3, 3]
    host = (5 + 10) + (3 + 15)
    assert [stage["cycle"]["total"] for stage in stages] == [11 + host + 3 + 10, 7 + host + 5 + 30]


def test_what_layers_share_counts_once() -> None:
    layer = types_utils.get_empty_layer_info()
    layer["memory"].update(
        shared={"code_1": 100}, exclusive={"parameter": 10}, maxTemporary=7, curCarryOver=1
    )
    total = types_utils.get_empty_range_info()
    for _ in range(3):
        types_utils.aggregate_info_inplace(total, layer)
    assert total["memory"]["totalMemory"] == 100 + 3 * 10 + 8


def test_a_comparison_is_written_as_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    profile = _profile([2000], [0], [0], [1024**2])
    stage = partition_evaluate.estimate_pipelined_model_profile(profile, _cluster(1), [0, 1])
    types_utils.compare_pipelined_model_profile(stage, stage)
    text = capsys.readouterr().out
    assert "IPU 0" in text
    assert "parameter" in text
    assert "0.00%" in text


def test_what_needs_report_files_says_so() -> None:
    for function in (partition.create_model_profile, max_throughput.search_for_max_throughput):
        with pytest.raises(NotImplementedError, match="report files"):
            function(None, 1, CONFIG)
