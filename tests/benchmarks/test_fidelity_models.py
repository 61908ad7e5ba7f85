"""The networks of the fidelity benchmark: sizes are those of the publications; pipelines are cut from outside."""

from __future__ import annotations

from typing import Any

import pytest
import torch


@pytest.mark.parametrize(
    ("model", "arguments", "millions"),
    [
        ("resnet", {}, 25.557),
        ("resnet", {"depth": 18}, 11.690),
        ("efficientnet", {}, 5.289),
        ("efficientnet", {"variant": "b4"}, 19.342),
        ("vit", {}, 86.568),
        ("swin", {}, 28.288),
        ("gpt", {}, 124.440),
        ("gpt", {"size": "nano", "sequence": 256}, 10.77),
        ("bert", {"task": "encoder"}, 108.892),
        ("bert", {"size": "large", "task": "encoder"}, 334.092),
        ("unet", {}, 31.030),
        ("keras_mnist", {}, 0.034826),
        ("keras_cifar", {}, 1.250858),
        ("clip", {}, 151.2),
        ("resnet", {"cardinality": 32, "path_width": 4}, 25.029),
        ("resnet", {"depth": 101, "cardinality": 32, "path_width": 4}, 44.178),
        ("resnet", {"path_width": 128}, 68.883),
        ("densenet", {}, 7.979),
        ("speech", {}, 94.396),
        ("speech", {"size": "large"}, 315.46),
        # the published 139.42 have 1,026 positions for each of encoder and decoder, these 1,024 for both
        ("seq2seq", {"source": 1024}, 138.63),
    ],
)
def test_models_have_as_many_parameters_as_published(
    benchmark: Any, model: str, arguments: dict[str, Any], millions: float
) -> None:
    with torch.device("meta"):
        module = benchmark("models").build(model, arguments)
    count = sum(parameter.numel() for parameter in module.parameters())
    assert count / 1e6 == pytest.approx(millions, rel=2e-3)


def test_the_image_of_the_loading_tutorial_gives_its_linear_layer(benchmark: Any) -> None:
    with torch.device("meta"):
        module = benchmark("models").build("workshop_cnn", {})
    assert module.body[7].in_features == 41_772


def test_unknown_models_and_arguments_are_refused_with_what_there_is(benchmark: Any) -> None:
    build = benchmark("models").build
    with pytest.raises(ValueError, match="no model 'alexnet'; there are attention_alone, bert"):
        build("alexnet", {})
    with pytest.raises(ValueError, match="model gpt has no argument width; it has size"):
        build("gpt", {"width": 3})


@pytest.mark.parametrize("size", ["t5-small", "bart-base"])
def test_a_decoder_is_cut_from_its_encoder(benchmark: Any, size: str) -> None:
    capturing = benchmark("models.capturing")
    arguments = (("size", size), ("source", 16), ("target", 8))
    stages = ("encoder.0", "decoder.0")
    capture = capturing.captured(
        capturing.Recipe("seq2seq", arguments, batch=2, training=True, optimizer="adamw", stages=stages)
    )
    assert capture.rule.summary().ipus_per_replica == 3
    assert capture.program.update is not None


def test_a_star_stands_for_one_part_of_a_path(benchmark: Any) -> None:
    matching = benchmark("models.capturing").matching
    torch_names = ["layers", "layers.0", "layers.0.norm", "layers.10", "head"]
    assert matching(["layers.*", "head"], torch_names) == ["layers.0", "layers.10", "head"]
    keras_names = ["layers.0", "layers.0/norm", "layers.1", "layers.1/attention/output"]
    assert matching(["layers.*"], keras_names) == ["layers.0", "layers.1"]
    assert matching(["blocks.*"], torch_names) == ["blocks.*"]


def test_only_bottlenecks_have_other_paths(benchmark: Any) -> None:
    with pytest.raises(ValueError, match="only networks with bottlenecks"):
        benchmark("models").build("resnet", {"depth": 18, "cardinality": 32})


def test_stages_open_where_named_and_programs_are_shared(benchmark: Any) -> None:
    capturing = benchmark("models.capturing")
    recipe = capturing.Recipe("mlp", batch=4, training=True, optimizer="adam", stages=("body.2", "body.4@0"))
    capture = capturing.captured(recipe)
    assert capturing.captured(recipe) is capture
    placements = {node.meta["tremula"].annotation.placement.ipu for node in capture.program.nodes()}
    assert placements == {0, 1}
    assert capture.rule.summary().forward_stages == 3
    assert capture.program.update is not None
    with pytest.raises(Exception, match="gradientAccumulation must be greater"):
        capture.with_loops(benchmark("fidelity_models").Loops(gradient_accumulation=2))
    with pytest.raises(ValueError, match="no submodule 'tail'"):
        capturing.captured(capturing.Recipe("mlp", stages=("tail",)))
