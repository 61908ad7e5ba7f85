"""What a builder refuses at once, when the line that is wrong is still at hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tremula.errors import Error
from tremula.frontends.onnx.build.graph import GraphMaker
from tremula.frontends.onnx.build.signatures import Signature
from tremula.frontends.onnx.model import STANDARD


def check(
    maker: GraphMaker, signature: Signature, inputs: Sequence[str], attributes: Mapping[str, Any]
) -> None:
    """Raises Error: the operator cannot have these attributes."""
    rule = _RULES.get((signature.domain, signature.type))
    if rule is not None:
        rule(maker, inputs, attributes)


def check_window(
    maker: GraphMaker,
    tensor: str,
    attributes: Mapping[str, Any],
    kernel: Sequence[int] | None,
) -> None:
    """Refuse lists that do not have one value (two for padding) for each spatial dimension."""
    if not maker.has_type(tensor):
        return
    shape = maker.type_of(tensor).shape
    dims = len(shape) - 2
    if dims < 1:
        raise Error("Input tensor has no spatial dimensions")
    for name in ("strides", "dilations", "inDilations"):
        given = attributes.get(name) or ()
        if given and len(given) != dims:
            raise Error(f"Length of {name} vector {len(given)} != number of spatial dimensions {dims}")
    pads = attributes.get("pads") or ()
    if pads and len(pads) != 2 * dims:
        raise Error(
            f"Padding vector (length {len(pads)}) does not have 2 values for each spatial dimension {dims}"
        )
    if kernel:
        _check_fits(shape[2:], kernel, attributes)


def _check_fits(extents: Sequence[int], kernel: Sequence[int], attributes: Mapping[str, Any]) -> None:
    dims = len(extents)
    pads = attributes.get("pads") or [0] * (2 * dims)
    dilations = attributes.get("dilations") or [1] * dims
    strides = attributes.get("strides") or [1] * dims
    found = []
    for place, extent in enumerate(extents):
        spread = dilations[place] * (kernel[place] - 1) + 1
        found.append((extent + pads[place] + pads[place + dims] - spread) // strides[place] + 1)
    if min(found) < 1:
        raise Error(f"Window parameter values combine to give invalid spatial output shape: {_listed(found)}")


def _listed(shape: Sequence[int]) -> str:
    return f"[{' '.join(map(str, shape))}]"


def _convolution(maker: GraphMaker, inputs: Sequence[str], attributes: Mapping[str, Any]) -> None:
    check_convolution(maker, inputs, attributes)


def check_convolution(maker: GraphMaker, inputs: Sequence[str], attributes: Mapping[str, Any]) -> None:
    """Refuse a convolution whose window does not fit its data."""
    kernel: Sequence[int] | None = None
    if maker.has_type(inputs[1]):
        kernel = maker.type_of(inputs[1]).shape[2:]
        said = attributes.get("kernel_shape")
        if said is not None and list(said) != list(kernel):
            raise Error(
                f"kernel_shape, {_listed(said)}, does not match inferred shape from weight input '{inputs[1]}', "
                f"{_listed(kernel)}"
            )
    check_window(maker, inputs[0], attributes, kernel)


def _pool(maker: GraphMaker, inputs: Sequence[str], attributes: Mapping[str, Any]) -> None:
    check_window(maker, inputs[0], attributes, attributes.get("kernel_shape"))


def _pad(maker: GraphMaker, inputs: Sequence[str], attributes: Mapping[str, Any]) -> None:
    if "pads" not in attributes or not maker.has_type(inputs[0]):
        return
    rank = len(maker.type_of(inputs[0]).shape)
    if len(attributes["pads"]) != 2 * rank:
        raise Error(
            f"Padding vector (length {len(attributes['pads'])}) doesn't contain 2 entries per input dimension {rank}"
        )


def _subsample(_maker: GraphMaker, _inputs: Sequence[str], attributes: Mapping[str, Any]) -> None:
    for place, stride in enumerate(attributes["strides"]):
        if stride == 0:
            raise Error(f"Strides invalid. 0 stride at index {place}")


_RULES: dict[tuple[str, str], Callable[[GraphMaker, Sequence[str], Mapping[str, Any]], None]] = {
    (STANDARD, "Conv"): _convolution,
    (STANDARD, "AveragePool"): _pool,
    (STANDARD, "MaxPool"): _pool,
    (STANDARD, "Pad"): _pad,
    ("ai.graphcore", "Subsample"): _subsample,
}
