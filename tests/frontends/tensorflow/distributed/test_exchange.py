"""In which order the exchanges of a program with other instances are made; the instances are imitated."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python import ipu

from tremula.distributed import launch_environment
from tremula.frontends.tensorflow.config import active
from tremula.frontends.tensorflow.replicas import collectives, instances
from tremula.frontends.tensorflow.replicas.program import DeviceFunction


@pytest.fixture
def first_of_two(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """This process is instance 0 of 2, and the other has the same values; the exchanges that were made, in order."""
    made: list[str] = []
    config = ipu.config.IPUConfig()
    config.auto_select_ipus = 2
    config.configure_ipu_system()

    def sums(*values: Any) -> list[Any]:
        made.append(f"sum of {len(values)}")
        return [np.add(value, value) for value in values]

    def gathered(value: Any) -> list[Any]:
        made.append("gather")
        return [np.concatenate([value, value])]

    monkeypatch.setattr(active, "process_count", lambda: 2)
    monkeypatch.setattr(launch_environment, "instances", lambda: 2)
    monkeypatch.setattr(instances, "_sums", sums)
    monkeypatch.setattr(instances, "_gathered", gathered)
    monkeypatch.setattr(instances._Agreed, "__call__", lambda self, *values: self._function(*values))
    yield made
    ipu.config.reset_ipu_configuration()


def test_sums_that_do_not_depend_on_each_other_travel_together(first_of_two: list[str]) -> None:
    weights = [tf.Variable(float(n)) for n in range(5)]

    @tf.function
    def step() -> Any:
        # each is used at once, as an optimizer does
        for weight in weights:
            weight.assign_add(collectives.cross_replica_sum(tf.identity(weight)))
        return collectives.cross_replica_sum(weights[0])

    total = DeviceFunction(step.python_function)()
    assert first_of_two == ["sum of 5", "sum of 1"]
    # 2 replicas in each of 2 processes: a value becomes five times itself
    assert [weight.numpy() for weight in weights] == [0.0, 5.0, 10.0, 15.0, 20.0]
    assert total.numpy() == 0.0


def test_loops_and_branches_keep_their_place(first_of_two: list[str]) -> None:
    weight = tf.Variable(1.0)

    def step() -> Any:
        before = collectives.gather(tf.constant(1.0))
        for _ in tf.range(3):
            weight.assign(collectives.cross_replica_sum(weight))
        if weight > 0.0:
            weight.assign(collectives.cross_replica_sum(weight))
        return before, collectives.gather(weight)

    before, after = DeviceFunction(step)()
    assert first_of_two == ["gather", *["sum of 1"] * 4, "gather"]
    assert before.shape == after.shape == (4,)
    assert weight.numpy() == 4.0**4


@pytest.mark.usefixtures("first_of_two")
def test_groups_of_replicas_may_reach_over_instances(first_of_two: list[str]) -> None:
    def step() -> Any:
        index = tf.cast(collectives.replication_index(), tf.float32)
        return [collectives.cross_replica_sum(index + 1.0, group) for group in (1, 2, 4)]

    assert [value.numpy() for value in DeviceFunction(step)()] == [1.0, 3.0, 6.0]
    assert first_of_two == ["sum of 1"]
