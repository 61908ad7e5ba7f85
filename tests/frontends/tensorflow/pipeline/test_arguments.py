"""Arguments of pipelines that make no sense are refused with the reason, before anything is built."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf
from tensorflow.python import ipu
from tensorflow.python.ipu import pipelining_ops

Schedule = pipelining_ops.PipelineSchedule
Options = pipelining_ops.PipelineStageOptions


def stage(x: Any) -> Any:
    return x


def output(x: Any) -> Any:
    raise AssertionError("an optimizer function was called")


def outfeed(mode: Any = None) -> Any:
    return ipu.ipu_outfeed_queue.IPUOutfeedQueue(mode)


LAST = ipu.ipu_outfeed_queue.IPUOutfeedMode.LAST

BAD: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"gradient_accumulation_count": None}, ValueError, "must be specified"),
    ({"gradient_accumulation_count": -1}, ValueError, "must be >= 0"),
    ({"gradient_accumulation_count": 2**31}, ValueError, "< max int32"),
    ({"computational_stages": stage}, TypeError, "computational_stages argument needs to be a list"),
    ({"computational_stages": [stage]}, ValueError, "requires at least two"),
    ({"infeed_queue": [1]}, TypeError, "infeed_queue is not an instance"),
    ({"outfeed_queue": [1]}, TypeError, "outfeed_queue is not an instance"),
    ({"device_mapping": 1}, TypeError, "device_mapping argument needs to be a list"),
    ({"device_mapping": [0]}, ValueError, "Each stage must be mapped to an IPU"),
    ({"device_mapping": [0, 1, 2]}, ValueError, "Each stage must be mapped to an IPU"),
    ({"device_mapping": [0, "1"]}, ValueError, "numbers of IPUs"),
    ({"device_mapping": [0, -2]}, ValueError, "numbers of IPUs"),
    ({"computational_stages": [stage, [stage, stage]]}, ValueError, "device_mapping.1. must be a list"),
    (
        {"computational_stages": [stage, [stage, stage]], "device_mapping": [0, [1]]},
        ValueError,
        "2 functions, and device_mapping.1. has 1",
    ),
    (
        {"computational_stages": [stage, [stage, [stage]]], "device_mapping": [0, [1, 2]]},
        NotImplementedError,
        "only one level",
    ),
    ({"pipeline_schedule": 1}, TypeError, "pipeline_schedule is not a member"),
    ({"recomputation_mode": "Auto"}, TypeError, "recomputation_mode is not a member"),
    (
        {
            "pipeline_schedule": Schedule.Interleaved,
            "device_mapping": [0, 0],
            "optimizer_function": output,
        },
        NotImplementedError,
        "The pipelining schedule 'Interleaved'",
    ),
    (
        {"batch_serialization_iterations": 2, "pipeline_schedule": Schedule.Grouped},
        NotImplementedError,
        "only supported with the `Sequential` schedule",
    ),
    (
        {"batch_serialization_iterations": 2, "device_mapping": [0, 1]},
        NotImplementedError,
        "mapped to a single IPU",
    ),
    (
        {
            "batch_serialization_iterations": 2,
            "optimizer_function": output,
            "reduction_method": "mean",
        },
        ValueError,
        "only supported when reduction_method is",
    ),
    ({"optimizer_function": output, "reduction_method": "max"}, ValueError, "Cannot parse max"),
    ({"continuous_weight_updates": True}, NotImplementedError, "Continuous weight updates"),
    (
        {"forward_propagation_stages_poplar_options": Options()},
        TypeError,
        "forward_propagation_stages_poplar_options must be a list",
    ),
    (
        {"forward_propagation_stages_poplar_options": [Options()]},
        ValueError,
        "forward_propagation_stages_poplar_options must be a list or a tuple",
    ),
    (
        {"optimizer_function": output, "backward_propagation_stages_poplar_options": [Options(), {}]},
        TypeError,
        "Expected all elements of backward",
    ),
    (
        {"optimizer_function": output, "weight_update_poplar_options": {}},
        TypeError,
        "weight_update_poplar_options to be of type PipelineStageOptions",
    ),
    (
        {
            "optimizer_function": output,
            "replicated_optimizer_state_sharding": True,
            "offload_weight_update_variables": False,
        },
        ValueError,
        "optimizer state must be offloaded",
    ),
    ({"outfeed_loss": True}, ValueError, "optimizer_function must be provided when outfeed_loss"),
    ({"outfeed_mask": [True]}, ValueError, "optimizer_function must be provided when outfeed_mask"),
    (
        {"optimizer_function": output, "outfeed_loss": True, "outfeed_mask": [True]},
        ValueError,
        "Only one of",
    ),
    (
        {"optimizer_function": output, "outfeed_loss": True},
        ValueError,
        "An outfeed_queue must be provided when outfeed_loss",
    ),
    ({"accumulate_outfeed": True}, ValueError, "outfeed_queue must be provided when accumulate_outfeed"),
    ({"accumulate_outfeed": True, "outfeed_queue": "last"}, ValueError, "must be in IPUOutfeedMode ALL"),
]


@pytest.mark.parametrize(("arguments", "kind", "words"), BAD)
def test_it_is_refused(arguments: dict[str, Any], kind: type[Exception], words: str) -> None:
    if arguments.get("outfeed_queue") == "last":
        arguments = {**arguments, "outfeed_queue": outfeed(LAST)}
    defaults = {"computational_stages": [stage, stage], "gradient_accumulation_count": 4}
    with tf.Graph().as_default(), pytest.raises(kind, match=words):
        pipelining_ops.pipeline(**{**defaults, **arguments})


def test_a_pipeline_is_not_for_eager_mode() -> None:
    with pytest.raises(RuntimeError, match="part of a program"):
        pipelining_ops.pipeline([stage, stage], 4)


def in_program(*args: Any, **options: Any) -> None:
    """Build a pipeline of these arguments in a graph."""

    def program(x: Any) -> Any:
        return pipelining_ops.pipeline(*args, inputs=[x], **options)

    with tf.Graph().as_default(), tf.device("/device:IPU:0"):
        ipu.ipu_compiler.compile(program, [tf.constant(1.0)])


def test_outputs_need_an_outfeed() -> None:
    with pytest.raises(ValueError, match="The last computational stage has tensor outputs"):
        in_program([stage, stage], 4)


def test_a_mask_needs_an_element_for_each_output() -> None:
    def optimizer(x: Any) -> Any:
        return pipelining_ops.OptimizerFunctionOutput(tf.compat.v1.train.GradientDescentOptimizer(1.0), x)

    with pytest.raises(ValueError, match="has 1 outputs, but the `outfeed_mask` has elements 2"):
        in_program([stage, stage], 4, optimizer_function=optimizer, outfeed_mask=[True, False])


def test_a_stage_must_not_use_a_tensor_of_the_graph_around() -> None:
    def program(x: Any) -> Any:
        return pipelining_ops.pipeline([lambda y: x + y, stage], 4, inputs=[x], outfeed_queue=outfeed())

    with (
        tf.Graph().as_default(),
        tf.device("/device:IPU:0"),
        pytest.raises(ValueError, match="Trying to capture the tensor"),
    ):
        ipu.ipu_compiler.compile(program, [tf.constant(1.0)])


def test_a_stage_must_not_use_a_tensor_of_another_stage() -> None:
    kept = []

    def first(x: Any) -> Any:
        kept.append(x * 2.0)
        return x

    with pytest.raises(ValueError, match="Stage 1 uses it"):
        in_program([first, lambda x: x + kept[0]], 4, outfeed_queue=outfeed())


def test_an_optimizer_function_must_return_its_output() -> None:
    with pytest.raises(TypeError, match="returns an OptimizerFunctionOutput"):
        in_program([stage, stage], 4, optimizer_function=lambda x: x, outfeed_queue=outfeed())


def test_a_device_with_too_few_ipus_is_named() -> None:
    config = ipu.config.IPUConfig()
    config.auto_select_ipus = 2
    config.configure_ipu_system()
    strategy = ipu.ipu_strategy.IPUStrategy()

    @tf.function
    def program() -> None:
        pipelining_ops.pipeline([stage] * 3, 4, inputs=[1.0], outfeed_queue=outfeed())

    with strategy.scope(), pytest.raises(tf.errors.InternalError, match="auto_select_ipus = 4"):
        strategy.run(program)


class TestOptimizerFunctionOutput:
    v1 = staticmethod(lambda: tf.compat.v1.train.GradientDescentOptimizer(1.0))
    keras = staticmethod(lambda: tf.keras.optimizers.SGD(1.0))

    @pytest.mark.parametrize(
        ("optimizer", "arguments", "kind", "words"),
        [
            ("v1", {"variables": [1]}, ValueError, "variables may only be used with OptimizerV2"),
            ("v1", {"tape": tf.GradientTape()}, ValueError, "tape may only be used with OptimizerV2"),
            ("keras", {"tape": [1]}, TypeError, "tape must be a GradientTape"),
            ("keras", {"compute_gradients_args": (1,)}, ValueError, "may not be used with OptimizerV2"),
            ("keras", {"compute_gradients_kwargs": {"a": 1}}, ValueError, "may not be used with OptimizerV2"),
            ("v1", {"compute_gradients_args": [1]}, TypeError, "must be a tuple"),
            ("v1", {"apply_gradients_kwargs": [1]}, TypeError, "must be a dict"),
            ("keras", {"tape": tf.GradientTape(), "variables": [1]}, ValueError, "is nonempty"),
            ("keras", {"captured_gradient_outfeed": 1}, TypeError, "instance of IPUOutfeedQueue"),
        ],
    )
    def test_arguments_that_do_not_fit_are_refused(
        self, optimizer: str, arguments: dict[str, Any], kind: type[Exception], words: str
    ) -> None:
        with pytest.raises(kind, match=words):
            pipelining_ops.OptimizerFunctionOutput(getattr(self, optimizer)(), tf.constant(1.0), **arguments)

    def test_an_optimizer_and_a_tensor_are_needed(self) -> None:
        with pytest.raises(TypeError, match="must be a TensorFlow Optimizer"):
            pipelining_ops.OptimizerFunctionOutput("sgd", tf.constant(1.0))
        with pytest.raises(TypeError, match="must be a TensorFlow Tensor"):
            pipelining_ops.OptimizerFunctionOutput(self.v1(), 1.0)

    def test_a_queue_for_captured_gradients_needs_something_that_captures(self) -> None:
        with pytest.raises(ValueError, match="nothing captures gradients"):
            pipelining_ops.OptimizerFunctionOutput(
                self.v1(), tf.constant(1.0), captured_gradient_outfeed=outfeed()
            )


class TestStageOptions:
    def test_options_are_texts_in_dictionaries(self) -> None:
        with pytest.raises(TypeError, match="matmul_options must be dictionary"):
            Options(matmul_options=[1])
        with pytest.raises(TypeError, match="takes texts"):
            Options(convolution_options={"availableMemoryProportion": 0.2})

    def test_options_are_kept_by_kind(self) -> None:
        options = Options({"a": "1"}, slice_options={"b": "2"})
        assert options.options == {"convolution_options": {"a": "1"}, "slice_options": {"b": "2"}}
        assert options.get_proto()["slice_options"] == [{"option": "b", "value": "2"}]
