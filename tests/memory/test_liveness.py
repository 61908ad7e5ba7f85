"""Lifetimes of tensors within a step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tremula.hardware.catalogue import chip
from tremula.memory.liveness import Liveness, liveness
from tremula.plan.planner import Planner
from tremula.program.loops import Loops
from tremula.program.program import Program
from tremula.schedule.bsp import op_costs
from tremula.schedule.deployment import Deployment, Location
from tremula.schedule.recompute import recomputation

_PLANNER = Planner(chip("mk2"))
_PLAIN = Deployment()
_TENSOR = 16 * 64 * 4


def _alive(program: Program, deployment: Deployment = _PLAIN) -> Liveness:
    costs = op_costs(program, _PLANNER).costs
    return liveness(program, costs, recomputation(program, deployment), deployment)


def _order(program: Program, alive: Liveness) -> list[str]:
    return [("again " if e.again else "") + program.ops[e.op].name for e in alive.events]


def test_accumulation_follows_its_gradient_and_the_update_is_last(layered: Callable[..., Any]) -> None:
    program = layered(2, loops=Loops(gradient_accumulation=2))
    assert _order(program, _alive(program)) == [
        "mm0", "relu0", "mm1", "relu1",
        "drelu1", "dw1", "acc1", "dx1", "drelu0", "dw0", "acc0", "dx0",
        "sgd0", "sgd1",
    ]  # fmt: skip


def test_without_accumulation_each_weight_is_updated_at_once(layered: Callable[..., Any]) -> None:
    program = layered(2).without_accumulation()
    assert _order(program, _alive(program)) == [
        "mm0", "relu0", "mm1", "relu1",
        "drelu1", "dw1", "sgd1", "dx1", "drelu0", "dw0", "sgd0", "dx0",
    ]  # fmt: skip


def test_recomputed_ops_run_just_before_they_are_needed(layered: Callable[..., Any]) -> None:
    program = layered(4, checkpoints=True, loops=Loops(gradient_accumulation=2))
    order = _order(program, _alive(program, Deployment(recompute="checkpoints")))
    assert order.index("again relu2") == order.index("again mm2") + 1
    assert order.index("drelu3") < order.index("again mm2") < order.index("dw3")
    assert order.index("dw2") < order.index("again mm0") < order.index("dw1")


def test_activations_live_until_their_gradients_without_recomputation(layered: Callable[..., Any]) -> None:
    program = layered(8, training=False)
    inference = _alive(program).live[0]
    training = _alive(layered(8, loops=Loops(gradient_accumulation=2))).live[0]
    # inference needs one operand and one result at a time; ReLU writes over its operand
    assert inference.max() == 2 * _TENSOR
    assert training.max() >= 8 * _TENSOR


def test_recomputation_saves_memory(layered: Callable[..., Any]) -> None:
    program = layered(32, rows=512, checkpoints=True, loops=Loops(gradient_accumulation=2))
    kept, again = (
        _alive(program, Deployment(recompute=mode)).live[0].max() for mode in ("none", "checkpoints")
    )
    assert again < 0.75 * kept


def test_stashes_hold_a_stages_inputs_for_all_micro_batches_under_way(layered: Callable[..., Any]) -> None:
    program = layered(4, stages=4, loops=Loops(gradient_accumulation=8))
    pipelined = Deployment(execution="pipelined", ipus_per_replica=4, recompute="all")
    held = _alive(program, pipelined).stashes
    assert {ipu: sum(sizes.values()) // _TENSOR for ipu, sizes in held.items()} == {0: 7, 1: 5, 2: 3}
    every = _alive(program, replace(pipelined, recompute="none")).stashes
    # without recomputation also what each stage made
    assert {ipu: sum(sizes.values()) // _TENSOR for ipu, sizes in every.items()} == {0: 14, 1: 10, 2: 6}


def test_views_and_in_place_results_take_no_memory(layered: Callable[..., Any]) -> None:
    program = layered(3, training=False)
    before = _alive(program).live[0].max()
    for op in program.ops:
        if op.name.startswith("relu"):
            program.tensors[op.outputs[0]].storage = program.tensors[op.inputs[0]].storage
    assert _alive(program).live[0].max() == before


def test_state_in_streaming_memory_is_there_only_for_the_update(layered: Callable[..., Any]) -> None:
    program = layered(2, width=256, loops=Loops(gradient_accumulation=2))
    away = _alive(program, Deployment(accumulators=Location(on_chip=False)))
    names = {program.tensors[each.storage].name for each in away.lifetimes}
    assert {"acc0", "acc1"} <= names
    assert not names & {program.tensors[each.storage].name for each in _alive(program).lifetimes} & {"acc0"}


@given(
    layers=st.integers(1, 12), stages=st.integers(1, 4), recompute=st.sampled_from(["none", "all", "norms"])
)
def test_live_bytes_are_those_of_the_lifetimes(
    layered: Callable[..., Any], layers: int, stages: int, recompute: str
) -> None:
    stages = min(stages, layers)
    program = layered(layers, stages=stages, loops=Loops(gradient_accumulation=8))
    execution = "pipelined" if stages > 1 else "single"
    alive = _alive(program, Deployment(execution=execution, ipus_per_replica=stages, recompute=recompute))
    for ipu in range(stages):
        by_hand = np.zeros(len(alive.events), dtype=np.int64)
        for each in alive.lifetimes:
            if each.ipu == ipu:
                by_hand[each.first : each.last + 1] += each.bytes
        assert (alive.live[ipu] == by_hand).all()
        position = int(alive.live[ipu].argmax())
        assert sum(each.bytes for each in alive.alive_at(ipu, position)) == alive.live[ipu].max()


@pytest.mark.parametrize("recompute", ["none", "all"])
def test_every_op_runs(layered: Callable[..., Any], recompute: str) -> None:
    program = layered(6, stages=3, loops=Loops(gradient_accumulation=8))
    deployment = Deployment(execution="pipelined", ipus_per_replica=3, recompute=recompute)
    alive = _alive(program, deployment)
    assert sorted(e.op for e in alive.events if not e.again) == list(range(len(program.ops)))
    assert tuple(sorted(e.op for e in alive.events if e.again)) == recomputation(program, deployment).again
