"""Sliding windows of convolutions and pools: pads, strides, dilations, and how many windows there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tremula.errors import Error
from tremula.frontends.onnx.call import Call


@dataclass(frozen=True)
class Windows:
    """Windows over the spatial dimensions of a tensor; all lists are by dimension."""

    kernel: list[int]
    strides: list[int]
    dilations: list[int]
    before: list[int]
    behind: list[int]
    #: number of windows
    count: list[int]

    @property
    def same_pads(self) -> bool:
        return self.before == self.behind


def windows_of(call: Call, extents: Sequence[int], kernel: Sequence[int], *, ceil: bool = False) -> Windows:
    """The windows that the attributes of a call give over `extents`.

    Raises:
        Error: attributes of the wrong length, or windows larger than what they slide over.
    """
    dims = len(extents)
    strides = _list(call, "strides", dims, 1)
    dilations = _list(call, "dilations", dims, 1)
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    automatic = call.text("auto_pad", "NOTSET") or "NOTSET"
    if automatic in ("SAME_UPPER", "SAME_LOWER"):
        before, behind = [], []
        for extent, stride, size in zip(extents, strides, reach, strict=True):
            wanted = -(-extent // stride)
            total = max((wanted - 1) * stride + size - extent, 0)
            less = total // 2
            before.append(less if automatic == "SAME_UPPER" else total - less)
            behind.append(total - before[-1])
    else:
        pads = _list(call, "pads", 2 * dims, 0) if automatic == "NOTSET" else [0] * (2 * dims)
        before, behind = pads[:dims], pads[dims:]
    count = []
    for dim in range(dims):
        room = extents[dim] + before[dim] + behind[dim] - reach[dim]
        if room < 0:
            raise Error(
                f"a window reaches over {reach[dim]} elements, but dimension {dim} has {extents[dim]} with "
                f"{before[dim] + behind[dim]} of padding."
            )
        number = (-(-room // strides[dim]) if ceil else room // strides[dim]) + 1
        if ceil and (number - 1) * strides[dim] >= extents[dim] + before[dim]:
            number -= 1  # it would begin in the padding behind
        count.append(number)
    return Windows(list(kernel), strides, dilations, before, behind, count)


def _list(call: Call, name: str, length: int, default: int) -> list[int]:
    found = call.integers(name, ())
    if not found:
        return [default] * length
    if len(found) != length:
        what = "Padding vector" if name == "pads" else f"{name.capitalize()} vector"
        raise Error(
            f"{what} (length {len(found)}) does not have {length} numbers, as its input's dimensions need."
        )
    if name != "pads" and any(value < 1 for value in found):
        at = next(place for place, value in enumerate(found) if value < 1)
        raise Error(f"{name.capitalize()} invalid. {found[at]} {name.removesuffix('s')} at index {at}")
    return found
