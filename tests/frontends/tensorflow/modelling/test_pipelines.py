"""`pipelining_ops.pipeline` as the chip model sees it: stages, IPUs, micro-batches, options of the device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf
from tensorflow.python import ipu

from tremula.frontends.tensorflow.modelling.subject import TensorFlowSubject
from tremula.program.op import Phase
from tremula.study.dialect import Dialect

from .asked import answer_of, batches, cycles, read, session_program, trained_names, v1

Schedule = ipu.pipelining_ops.PipelineSchedule
STAGES, MICRO_BATCHES, REPEATS = 3, 12, 2


def dense(number: int, x: Any) -> Any:
    """A layer of a stage."""
    with v1.variable_scope(f"stage{number}", use_resource=True):
        return tf.nn.relu(x @ v1.get_variable("w", [8, 8]))


def first(x: Any, labels: Any) -> Any:
    return dense(0, x), labels


def second(x: Any, labels: Any) -> Any:
    return dense(1, x), labels


def third(x: Any, labels: Any) -> Any:
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, dense(2, x)))


def pipeline(training: bool = True, **given: Any) -> Callable[[Any], Callable[[], Any]]:
    """A pipeline of three stages."""

    def optimizer_function(loss: Any) -> Any:
        optimizer = v1.train.MomentumOptimizer(0.1, 0.9)
        return ipu.pipelining_ops.OptimizerFunctionOutput(optimizer, loss)

    def with_queue(queue: Any) -> Callable[[], Any]:
        def computation() -> Any:
            return ipu.pipelining_ops.pipeline(
                [first, second, third],
                **{"gradient_accumulation_count": MICRO_BATCHES, "repeat_count": REPEATS, **given},
                infeed_queue=queue,
                outfeed_queue=ipu.ipu_outfeed_queue.IPUOutfeedQueue(),
                optimizer_function=optimizer_function if training else None,
                reduction_method="sum",
            )

        return computation

    return with_queue


def modelled(**given: Any) -> TensorFlowSubject:
    return session_program(pipeline(**given), ipus=4, infeed=batches)


def test_training_has_its_stages_micro_batches_and_updates() -> None:
    subject = modelled()
    assert (subject.loops.device_iterations, subject.loops.gradient_accumulation) == (REPEATS, MICRO_BATCHES)
    assert trained_names(subject) == {f"stage{number}/w" for number in range(STAGES)}
    answer = answer_of(subject)
    estimate = answer.estimate
    assert estimate is not None
    assert estimate.deployment.execution == "pipelined"
    assert estimate.program.forward_stages == STAGES
    # hardware hands out powers of two
    assert estimate.deployment.ipus_per_replica == 4
    assert {op.ipu for op in estimate.ops if op.phase in ("forward", "backward")} == {0, 1, 2}
    assert cycles(answer, Phase.BACKWARD) > 0
    assert cycles(answer, Phase.UPDATE) > 0


def test_gradients_are_on_the_ipu_of_their_stage() -> None:
    estimate = answer_of(modelled()).estimate
    assert estimate is not None
    for op in estimate.ops:
        if op.name.endswith(("MatMul", "MatMul_1")):
            assert op.ipu == int(op.module.removeprefix("stage"))


def test_inference_counts_micro_batches_as_iterations() -> None:
    subject = modelled(training=False)
    assert not subject.training
    assert subject.loops.device_iterations == REPEATS * MICRO_BATCHES
    answer = answer_of(subject)
    assert answer.estimate is not None
    assert answer.estimate.deployment.execution == "pipelined"
    assert answer.estimate.program.forward_stages == STAGES


def test_stages_may_share_an_ipu() -> None:
    estimate = answer_of(modelled(device_mapping=[0, 1, 0])).estimate
    assert estimate is not None
    assert estimate.deployment.ipus_per_replica == 2
    assert estimate.program.forward_stages == STAGES
    assert {op.ipu for op in estimate.ops if op.module == "stage2"} == {0}


def test_a_stage_on_all_ipus_is_modelled_on_the_first_and_told(capfd: Any) -> None:
    everywhere = ipu.pipelining_ops._ALL_DEVICES
    estimate = answer_of(modelled(device_mapping=[1, everywhere, 0])).estimate
    assert estimate is not None
    assert {op.ipu for op in estimate.ops if op.module == "stage1"} == {0}
    assert "is on all IPUs of a replica: it is modelled on the first" in capfd.readouterr().err


@pytest.mark.parametrize("schedule", list(Schedule))
def test_the_schedule_is_that_of_the_program(schedule: Any) -> None:
    mapping = [0, 0, 0] if schedule is Schedule.Sequential else [0, 1, 2]
    subject = modelled(pipeline_schedule=schedule, device_mapping=mapping)
    assert read(subject).options["schedule"] == schedule.name
    assert answer_of(subject).result.runs


def test_places_of_tensors_are_those_of_the_options() -> None:
    estimate = answer_of(
        modelled(
            offload_weight_update_variables=True,
            offload_activations=True,
            offload_gradient_accumulation_buffers=True,
            replicated_optimizer_state_sharding=True,
        )
    ).estimate
    assert estimate is not None
    placed = estimate.deployment
    assert (placed.optimizer_state.on_chip, placed.optimizer_state.sharded) == (False, True)
    assert not placed.activations.on_chip
    assert not placed.accumulators.on_chip
    assert placed.weights.on_chip


def test_stages_have_memory_options_of_their_own() -> None:
    options = [
        ipu.pipelining_ops.PipelineStageOptions({}, {"availableMemoryProportion": str(share)})
        for share in (0.2, 0.3, 0.4)
    ]
    estimate = answer_of(modelled(forward_propagation_stages_poplar_options=options)).estimate
    assert estimate is not None
    assert [estimate.deployment.proportions[each] for each in range(3)] == [0.2, 0.3, 0.4]


def test_advice_names_the_arguments_of_the_pipeline() -> None:
    dialect: Dialect = modelled().dialect
    assert dialect.accumulation(24) == ("# ipu.pipelining_ops.pipeline(gradient_accumulation_count=24)",)
    assert dialect.replicas(2) == ("config.auto_select_ipus = 8  # 2 replicas of 4",)
    assert dialect.micro_batches(7, STAGES, True) == 12
