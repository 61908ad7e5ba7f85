"""Published TensorFlow rows of the fidelity benchmark: their networks in Keras are those in torch."""

from __future__ import annotations

import math
from typing import Any

import pytest
import tensorflow as tf
import torch

#: small enough for a test, with every kind of layer that the shipped cases have
SIZES: list[tuple[str, dict[str, Any]]] = [
    ("keras_mnist", {}),
    ("keras_cifar", {}),
    ("resnet", {"eight_bit_input": True}),
    ("efficientnet", {"group_size": 16, "expansion": 4, "norm": "group", "eight_bit_input": True}),
    ("bert", {"layers": 1, "vocabulary": 1000}),
    ("bert", {"layers": 1, "vocabulary": 1000, "task": "squad"}),
    ("unet", {"image": 188, "width": 8}),
]


@pytest.mark.parametrize(("model", "arguments"), SIZES)
def test_a_network_has_the_parameters_of_the_torch_version(
    benchmark: Any, model: str, arguments: dict[str, Any]
) -> None:
    with torch.device("meta"):
        module = benchmark("models").build(model, arguments)
    built = benchmark("models_keras").build(model, 2, arguments).model
    ours = sum(math.prod(weight.shape) for weight in built.trainable_weights)
    assert ours == sum(parameter.numel() for parameter in module.parameters())


def test_shipped_tensorflow_rows_have_a_keras_version(benchmark: Any) -> None:
    cases = [c for c in benchmark("fidelity_cases").shipped_cases() if c.front_end == "tensorflow"]
    keras = benchmark("models_keras")
    assert {case.parameters["model"] for case in cases} == set(keras.MODELS)
    for case in cases:
        names = keras.argument_names(case.parameters["model"])
        assert set(case.parameters.get("arguments", {})) <= set(names), case.id


def test_unknown_models_and_arguments_are_refused_with_what_there_is(benchmark: Any) -> None:
    build = benchmark("models_keras").build
    with pytest.raises(ValueError, match="no Keras version of model 'gpt'; there are bert"):
        build("gpt", 1, {})
    with pytest.raises(ValueError, match="Keras version of model unet has no argument depth; it has image"):
        build("unet", 1, {"depth": 3})
    with pytest.raises(ValueError, match="no optimizer adamw"):
        benchmark("models_keras.optimizers").optimizer("adamw", "float32", "float32")


def test_a_shipped_row_is_predicted_from_both_programs(
    benchmark: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    fidelity = benchmark("fidelity")
    assert fidelity.main(["--only", "tutorial_framework-001"]) == 0
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("tutorial"))
    assert line.split()[-2] == "tensorflow"
    assert float(line.split()[-1]) == pytest.approx(1.0, abs=0.05)


def pipelined(benchmark: Any, **changed: Any) -> Any:
    """A small U-Net over three IPUs, in half precision."""
    parameters = {
        "model": "unet", "arguments": {"image": 188, "width": 8}, "batch": 1, "training": True,
        "optimizer": "adam", "accumulation": 16, "recompute": "all", "stages": ["down.2", "up.1"],
        "accumulator_dtype": "fp16", **changed,
    }  # fmt: skip
    return benchmark("fidelity_cases").Case(
        "small", "model", "mk2", "throughput", 1.0, "items/s", "", "training", precision="fp16.16",
        parameters=parameters, front_end="tensorflow",
    )  # fmt: skip


def test_stages_begin_where_those_of_the_torch_version_do(benchmark: Any) -> None:
    case, evaluator = pipelined(benchmark), benchmark("fidelity_evaluate").Evaluator()
    estimate = benchmark("fidelity_models").model_estimate
    keras, own = (estimate(case, evaluator, front_end) for front_end in ("tensorflow", "torch"))
    assert keras.deployment.ipus_per_replica == own.deployment.ipus_per_replica == 3

    def weights(found: Any) -> list[int]:
        tensors, trained = found.program.tensors, found.program.trained
        return [sum(tensors[n].elements for n in trained if tensors[n].ipu == ipu) for ipu in range(3)]

    assert weights(keras) == weights(own)
    assert {found.program.tensors[found.program.carried[0]].dtype for found in (keras, own)} == {"fp16"}
    assert keras.throughput == pytest.approx(own.throughput, rel=0.05)
    assert tf.keras.mixed_precision.global_policy().name == "float32"


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"stages": ["tail"]}, "the Keras version of model unet has no layer 'tail'"),
        ({"stages": ["up.1", "down.2"]}, "are not in its order"),
        ({"accumulation": 2}, "a pipeline of 3 stages needs 6 micro-batches and gets 2"),
    ],
)
def test_what_cannot_be_cut_is_said(benchmark: Any, changed: dict[str, Any], said: str) -> None:
    found = benchmark("fidelity_evaluate").Evaluator().predict(pipelined(benchmark, **changed))
    assert said in found.error
    assert found.front_end == "tensorflow"


def test_kept_results_are_those_of_the_named_layers(benchmark: Any) -> None:
    capturing = benchmark("models_keras.capturing")
    recipe = benchmark("models.capturing").Recipe(
        "unet", (("image", 188), ("width", 8)), batch=1, training=True, checkpoints=("down.1", "up.2")
    )
    capture = capturing.captured(recipe)
    program = capture.program(benchmark("fidelity_models").Deployment())
    kept = {name.rpartition("model/")[2].partition("/")[0] for name in capture.checkpoints(program)}
    assert kept == {"down.1.2", "up.2.2"}
