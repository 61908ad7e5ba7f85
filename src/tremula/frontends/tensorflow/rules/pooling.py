"""Pooling, resizing and windows."""

from __future__ import annotations

from tremula.frontends.tensorflow.rules.call import Call, Operand
from tremula.frontends.tensorflow.rules.convolutions import channels_first, spatial
from tremula.lowering.interpolation import interpolation, interpolation_gradient
from tremula.lowering.movement import overlapping_sum
from tremula.program.lowered import Lowered
from tremula.program.work import Copy, Pool

#: points that each point of a resized image is made from
_NEIGHBOURS = {"Nearest": 1, "Bilinear": 4, "Bicubic": 16, "Area": 4}


def pool(call: Call) -> Lowered:
    """MaxPool, AvgPool and their forms for volumes."""
    return _pool(call, call.given(0), gradient=False)


def pool_gradient(call: Call) -> Lowered:
    """MaxPoolGrad (input, output, gradient) and AvgPoolGrad (sizes, gradient): as large as the result."""
    return _pool(call, call.output, gradient=True)


def _pool(call: Call, source: Operand, gradient: bool) -> Lowered:
    first = channels_first(call)
    kernel = call.attribute("ksize") or call.known_ints(-2) or ()
    stride = call.attribute("strides") or call.known_ints(-1) or kernel
    rank = len(source.shape)
    if len(kernel) != rank or len(stride) != rank:
        return call.unknown()
    return call.lowered((
        Pool(
            kind="average" if call.type.startswith("Avg") else "max",
            batch=source.shape[0],
            channels=source.shape[1] if first else source.shape[-1],
            field=spatial(source.shape, first),
            kernel=spatial([int(n) for n in kernel], first),
            stride=spatial([int(n) for n in stride], first),
            dtype=source.dtype,
            gradient=gradient,
        ),
    ))  # fmt: skip


def fractional_pool(call: Call) -> Lowered:
    """FractionalMaxPool and FractionalAvgPool: windows of the two sizes next to the ratio, taken as the larger."""
    gradient = call.type.endswith("Grad")
    source = call.output if gradient else call.given(0)
    pooled = call.given(2 if "Max" in call.type else 1) if gradient else call.output
    if len(source.shape) != 4 or len(pooled.shape) != 4:
        return call.unknown()
    kernel = tuple(-(-n // max(1, m)) for n, m in zip(source.shape[1:3], pooled.shape[1:3], strict=True))
    stride = tuple(max(1, n // max(1, m)) for n, m in zip(source.shape[1:3], pooled.shape[1:3], strict=True))
    kind = "max" if "Max" in call.type else "average"
    field = source.shape[1:3]
    work = Pool(kind, source.shape[0], source.shape[3], field, kernel, stride, source.dtype, gradient)
    return call.lowered((work,))


def resize(call: Call) -> Lowered:
    """ResizeNearestNeighbor, ResizeBilinear, ResizeBicubic and CropAndResize."""
    neighbours = _neighbours(call)
    return call.lowered(interpolation(call.output, neighbours), "copy" if neighbours == 1 else "compute")


def resize_gradient(call: Call) -> Lowered:
    """Gradients of the above: each point goes back to where it came from."""
    return call.lowered(interpolation_gradient(call.given(0), call.output, _neighbours(call)))


def _neighbours(call: Call) -> int:
    if call.type.startswith("CropAndResize"):
        return 1 if str(call.attribute("method", "bilinear")) == "nearest" else 4
    if call.type.startswith("ScaleAndTranslate"):
        return 4
    return next((n for name, n in _NEIGHBOURS.items() if name in call.type), 4)


def windows(call: Call) -> Lowered:
    """ExtractImagePatches and ExtractVolumePatches: every window laid out."""
    result = call.output
    channels = max(1, call.given(0).extent(-1))
    return call.lowered((Copy(result.elements, result.dtype, contiguous=channels),), "copy")


def dilation(call: Call) -> Lowered:
    """Dilation2D: maxima over windows of sums with a filter."""
    source, weight = call.given(0), call.given(1)
    field, kernel = source.shape[1:-1], weight.shape[:2]
    stride = tuple(int(n) for n in call.attribute("strides", (1,) * 4))[1:-1]
    gradient = "Backprop" in call.type
    work = Pool("max", source.shape[0], source.shape[-1], field, kernel, stride, source.dtype, gradient)
    return call.lowered((work,))


def folded(call: Call) -> Lowered:
    """Windows summed back into an image."""
    return call.lowered(overlapping_sum(call.given(0), call.output))
