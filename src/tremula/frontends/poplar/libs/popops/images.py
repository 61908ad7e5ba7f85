"""Images of three channels, normalised and widened to four."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.libs import calls, outputs, poputil
from tremula.frontends.poplar.libs.calls import computing, work_type
from tremula.frontends.poplar.libs.errors import PoplibsError
from tremula.frontends.poplar.lines import user_line
from tremula.frontends.poplar.program.library import Arrays, Kernel
from tremula.frontends.poplar.program.programs import Sequence_
from tremula.frontends.poplar.types import FLOAT, HALF, UNSIGNED_CHAR, Type
from tremula.program import work

_CHANNELS, _WIDENED = 3, 4


@computing("popops.normalise_image")
def normalise_image_kernel(attributes: Mapping[str, Any]) -> Kernel:
    """Inputs: pixels, offsets, scales. The fourth channel is zero."""
    scale = attributes["scale"]

    def compute(inputs: Arrays, outputs: Arrays) -> None:
        out = outputs[0]
        pixels = inputs[0].astype(np.float32) * np.float32(scale)
        out[..., :_CHANNELS] = (pixels - inputs[1]) * inputs[2]
        out[..., _CHANNELS:] = 0

    return compute


def image_input(graph: Graph, type: Type, shape: tuple[int, ...], name: str) -> View:
    """A tensor for images, with whole pixels on each tile."""
    if not shape or shape[-1] != _CHANNELS or type not in (UNSIGNED_CHAR, HALF, FLOAT):
        raise PoplibsError(
            f"popops::createNormaliseImageInput: images of shape {list(shape)} and type {type}; three channels of "
            f"unsigned char, half or float are needed ({user_line()})"
        )
    made = graph.add_variable(type, shape, name)
    poputil.map_tensor_linearly(graph, made, 4 * _CHANNELS, 4 * _CHANNELS)
    return made


def normalise_image(
    graph: Graph, view: View, scale: float, offsets: View, scales: View, program: Sequence_, name: str
) -> View:
    """`(pixel scale - offset) scales` for each channel, and a fourth channel."""
    function = "popops::normaliseImage"
    kind = HALF if view.type is UNSIGNED_CHAR else view.type
    if not view.rank or view.shape[-1] != _CHANNELS:
        raise PoplibsError(
            f"{function}: images of shape {list(view.shape)} have no three channels ({user_line()})"
        )
    for each in (offsets, scales):
        if tuple(each.shape) != (_CHANNELS,) or each.type is not kind:
            raise PoplibsError(
                f"{function}: offsets and scales are three elements of type {kind} each, not of shape "
                f"{list(each.shape)} and type {each.type} ({user_line()})"
            )
    out = graph.add_variable(kind, (*view.shape[:-1], _WIDENED), name)
    begin, end, tile = outputs.stretches(view)
    if len(begin) and not (begin % _CHANNELS).any() and (tile >= 0).all():
        outputs.put_whole_tiles(graph, out, begin // 3 * 4, end // 3 * 4, tile)
    else:
        poputil.map_tensor_linearly(graph, out, 4 * _WIDENED, 4 * _WIDENED)
    works = [
        work.Elementwise("mul+sub+mul", out.elements, work_type(kind), 3, _CHANNELS, True),
    ]
    calls.add_call(
        program, "popops.normalise_image", [view, offsets, scales], [out], {"scale": float(scale)}, works,
        name or function,
    )  # fmt: skip
    return out
