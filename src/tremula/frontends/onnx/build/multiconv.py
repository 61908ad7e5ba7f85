"""Convolutions side by side: their lists of lists as the flat lists that a node can have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tremula.errors import Error
from tremula.frontends.onnx.build.checks import check_convolution
from tremula.frontends.onnx.build.graph import GraphMaker
from tremula.program.op import SourceLine


def add_multiconv(
    maker: GraphMaker,
    opset: int,
    tensors: Sequence[Sequence[str]],
    per_convolution: Mapping[str, Sequence[Sequence[int]]],
    flat: Mapping[str, tuple[str, Sequence[Any]]],
    others: Mapping[str, Any],
    name: str,
    source: SourceLine | None,
) -> list[str]:
    """Add a node of several convolutions.

    Args:
        tensors: data, weights and maybe a bias of each.
        per_convolution: lists of each, by attribute.
        flat: one value of each, by argument: the attribute's name and the values.
        others: of all together; None leaves one out.
    """
    count = len(tensors)
    if not count:
        raise Error(f"MultiConvOp '{name}' has no input tensors. Provide at least one set of inputs")
    for each in tensors:
        if len(each) < 2:
            raise Error(
                f"Each convolution of MultiConvOp '{name}' must have at least two inputs - data and weights"
            )
        if len(each) > 3:
            raise Error(
                f"Each convolution of MultiConvOp '{name}' can have at most three inputs - data, weights, and bias"
            )
    sizes = {key: len(values) for key, values in per_convolution.items()}
    sizes |= {key: len(values) for key, (_, values) in flat.items()}
    for key, size in sizes.items():
        if size not in (0, count):
            raise Error(
                f"For MultiConvOp '{name}', number of {key} parameter sets ({size}) does not match the number of "
                f"input sets ({count})"
            )
    for place, each in enumerate(tensors):
        own = {key: values[place] for key, values in per_convolution.items() if len(values)}
        check_convolution(maker, each, own)
    attributes: dict[str, Any] = {"numConvs": count}
    for key, lists in per_convolution.items():
        joined = [int(value) for values in lists for value in values]
        if joined:
            attributes[key] = joined
    attributes |= {key: list(values) for key, values in flat.values() if len(values)}
    attributes |= {key: value for key, value in others.items() if value is not None}
    inputs = [each for given in tensors for each in (*given, "")[:3]]
    return maker.add_node(
        "ai.graphcore", opset, "MultiConv", inputs, count, attributes, name=name, source=source
    )
