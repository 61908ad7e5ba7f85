"""The network: published sizes, refusals, planes in turn or folded, half precision, cuts and checkpoints."""

import copy

import pytest
import torch
from cosmictagger.network import CONFIGURATIONS, PARAMETERS, NetworkConfig, build, configuration
from cosmictagger.network.blocks import PlaneBatchNorm
from cosmictagger.network.placement import keep_checkpoints, split
from torch.nn import functional

SMALL = {"depth": 2, "n_initial_filters": 4, "bottleneck_deepest": 6}


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_the_number_of_parameters_is_the_published_one(name):
    with torch.device("meta"):
        network = build(CONFIGURATIONS[name])
    assert sum(each.numel() for each in network.parameters()) == PARAMETERS[name]


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_there_are_three_logits_for_each_pixel_of_each_plane(name):
    logits = build(configuration(name, **SMALL))(torch.rand(2, 3, 8, 12))
    assert [each.shape for each in logits] == [(2, 3, 8, 12)] * 3


def test_convolutions_start_as_the_original_starts_them():
    network = build(configuration("a21", **SMALL))
    weight = network.final[0].conv.weight
    bound = (6 / (9 * 4 + 9 * 4)) ** 0.5
    assert 0.8 * bound < weight.abs().max() <= bound
    assert not network.final[0].conv.bias.any()


def test_planes_meet_only_at_the_lowest_resolution():
    image = torch.rand(1, 3, 8, 12)
    other = image.clone()
    other[:, 2] += 1
    for apart in (False, True):
        network = build(configuration("a21", **SMALL, block_concat=apart)).eval()
        same = torch.equal(network(image)[0], network(other)[0])
        assert same is apart


@pytest.mark.parametrize("training", [False, True])
def test_folded_planes_give_the_same_numbers_and_statistics(training):
    config = configuration("uresnet", **SMALL)
    in_turn = build(config).train(training)
    folded = build(config, fold_planes=True).train(training)
    folded.load_state_dict(in_turn.state_dict())
    image = torch.randn(2, 3, 8, 12) * torch.tensor([1.0, 3.0, 10.0]).view(1, 3, 1, 1)
    for one, other in zip(in_turn(image), folded(image), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(in_turn.state_dict(), folded.state_dict(), rtol=1e-5, atol=1e-6)
    assert in_turn.initial.norm.num_batches_tracked == (3 if training else 0)


def test_a_norm_of_folded_planes_is_three_calls_one_for_each_plane():
    norm, plain = PlaneBatchNorm(4), torch.nn.BatchNorm2d(4)
    planes = [torch.randn(5, 4, 6, 7) * scale + scale for scale in (1, 2, 3)]
    folded = torch.stack(planes, dim=1).flatten(end_dim=1)
    expected = torch.stack([plain(plane) for plane in planes], dim=1).flatten(end_dim=1)
    torch.testing.assert_close(norm(folded, folded=True), expected, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(dict(norm.named_buffers()), dict(plain.named_buffers()), rtol=1e-5, atol=1e-6)


def test_a_convolution_before_interpolation_is_one_after_it():
    x, conv = torch.randn(1, 6, 4, 5), torch.nn.Conv2d(6, 3, 1)
    doubled = lambda image: functional.interpolate(image, scale_factor=2, mode="bilinear")  # noqa: E731
    torch.testing.assert_close(doubled(conv(x)), conv(doubled(x)))


def test_half_precision_keeps_statistics_that_half_cannot_hold():
    network = build(configuration("a21", **SMALL)).half()
    assert network.initial.conv.weight.dtype == torch.float16
    norm = network.initial.norm
    assert norm.running_var.dtype == torch.float32
    # single pixels of high charge, as in data: the variance is above the largest number of half precision
    image = (torch.rand(1, 3, 16, 16) > 0.8) * 2700.0
    logits = network(image.half())
    assert all(each.dtype == torch.float16 and each.isfinite().all() for each in logits)
    assert norm.running_var.max() > 65504
    single = network.float()
    assert single.initial.norm.running_var.max() > 65504
    assert build(configuration("a21", **SMALL)).double().initial.norm.running_var.dtype == torch.float64


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("normalization", "layer", "refuses layer normalisation as well"),
        ("connections", "product", "concat, sum, none"),
        ("depth", -1, "at least 0"),
        ("blocks_final", True, "whole number"),
        ("n_initial_filters", 0, "at least 1"),
        ("filter_size_deepest", 4, "must be odd"),
        ("colour", 3, "has no colour"),
    ],
)
def test_what_cannot_be_built_is_refused(field, value, said):
    with pytest.raises(ValueError, match=said):
        configuration("a21", **{field: value})


def test_unknown_names_and_wrong_images_are_refused():
    with pytest.raises(ValueError, match="the networks are uresnet, a21"):
        configuration("a22")
    with pytest.raises(ValueError, match="block_concat is for 2D"):
        configuration("uresnet3d", block_concat=True)
    for name in ("a21", "uresnet3d"):
        network = build(configuration(name, **SMALL))
        with pytest.raises(ValueError, match="multiples of 4"):
            network(torch.rand(1, 3, 6, 8))
        with pytest.raises(ValueError, match="3 planes"):
            network(torch.rand(1, 1, 8, 8))


def test_a_configuration_survives_plain_values():
    config = configuration("polaris", depth=3, connections="none")
    assert NetworkConfig(**config.to_plain()) == config
    assert config.to_plain()["connections"] == "none"


def test_cuts_name_modules_and_can_be_made_again():
    network = build(configuration("a21", depth=6, n_initial_filters=1, bottleneck_deepest=1))
    assert split(network, 1) == ["initial"]
    assert split(network, 2) == ["initial", "up.3"]
    assert split(network, 4) == ["initial", "down.2", "up.1", "up.0.blocks"]
    hooked = [name for name, module in network.named_modules() if module._forward_pre_hooks]
    assert sorted(hooked) == ["down.2", "initial", "up.0.blocks", "up.1"]
    split(network, 1)
    assert not any(module._forward_pre_hooks for module in network.modules())
    with pytest.raises(ValueError, match="1, 2, 4 IPUs, not 3"):
        split(network, 3)
    with pytest.raises(ValueError, match="too shallow"):
        split(build(configuration("a21", **SMALL)), 4)


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_checkpoints_change_no_numbers(name):
    network = build(configuration(name, **SMALL)).eval()
    marked = copy.deepcopy(network)
    kept = keep_checkpoints(marked)
    assert keep_checkpoints(marked) == kept
    assert all(len(marked.get_submodule(each)._forward_hooks) == 1 for each in kept)
    image = torch.rand(1, 3, 8, 8)
    assert torch.equal(network(image)[1], marked(image)[1])
