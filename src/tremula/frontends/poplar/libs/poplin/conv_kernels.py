"""Convolutions on NumPy arrays: one product of matrices for each place of the kernel.

The same loop gives the output, and with other factors the gradient of the weights, for any number of dimensions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from tremula.frontends.poplar.libs.calls import computing
from tremula.frontends.poplar.libs.checks import Array, single
from tremula.frontends.poplar.libs.poplin.conv_params import ConvParams, InputTransform, OutputTransform
from tremula.frontends.poplar.program.library import Arrays, Kernel
from tremula.frontends.poplar.types import BY_NAME


def params_as_plain(params: ConvParams) -> dict[str, Any]:
    """Parameters as attributes of a library call."""
    plain: dict[str, Any] = {
        name: getattr(params, name) for name in ("batch", "in_channels", "out_channels", "groups")
    }
    plain |= {"field": list(params.field), "kernel": list(params.kernel)}
    plain |= {"types": [params.input_type.name, params.output_type.name]}
    for name in ("input", "weights", "output"):
        plain[name] = {key: list(value) for key, value in vars(getattr(params, name)).items()}
    return plain


def params_of_plain(plain: Mapping[str, Any]) -> ConvParams:
    """Parameters out of attributes."""
    first, second = (BY_NAME[name] for name in plain["types"])
    transforms = [
        {key: tuple(value) for key, value in plain[name].items()} for name in ("input", "weights", "output")
    ]
    return ConvParams(
        first,
        second,
        plain["batch"],
        tuple(plain["field"]),
        tuple(plain["kernel"]),
        plain["in_channels"],
        plain["out_channels"],
        plain["groups"],
        InputTransform(**transforms[0]),
        InputTransform(**transforms[1]),
        OutputTransform(**transforms[2]),
    )


def _inner(places: tuple[Any, ...]) -> tuple[Any, ...]:
    """An index of the last dimensions."""
    return (Ellipsis, *places)


def _leading(array: Array, rank: int) -> tuple[slice, ...]:
    return (slice(None),) * (array.ndim - rank)


def transformed(array: Array, transform: InputTransform) -> Array:
    """Truncate, dilate, pad and flip the last dimensions."""
    if transform.is_plain:
        return array
    rank = len(transform.dilation)
    field = array.shape[array.ndim - rank :]
    made = np.zeros(
        (*array.shape[: array.ndim - rank], *(transform.size(d, field[d]) for d in range(rank))), array.dtype
    )
    inside, kept = _places(transform, field)
    before = _leading(array, rank)
    made[before + inside] = array[before + kept]
    return np.flip(made, _flipped(transform, array.ndim)) if any(transform.flip) else made


def transform_adjoint(gradient: Array, transform: InputTransform, field: tuple[int, ...]) -> Array:
    """The gradient before the transform of what had this field: the transform backwards."""
    if transform.is_plain:
        return gradient
    rank = len(field)
    if any(transform.flip):
        gradient = np.flip(gradient, _flipped(transform, gradient.ndim))
    made = np.zeros((*gradient.shape[: gradient.ndim - rank], *field), gradient.dtype)
    inside, kept = _places(transform, field)
    before = _leading(made, rank)
    made[before + kept] = gradient[before + inside]
    return made


def _flipped(transform: InputTransform, rank: int) -> tuple[int, ...]:
    first = rank - len(transform.flip)
    return tuple(first + d for d, flip in enumerate(transform.flip) if flip)


def _places(transform: InputTransform, field: tuple[int, ...]) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
    """Where the elements lie afterwards, and which they were before."""
    inside, kept = [], []
    for d, size in enumerate(field):
        low, high = transform.truncation_lower[d], transform.truncation_upper[d]
        step, start = transform.dilation[d], transform.padding_lower[d]
        kept.append(slice(low, size - high))
        inside.append(
            slice(start, start + (size - low - high - 1) * step + 1 if size - low - high else start, step)
        )
    return tuple(inside), tuple(kept)


class Windows:
    """The parts of a transformed input that each place of a kernel meets, as matrices of channels by positions."""

    def __init__(self, params: ConvParams, source: Array) -> None:
        self.params = params
        inner = transformed(single(source), params.input)
        self.input = inner.reshape(params.batch, params.groups, params.in_channels, *inner.shape[2:])
        self.sizes = tuple(params.kept_size(d) for d in range(params.rank))

    def __iter__(self) -> Iterator[tuple[tuple[int, ...], Array]]:
        params = self.params
        kernel_size = [params.weights.size(d, params.kernel[d]) for d in range(params.rank)]
        positions = int(np.prod(self.sizes))
        for place in np.ndindex(*kernel_size):
            part = tuple(
                slice(at + low, at + low + (size - 1) * stride + 1 if size else at + low, stride)
                for at, low, size, stride in zip(
                    place, params.output.truncation_lower, self.sizes, params.output.stride, strict=True
                )
            )
            met = self.input[_inner(part)]
            yield place, met.reshape(params.batch, params.groups, params.in_channels, positions)


def _used(params: ConvParams) -> Array:
    """Which places of the transformed kernel are not zeros of its transform."""
    ones = np.ones(params.kernel, dtype=bool)
    return transformed(ones, params.weights)


def convolve(params: ConvParams, source: Array, weights: Array) -> Array:
    """The output of a convolution."""
    windows = Windows(params, source)
    turned = transformed(single(weights), params.weights)
    used = _used(params)
    total = np.zeros(
        (params.batch, params.groups, params.out_channels, int(np.prod(windows.sizes))), np.float32
    )
    for place, met in windows:
        if not used[place]:
            continue
        factors = turned[_inner(place)]
        if params.in_channels == 1:
            total += factors[None] * met
        else:
            total += np.matmul(factors[None], met)
    kept = total.reshape(params.batch, params.groups * params.out_channels, *windows.sizes)
    return _padded(kept, params)


def _padded(kept: Array, params: ConvParams) -> Array:
    around = tuple(zip(params.output.padding_lower, params.output.padding_upper, strict=True))
    return np.pad(kept, ((0, 0), (0, 0), *around)) if any(map(any, around)) else kept


def weight_gradient(params: ConvParams, gradient: Array, source: Array) -> Array:
    """The gradient of the weights."""
    windows = Windows(params, source)
    inside = tuple(
        slice(low, low + size) for low, size in zip(params.output.padding_lower, windows.sizes, strict=True)
    )
    deltas = single(gradient)[_inner(inside)]
    deltas = deltas.reshape(params.batch, params.groups, params.out_channels, -1)
    sizes = tuple(params.weights.size(d, params.kernel[d]) for d in range(params.rank))
    made = np.zeros((params.groups, params.out_channels, params.in_channels, *sizes), np.float32)
    used = _used(params)
    for place, met in windows:
        if used[place]:
            products = np.matmul(deltas, met.swapaxes(-1, -2))
            made[_inner(place)] = products.sum(axis=0)
    return transform_adjoint(made, params.weights, params.kernel)


def turned_weights(weights: Array) -> Array:
    """Weights of the gradient's convolution: channels exchanged, kernel reversed in all dimensions."""
    return np.flip(weights.swapaxes(1, 2), tuple(range(3, weights.ndim)))


# -- kernels of calls ---------------------------------------------------------------------------------------------


def _of(run: Callable[[ConvParams, Arrays], Array]) -> Callable[[Mapping[str, Any]], Kernel]:
    def maker(attributes: Mapping[str, Any]) -> Kernel:
        params = params_of_plain(attributes["params"])

        def compute(inputs: Arrays, outputs: Arrays) -> None:
            outputs[0][...] = run(params, inputs)

        return compute

    return maker


computing("poplin.convolution")(_of(lambda params, given: convolve(params, given[0], given[1])))
computing("poplin.calculateWeightDeltas")(
    _of(lambda params, given: weight_gradient(params, given[0], given[1]))
)


@computing("poplin.convolutionTransposed")
def _transposed(attributes: Mapping[str, Any]) -> Kernel:
    params = params_of_plain(attributes["params"])

    def compute(inputs: Arrays, outputs: Arrays) -> None:
        outputs[0][...] = convolve(params, inputs[0], turned_weights(inputs[1]))

    return compute


@computing("poplin.convolutionWeightUpdate")
def _update(attributes: Mapping[str, Any]) -> Kernel:
    params, fixed = params_of_plain(attributes["params"]), attributes.get("scale")

    def compute(inputs: Arrays, outputs: Arrays) -> None:
        deltas, weights, source, *scales = inputs
        factor = np.float32(fixed) if fixed is not None else single(scales[0]).reshape(-1)[0]
        outputs[0][...] = single(weights) + factor * weight_gradient(params, deltas, source)

    return compute


@computing("poplin.weightsTransposeChansFlipXY")
def _turn(_: Mapping[str, Any]) -> Kernel:
    def compute(inputs: Arrays, outputs: Arrays) -> None:
        outputs[0][...] = turned_weights(inputs[0])

    return compute


@computing("poplin.addBias")
def _add_bias(_: Mapping[str, Any]) -> Kernel:
    def compute(inputs: Arrays, outputs: Arrays) -> None:
        values, biases = inputs
        outputs[0][...] = single(values) + single(biases).reshape(-1, *(1,) * (values.ndim - 2))

    return compute


@computing("poplin.convolutionBiasUpdate")
def _update_bias(attributes: Mapping[str, Any]) -> Kernel:
    fixed = attributes.get("scale")

    def compute(inputs: Arrays, outputs: Arrays) -> None:
        deltas, biases, *scales = inputs
        factor = np.float32(fixed) if fixed is not None else single(scales[0]).reshape(-1)[0]
        sums = single(deltas).sum(axis=(0, *range(2, deltas.ndim)), dtype=np.float32)
        outputs[0][...] = single(biases) + factor * sums.reshape(biases.shape)

    return compute
