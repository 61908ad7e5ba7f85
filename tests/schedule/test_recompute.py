"""Recomputation: what runs again, what is kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tremula.schedule.deployment import Deployment
from tremula.schedule.recompute import recomputation


def _names(program: Any, numbers: tuple[int, ...]) -> list[str]:
    return [program.ops[n].name for n in numbers]


def _kept(program: Any, saved: tuple[tuple[int, int], ...]) -> list[str]:
    return [program.tensors[storage].name for storage, _ in saved]


def test_without_recomputation_everything_read_is_kept(layered: Callable[..., Any]) -> None:
    program = layered(3)
    found = recomputation(program, Deployment())
    assert found.again == ()
    assert _kept(program, found.saved) == ["x", "a0", "a1", "a2"]


def test_marked_results_are_kept_and_the_rest_runs_again(layered: Callable[..., Any]) -> None:
    program = layered(4, checkpoints=True)
    found = recomputation(program, Deployment(recompute="checkpoints"))
    # relu1 and relu3 are marked: they, and what only they need, do not run again
    assert _names(program, found.again) == ["mm0", "relu0", "mm2", "relu2"]
    assert {"a1", "a3", "x"} <= set(_kept(program, found.saved))
    assert not {"a0", "a2"} & set(_kept(program, found.saved))


def test_checkpoints_by_name(layered: Callable[..., Any]) -> None:
    program = layered(2)
    found = recomputation(program, Deployment(recompute="all", checkpoints=frozenset({"a0", "a1"})))
    assert found.again == ()


def test_a_pipelines_last_stage_goes_straight_on(layered: Callable[..., Any]) -> None:
    program = layered(4, stages=2)
    found = recomputation(program, Deployment(execution="pipelined", ipus_per_replica=2, recompute="all"))
    assert _names(program, found.again) == ["mm0", "relu0", "mm1", "relu1"]
    # the last stage keeps its input (made by the first) and its own results; the first keeps its input only
    kept = {(program.tensors[storage].name, stage) for storage, stage in found.saved}
    assert kept == {("x", 0), ("a1", 1), ("a2", 1), ("a3", 1)}


def test_only_what_is_cheap_runs_again(layered: Callable[..., Any]) -> None:
    program = layered(3)
    found = recomputation(program, Deployment(recompute="norms"))
    assert _names(program, found.again) == ["relu0", "relu1", "relu2"]
    assert _kept(program, found.saved) == ["x", "y0", "y1", "y2"]


def test_inference_keeps_nothing(layered: Callable[..., Any]) -> None:
    found = recomputation(layered(3, training=False), Deployment(recompute="all"))
    assert found.again == ()
    assert found.saved == ()
