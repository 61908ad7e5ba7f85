"""Programs of published size, captured without memory for their weights; `benchmarks/splits.py` has them all."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tremula.estimate.estimate import estimate
from tremula.hardware import catalogue
from tremula.program.loops import Loops
from tremula.schedule.deployment import Deployment
from tremula.schedule.relayout import relayout
from tremula.study.split.search import find_split


@pytest.mark.slow
def test_bert_large_does_not_fit_on_one_ipu_and_does_on_two(benchmark: Any) -> None:
    capturing = benchmark("models.capturing")
    recipe = capturing.Recipe("bert", (("size", "large"), ("task", "squad")), "fp16", batch=4)
    program, segments = capturing.captured_in_segments(recipe)
    deployment = Deployment(proportions={-1: 0.2}, partials="fp16")
    cut = capturing.segmented(replace(program, loops=Loops(device_iterations=16)), segments, deployment, 4)
    system = catalogue.system("pod4")
    whole = relayout(cut.program, [0] * cut.segments, [0])
    assert not estimate(whole, deployment, system).memory.fits
    split = find_split(cut, 2, deployment, system)
    assert split.fits
    assert split.imbalance < 0.15


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ResNet-50 training, 8 replicas", "bert training_perfpage-029"])
def test_splits_are_no_worse_than_those_made_by_hand(benchmark: Any, name: str) -> None:
    splits = benchmark("splits")
    row = next(each for each in splits.rows() if each.name == name)
    outcome, by_hand, found = splits.evaluate(row)
    assert found.imbalance < 0.15
    assert found.throughput >= 0.99 * by_hand.throughput
    assert found.fits or not by_hand.fits
    assert outcome.tile <= outcome.published_tile
