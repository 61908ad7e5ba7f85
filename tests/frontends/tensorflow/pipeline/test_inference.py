"""Pipelines without an optimizer, and what pipelines leave in the graph."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python import ipu
from tensorflow.python.ipu import pipelining_ops

from tremula.frontends.tensorflow import sharding
from tremula.frontends.tensorflow.ops import facts

Schedule = pipelining_ops.PipelineSchedule


def run(stages: list[Any], count: int, elements: Any = None, **options: Any) -> Any:
    """What a pipeline gives to the outfeed."""
    config = ipu.config.IPUConfig()
    config.auto_select_ipus = 4
    config.configure_ipu_system()
    strategy = ipu.ipu_strategy.IPUStrategy()
    infeed = None
    if elements is not None:
        infeed = ipu.ipu_infeed_queue.IPUInfeedQueue(tf.data.Dataset.from_tensor_slices(elements).repeat())
        infeed.initializer
    outfeed = ipu.ipu_outfeed_queue.IPUOutfeedQueue()

    @tf.function
    def program() -> None:
        pipelining_ops.pipeline(
            stages,
            count,
            infeed_queue=infeed,
            outfeed_queue=outfeed,
            device_mapping=options.pop("device_mapping", [*range(len(stages) - 1), 3]),
            pipeline_schedule=Schedule.Sequential,
            **options,
        )

    with strategy.scope():
        strategy.run(program)
    return outfeed.dequeue()


NUMBERS = np.arange(6, dtype=np.float32)


def test_each_element_passes_through_all_stages() -> None:
    np.testing.assert_array_equal(run([lambda x: x + 1.0, lambda x: x * 2.0], 6, NUMBERS), (NUMBERS + 1) * 2)


def test_inputs_come_before_elements_for_every_micro_batch() -> None:
    result = run([lambda c, x: x - c, lambda x: x], 6, NUMBERS, inputs=[10.0])
    np.testing.assert_array_equal(result, NUMBERS - 10)


def test_elements_in_a_dictionary_are_named_arguments() -> None:
    result = run([lambda a, b: a - b, lambda x: x], 6, {"a": NUMBERS, "b": 3 * NUMBERS})
    np.testing.assert_array_equal(result, -2 * NUMBERS)


def test_the_outfeed_has_the_structure_of_the_last_outputs() -> None:
    result = run([lambda x: x, lambda x: {"same": x, "double": 2 * x}], 6, NUMBERS)
    assert set(result) == {"same", "double"}
    np.testing.assert_array_equal(result["double"], 2 * NUMBERS)


def test_functions_side_by_side_get_the_same_arguments() -> None:
    stages = [lambda x: x, [lambda x: x + 1.0, lambda x: x * 5.0], lambda a, b: a + b]
    result = run(stages, 6, NUMBERS, device_mapping=[0, [1, 2], 3])
    np.testing.assert_array_equal(result, NUMBERS * 6 + 1)


def test_sums_over_the_micro_batches_may_be_given_instead() -> None:
    (result,) = run([lambda x: x, lambda x: x], 3, NUMBERS, repeat_count=2, accumulate_outfeed=True)
    np.testing.assert_array_equal(result, [3, 12])


def test_sums_have_the_type_that_is_asked_for() -> None:
    halves = np.full(4, 40000, np.float16)
    (result,) = run(
        [lambda x: x, lambda x: x], 4, halves, accumulate_outfeed=True, accumulate_outfeed_dtype=np.float32
    )
    assert result.dtype == tf.float32
    np.testing.assert_array_equal(result, [160000])


def test_the_counter_numbers_the_micro_batches_of_each_update() -> None:
    def count(x: Any) -> Any:
        return ipu.internal_ops.get_current_iteration_counter()

    result = run([lambda x: x, count], 3, NUMBERS, repeat_count=2)
    np.testing.assert_array_equal(result, [0, 1, 2, 0, 1, 2])


def test_a_pipeline_may_give_nothing() -> None:
    total = tf.Variable(0.0)
    config = ipu.config.IPUConfig()
    config.auto_select_ipus = 2
    config.configure_ipu_system()
    strategy = ipu.ipu_strategy.IPUStrategy()

    @tf.function
    def program() -> None:
        pipelining_ops.pipeline(
            [lambda x: x, lambda x: total.assign_add(x, read_value=False) and None], 4, inputs=[1.0]
        )

    with strategy.scope():
        strategy.run(program)
    assert total.numpy() == 4.0


@pytest.fixture
def traced() -> tuple[Any, Any]:
    """The operation and the functions of a pipeline that trains."""
    weight = tf.Variable([[2.0]])

    def optimizer(loss: Any) -> Any:
        return pipelining_ops.OptimizerFunctionOutput(
            tf.compat.v1.train.GradientDescentOptimizer(1.0),
            loss,
            compute_gradients_kwargs={"var_list": [weight]},
        )

    operations = []

    @tf.function
    def program(x: Any) -> None:
        operations.append(
            pipelining_ops.pipeline(
                [
                    lambda x: x @ weight,
                    lambda x: tf.reduce_sum(pipelining_ops.recomputation_checkpoint(x) ** 2),
                ],
                4,
                inputs=[x],
                outfeed_queue=ipu.ipu_outfeed_queue.IPUOutfeedQueue(),
                optimizer_function=optimizer,
                device_mapping=[1, 0],
                offload_activations=True,
                forward_propagation_stages_poplar_options=[
                    pipelining_ops.PipelineStageOptions(matmul_options={"partialsType": "half"}),
                    pipelining_ops.PipelineStageOptions(),
                ],
            )
        )

    graph = program.get_concrete_function(tf.ones([1, 1])).graph
    return operations[0], {name: f.graph for name, f in graph._functions.items()}


class TestFacts:
    def test_options_are_on_the_operation(self, traced: tuple[Any, Any]) -> None:
        kept = json.loads(facts.recorded(traced[0])["pipeline"])
        assert kept["schedule"] == "Grouped"
        assert kept["device_mapping"] == [1, 0]
        assert kept["offload_activations"] is True
        assert kept["forward_options"] == [{"matmul_options": {"partialsType": "half"}}, {}]

    def test_ops_know_their_stage_pass_and_ipu(self, traced: tuple[Any, Any]) -> None:
        found = set()
        for graph in traced[1].values():
            for op in graph.get_operations():
                known = facts.recorded(op)
                if op.type == "MatMul":
                    found.add((known["stage"], known["pass"], *sharding.get_sharding(op)))
                if known.get("recomputation_checkpoint"):
                    assert known["stage"] == 1
        assert found == {(0, "forward", 1), (0, "backward", 1)}
