"""Lines of Keras that advice prints: they run on real models, have their effect, and the model then trains."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python import ipu

from tremula.frontends.tensorflow.dialect.advice_code import KerasCode
from tremula.program.variant import StageStart
from tremula.schedule.deployment import Location

from .programs import Written, functional, nested, sequential

TWO = (StageStart("third", 1),)
THREE = (StageStart("second", 1), StageStart("last", 0))


def pipelined(starts: tuple[StageStart, ...] = TWO, ipus: int = 2, make: Any = functional) -> Written:
    """A program with stages."""
    written = Written(make)
    stages = len(starts) + 1
    lines = written.code().stages(starts) + written.code().pipeline(ipus, True, 2 * stages, 2 * stages - 1)
    return written.run(lines)


def test_the_lines_are_written_without_tensorflow() -> None:
    code = (
        "import sys; from tremula.frontends.tensorflow.dialect.advice_code import KerasCode;"
        "print(KerasCode().accumulation(4), 'tensorflow' in sys.modules, 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("False False")


@pytest.mark.parametrize("make", [functional, sequential])
def test_stages_begin_at_the_layers_that_are_named(make: Callable[[], Any]) -> None:
    written = pipelined(make=make)
    stages = written.stages()
    assert [stages[name] for name in ("first", "second", "third", "last")] == [0, 0, 1, 1]
    assert written.config.auto_select_ipus == 2
    assert np.isfinite(written.fit().history["loss"]).all()


def test_a_last_stage_may_return_to_the_first_ipu() -> None:
    written = pipelined(THREE)
    assert written.model._pipelining_device_mapping == [0, 1, 0]
    assert written.names["steps_per_execution"] == 6
    written.fit()


@pytest.mark.parametrize(
    ("start", "stages"),
    [("encoder", [0, 1, 1, 1]), ("encoder/down", [0, 0, 1, 1]), ("last", [0, 0, 0, 1])],
)
def test_a_stage_may_begin_at_a_nested_model_or_in_it(start: str, stages: list[int]) -> None:
    written = pipelined((StageStart(start, 1),), make=nested)
    assert [written.stages()[name] for name in ("first", "up", "down", "last")] == stages
    written.fit()


def test_other_stages_replace_those_that_the_program_has() -> None:
    written = pipelined(THREE)
    written.run(written.code().stages(TWO, replace=True))
    assert max(written.stages().values()) == 1
    assert written.model._pipelining_device_mapping == [0, 1]


def test_stages_are_also_told_as_scopes_and_as_a_list() -> None:
    code = Written().code()
    assert code.assignment(TWO) == [
        ("first", 0), ("second", 0), ("added", 0), ("third", 1), ("last", 1),
    ]  # fmt: skip
    assert code.stages(TWO)[-2:] == (
        "# with keras.ipu.PipelineStage(0): first to added",
        "# with keras.ipu.PipelineStage(1): third to last",
    )
    assert KerasCode().assignment(TWO) == []


def test_a_pipeline_takes_multiples_of_its_stages() -> None:
    code = KerasCode()
    assert [code.micro_batches(wanted, 2, True) for wanted in (1, 4, 5)] == [4, 4, 8]
    assert [code.micro_batches(wanted, 3, False) for wanted in (1, 3, 4)] == [3, 3, 6]
    assert code.micro_batches(5, 1, True) == 5
    assert (
        "steps_per_execution = 8 * updates  # of compile; modelled with 5, which the schedule cannot take"
        in (code.pipeline(2, True, 5, 3))
    )


def test_the_schedule_of_the_program_says_which_multiples() -> None:
    schedules = ipu.pipelining_ops.PipelineSchedule
    for schedule, taken in ((schedules.Interleaved, 6), (schedules.Sequential, 5), (schedules.Grouped, 8)):
        written = pipelined()
        written.model.set_pipelining_options(pipeline_schedule=schedule)
        assert written.code().micro_batches(5, 2, True) == taken


def test_one_stage_needs_no_lines() -> None:
    written = pipelined()
    assert written.code().stages(()) == ()
    written.run(written.code().stages((), replace=True))
    assert not written.model._is_pipelined()


def test_a_pipeline_of_inference_fills_an_execution() -> None:
    written = Written()
    written.run(written.code(False).stages(TWO) + written.code(False).pipeline(3, False, 6, 2))
    assert written.names["steps_per_execution"] == 6
    assert written.config.auto_select_ipus == 4


@pytest.mark.parametrize("make", [Written, pipelined])
def test_accumulation_keeps_the_updates_of_an_execution(make: Callable[[], Written]) -> None:
    written = make()
    written.run(written.code().device_iterations(3))
    written.run(written.code().accumulation(8))
    assert written.names["steps_per_execution"] == 24
    written.fit()
    assert written.model.optimizer.iterations.numpy() == 3


def test_accumulation_and_iterations_go_together_in_any_order() -> None:
    code = KerasCode()
    for lines in itertools.permutations([code.accumulation(4), code.device_iterations(5)]):
        written = Written().run(sum(lines, ()))
        assert written.names["steps_per_execution"] == 20
        assert written.model._gradient_accumulation_steps_per_replica == 4


def test_iterations_of_inference_are_its_steps() -> None:
    written = Written()
    written.run(written.code().accumulation(4))
    written.run(written.code(training=False).device_iterations(16))
    assert written.names["steps_per_execution"] == 16


@pytest.mark.parametrize("known", [True, False])
def test_lines_keep_the_options_and_the_method_that_the_program_has(known: bool) -> None:
    written = Written()
    written.model.set_gradient_accumulation_options(2, "mean", dtype=tf.float16)
    code = written.code() if known else KerasCode()
    written.run(code.accumulation(4) + code.location("optimizer_state", Location(on_chip=False)))
    model = written.model
    assert model._gradient_accumulation_reduction_method.name == "MEAN"
    assert model._gradient_accumulation_optimizer_kwargs == {
        "dtype": tf.float16,
        "offload_weight_update_variables": True,
        "replicated_optimizer_state_sharding": False,
    }
    written.run(written.code().stages(TWO) + written.code().pipeline(2, True, 4, 3))
    assert model._gradient_accumulation_reduction_method.name == "MEAN"
    assert model._pipelining_kwargs["offload_weight_update_variables"] is True


def test_a_micro_batch_is_the_batch_size() -> None:
    assert Written().run(KerasCode().micro_batch(8)).names["batch_size"] == 8


@pytest.mark.parametrize(("make", "ipus"), [(Written, 4), (pipelined, 8)])
def test_replicas_are_ipus(make: Callable[[], Written], ipus: int) -> None:
    written = make()
    written.run(written.code().replicas(4))
    assert written.config.auto_select_ipus == ipus
    written.fit(replicas=4)


def test_half_precision_is_a_policy_and_half_inputs() -> None:
    written = Written().run(KerasCode().half_precision)
    assert written.model.get_layer("first").compute_dtype == "float16"
    assert [spec.dtype for spec in written.names["dataset"].element_spec] == [tf.float16, tf.float32]
    assert np.isfinite(written.fit().history["loss"]).all()


def test_half_partial_sums_are_options_of_the_libraries() -> None:
    written = Written()
    written.config.matmuls.poplar_options = {"availableMemoryProportion": "0.3"}
    written.run(KerasCode().half_partials)
    assert written.config.convolutions.poplar_options == {"partialsType": "half"}
    assert written.config.matmuls.poplar_options == {
        "availableMemoryProportion": "0.3",
        "partialsType": "half",
    }
    written.fit()


def test_half_accumulators() -> None:
    written = Written()
    written.run(written.code().accumulation(2) + written.code().half_accumulators)
    assert written.model._gradient_accumulation_optimizer_kwargs == {"dtype": tf.float16}
    written.fit()
    pipeline = pipelined()
    pipeline.run(pipeline.code().half_accumulators)
    assert pipeline.model._pipelining_kwargs["gradient_accumulation_dtype"] == tf.float16
    pipeline.fit()


def test_results_of_the_last_micro_batch() -> None:
    written = Written()
    written.model.set_asynchronous_callbacks(True)
    written.run(written.code().last_results)
    assert written.model._asynchronous_callbacks is False
    pipeline = pipelined()
    pipeline.run(pipeline.code().last_results)
    assert pipeline.model._pipelining_accumulate_outfeed is True
    pipeline.fit()


def test_recomputation_is_a_setting_of_the_device() -> None:
    written = Written()
    assert written.run(written.code().recomputation("norms")).config.allow_recompute is True
    assert written.run(written.code().recomputation("none")).config.allow_recompute is False
    assert pipelined().code().recomputation("norms") == (), "pipelines compute whole stages again"


def test_checkpoints_mark_the_results_of_layers_of_a_pipeline(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Written().code().checkpoints(["second"]) == ()
    written = pipelined((StageStart("last", 1),), make=nested)
    marked = []

    def mark(tensor: Any) -> Any:
        marked.append(tensor.name)
        return real(tensor)

    real = ipu.pipelining_ops.recomputation_checkpoint
    monkeypatch.setattr(ipu.pipelining_ops, "recomputation_checkpoint", mark)
    written.run(written.code().checkpoints(["first", "encoder/up"]))
    assert written.config.allow_recompute is True
    mode = written.model._pipelining_kwargs["recomputation_mode"]
    assert mode is ipu.pipelining_ops.RecomputationMode.RecomputeAndBackpropagateInterleaved
    written.fit()
    assert {name.split("/")[-2] for name in marked} == {"first", "up"}


def test_memory_proportions_of_all_ipus_are_options_of_the_libraries() -> None:
    written = Written()
    written.run(written.code().memory_proportions({0: 0.2}))
    for category in (written.config.matmuls, written.config.convolutions):
        assert category.poplar_options == {"availableMemoryProportion": "0.2"}
    written.fit()


def test_memory_proportions_of_some_ipus_are_options_of_their_stages() -> None:
    written = pipelined(THREE)
    written.run(written.code().memory_proportions({0: 0.1}))
    options = written.model._pipelining_kwargs["forward_propagation_stages_poplar_options"]
    flags = [each.options.get("matmul_options") for each in options]
    assert flags == [{"availableMemoryProportion": "0.1"}, None, {"availableMemoryProportion": "0.1"}]
    written.fit()


def test_one_layer_has_no_memory_proportion() -> None:
    assert KerasCode().memory_proportion("first", 0.1) == ()


def test_state_of_the_optimizer_leaves_the_chip_or_is_shared() -> None:
    written = Written()
    written.run(written.code().accumulation(2))
    written.run(written.code().location("optimizer_state", Location(on_chip=False, sharded=True)))
    options = written.model._gradient_accumulation_optimizer_kwargs
    assert options == {"offload_weight_update_variables": True, "replicated_optimizer_state_sharding": True}
    written.fit()


def test_accumulators_leave_the_chip_in_pipelines_only() -> None:
    assert Written().code().location("accumulators", Location(on_chip=False)) == ()
    written = pipelined()
    written.run(written.code().location("accumulators", Location(on_chip=False)))
    assert written.model._pipelining_kwargs["offload_gradient_accumulation_buffers"] is True
    written.fit()


def test_prefetching_is_an_option_of_the_infeed() -> None:
    written = Written()
    written.model.set_infeed_queue_options(optimise_latency=True)
    written.run(written.code().prefetch(5))
    assert written.model._infeed_kwargs == {"optimise_latency": True, "prefetch_depth": 5}
    written.fit()


def test_transfers_overlap_on_io_tiles() -> None:
    written = Written()
    written.run(written.code().overlap(32, accumulation_loop=False, sum_results=True))
    assert written.config.io_tiles.num_io_tiles == 32
    assert written.config.io_tiles.place_ops_on_io_tiles is True
    written.fit()


@pytest.mark.parametrize("dtype", ["uint8", "float16"])
def test_inputs_are_sent_in_a_shorter_type(dtype: str) -> None:
    written = Written()
    written.run(written.code().input_dtype([0], dtype))
    assert [spec.dtype for spec in written.names["dataset"].element_spec] == [tf.as_dtype(dtype), tf.float32]
    written.fit()
    assert written.model.get_layer("first").compute_dtype == "float32"


def test_names_are_written_as_python_reads_them() -> None:
    line = next(line for line in KerasCode().stages((StageStart('a "b"', 1),)) if line.startswith("starts"))
    names: dict[str, Any] = {}
    exec(line, names)  # noqa: S102 - what is told must run
    assert names["starts"] == ['a "b"']


#: changes that set different things
CHANGES: dict[str, Callable[[KerasCode], tuple[str, ...]]] = {
    "pipeline": lambda code: code.stages(TWO) + code.pipeline(2, True, 4, 3),
    "iterations": lambda code: code.device_iterations(3),
    "half": lambda code: code.half_precision,
    "partials": lambda code: code.half_partials,
    "accumulators": lambda code: code.half_accumulators,
    "state": lambda code: code.location("optimizer_state", Location(on_chip=False)),
    "proportions": lambda code: code.memory_proportions({0: 0.2}),
    "prefetching": lambda code: code.prefetch(5),
    "recomputation": lambda code: code.recomputation("norms"),
    "overlap": lambda code: code.overlap(32, accumulation_loop=True, sum_results=True),
    "results": lambda code: code.last_results,
}


def settings(written: Written) -> dict[str, Any]:
    """All that lines can set."""
    model = written.model
    names = ("_pipelining", "_gradient", "_infeed", "_asynchronous")
    options = {key: value for key, value in vars(model).items() if key.startswith(names)}
    variables = {key: written.names[key] for key in ("batch_size", "steps_per_execution")}
    # a pipeline reads its own accumulators
    if model._is_pipelined():
        options.pop("_gradient_accumulation_optimizer_kwargs")
    types = [spec.dtype for spec in written.names["dataset"].element_spec]
    policy = model.get_layer("first").compute_dtype
    return {
        **options,
        **variables,
        "types": types,
        "policy": policy,
        "stages": written.stages(),
        "config": written.config.to_dict(),
    }


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize(("one", "other"), list(itertools.combinations(CHANGES, 2)))
def test_two_changes_have_the_same_effect_in_any_order(one: str, other: str, known: bool) -> None:
    found = []
    for order in ((one, other), (other, one)):
        code = Written().code() if known else KerasCode()
        written = Written().run(sum((CHANGES[name](code) for name in order), ()))
        found.append(settings(written))
        tf.keras.mixed_precision.set_global_policy("float32")
    assert found[0] == found[1]
    written.fit()
