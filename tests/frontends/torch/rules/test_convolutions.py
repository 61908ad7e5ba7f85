"""Convolutions and their gradients: the extents of the work compute what autograd computes."""

import math

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

import poptorch
from tremula.program.work import Convolution, Elementwise, Reduction


class Net(torch.nn.Module):
    def __init__(self, convolution):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(()))
        self.convolution = convolution

    def forward(self, x):
        return poptorch.identity_loss(self.convolution(x * self.scale).sum(), reduction="none")


def applied(work: Convolution, field: torch.Tensor, kernel: torch.Tensor) -> torch.Tensor:
    """The convolution that `work` describes, in the plainest way."""
    dims = len(work.field)
    assert field.shape == (work.batch, work.groups * work.in_channels, *work.field)
    assert kernel.shape == (work.groups * work.out_channels, work.in_channels, *work.kernel)
    spread = field.new_zeros(
        *field.shape[:2], *[(n - 1) * u + 1 for n, u in zip(work.field, work.input_dilation, strict=True)]
    )
    spread[(..., *[slice(None, None, u) for u in work.input_dilation])] = field
    padded = functional.pad(spread, [side for pair in reversed(work.padding) for side in pair])
    run = (functional.conv1d, functional.conv2d, functional.conv3d)[dims - 1]
    return run(padded, kernel, stride=work.stride, dilation=work.dilation, groups=work.groups)


def per_group(tensor: torch.Tensor, groups: int) -> torch.Tensor:
    """(batch, groups * channels, ...) as (channels, groups * batch, ...)."""
    batch, channels = tensor.shape[0], tensor.shape[1] // groups
    split = tensor.reshape(batch, groups, channels, *tensor.shape[2:])
    return split.permute(2, 1, 0, *range(3, split.dim())).reshape(channels, groups * batch, *tensor.shape[2:])


def turned(weight: torch.Tensor, groups: int) -> torch.Tensor:
    """(groups * out, in, ...) as (groups * in, out, ...), the kernel turned over."""
    out, into = weight.shape[0] // groups, weight.shape[1]
    swapped = weight.reshape(groups, out, into, *weight.shape[2:]).transpose(1, 2)
    return swapped.reshape(groups * into, out, *weight.shape[2:]).flip(tuple(range(2, weight.dim())))


@st.composite
def layers(draw):
    dims = draw(st.integers(1, 3))
    groups = draw(st.sampled_from([1, 1, 2, 4]))
    into, out = groups * draw(st.integers(1, 2)), groups * draw(st.integers(1, 2))
    kernel = draw(st.integers(1, 3))
    transposed = draw(st.booleans())
    stride = draw(st.integers(1, 3))
    dilation = 1 if transposed else draw(st.integers(1, 2))  # PopTorch refuses the other
    padding = draw(st.integers(0, dilation * (kernel - 1)))
    kinds = (
        (torch.nn.ConvTranspose1d, torch.nn.ConvTranspose2d, torch.nn.ConvTranspose3d)
        if transposed
        else (torch.nn.Conv1d, torch.nn.Conv2d, torch.nn.Conv3d)
    )
    options = {"stride": stride, "dilation": dilation, "padding": padding, "groups": groups}
    if transposed:
        options["output_padding"] = draw(st.integers(0, stride - 1))
    smallest = padding + 1 if transposed else dilation * (kernel - 1) + 1
    field = [draw(st.integers(smallest, smallest + 4)) for _ in range(dims)]
    torch.manual_seed(draw(st.integers(0, 9)))
    layer = kinds[dims - 1](into, out, kernel, bias=draw(st.booleans()), **options)
    return layer, torch.randn(draw(st.integers(1, 2)), into, *field), transposed


@given(layers())
@settings(max_examples=25)
def test_each_work_is_the_convolution_that_torch_computes(lowered_step, drawn):
    layer, x, transposed = drawn
    works = [w for op in lowered_step(Net(layer), x) for w in op.works if isinstance(w, Convolution)]
    assert [w.role for w in works] == ["forward", "input_gradient", "weight_gradient"]
    forward, of_input, of_weight = works
    groups, weight = layer.groups, layer.weight.detach()
    x = x.requires_grad_()
    y = layer(x)
    gradient = torch.randn_like(y)
    expected_input, expected_weight = torch.autograd.grad(y, [x, layer.weight], gradient)
    x = x.detach()
    with torch.no_grad():
        plain = layer(x)
        if layer.bias is not None:
            plain = plain - layer.bias.reshape(-1, *[1] * (x.dim() - 2))
        if transposed:
            results = [
                applied(forward, x, turned(weight, groups)),
                applied(of_input, gradient, weight),
                applied(of_weight, per_group(gradient, groups), x.transpose(0, 1)).transpose(0, 1),
            ]
        else:
            results = [
                applied(forward, x, weight),
                applied(of_input, gradient, turned(weight, groups)),
                applied(of_weight, per_group(x, groups), gradient.transpose(0, 1)).transpose(0, 1),
            ]
    for found, expected in zip(results, [plain, expected_input, expected_weight], strict=True):
        torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)


def multiply_adds(work: Convolution) -> int:
    products = work.batch * work.in_channels * work.out_channels * work.groups
    return products * math.prod(work.kernel) * math.prod(work.output_field)


def test_the_weight_gradient_multiplies_as_often_as_the_forward_pass(lowered_step):
    layer = torch.nn.Conv2d(8, 16, 3, stride=2, padding=1, groups=4)
    works = [
        w
        for op in lowered_step(Net(layer), torch.randn(4, 8, 15, 17))
        for w in op.works
        if isinstance(w, Convolution)
    ]
    forward, of_input, of_weight = works
    assert multiply_adds(forward) == multiply_adds(of_weight) == 4 * 16 * 2 * 9 * 8 * 9
    # spread by the stride, most of what it multiplies are zeros
    assert multiply_adds(of_input) == 4 * 16 * 2 * 9 * 15 * 17


def test_a_bias_is_added_in_place_and_its_gradient_is_a_sum_over_all_but_channels(lowered_step):
    ops = lowered_step(Net(torch.nn.Conv2d(2, 6, 3)), torch.randn(3, 2, 7, 7))
    forward = next(op for op in ops if op.op.target == "aten::convolution")
    assert forward.works[1] == Elementwise(
        "add", 3 * 6 * 25, "fp32", 2, broadcast_elements=6, broadcast_inner=True, in_place=True
    )
    backward = next(op for op in ops if op.op.target == "aten::convolution_backward")
    assert backward.works[2] == Reduction(outer=1, reduced=75, inner=6)


def test_the_first_layer_has_no_gradient_of_its_input(lowered_step):
    class First(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Conv2d(2, 6, 3)

        def forward(self, x):
            return poptorch.identity_loss(self.layer(x).sum(), reduction="none")

    works = [w for op in lowered_step(First(), torch.randn(1, 2, 7, 7)) for w in op.works]
    roles = [w.role for w in works if isinstance(w, Convolution)]
    assert roles == ["forward", "weight_gradient"]


def test_groups_of_convolutions_bring_their_own_settings(lowered_step):
    class Grouped(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.two = torch.nn.Conv2d(2, 2, 1), torch.nn.Conv2d(2, 2, 1)

        def forward(self, x):
            with poptorch.MultiConv().availableMemoryProportions((0.2, 0.3)).partialsTypes(torch.half):
                a, b = self.one(x), self.two(x)
            return a + b

    ops = lowered_step(Grouped().half(), torch.randn(1, 2, 4, 4).half(), training=False)
    works = [w for op in ops for w in op.works if isinstance(w, Convolution)]
    assert [(w.proportion, w.partials, w.dtype) for w in works] == [
        (0.2, "fp16", "fp16"),
        (0.3, "fp16", "fp16"),
    ]
