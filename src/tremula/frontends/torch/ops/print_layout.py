"""Text layout of printed tensors. Known device prints of small matrices are reproduced; summaries, deeper nesting and
when "auto" turns scientific follow the documented options and are our reading of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch

_ELLIPSIS = "..."
#: magnitudes below this are shown in scientific notation by the automatic format
_SMALLEST_FIXED = 1e-4


@dataclass(frozen=True)
class Layout:
    """How a tensor is printed; the fields are the arguments of `poptorch.ipu_print_tensor`."""

    summarise_threshold: int = 1000
    edge_items: int = 3
    max_line_width: int = 80
    digits: int = 4
    float_format: str = "auto"
    separator: str = ", "
    open_bracket: str = "("
    close_bracket: str = ")"

    def render(self, tensor: torch.Tensor) -> str:
        """The text of `tensor`."""
        summarise = 0 < self.summarise_threshold < tensor.numel()
        shown = _edges(tensor, self.edge_items) if summarise else tensor.detach()
        write = self._element_writer(shown)
        return self._nest(shown, tensor, summarise, write, depth=0)

    def _nest(
        self,
        shown: torch.Tensor,
        full: torch.Tensor,
        summarise: bool,
        write: Callable[[float], str],
        depth: int,
    ) -> str:
        if shown.dim() == 0:
            return write(shown.item())
        cut = self.edge_items if summarise and full.shape[0] > 2 * self.edge_items else None
        if shown.dim() == 1:
            items = [write(value) for value in shown.tolist()]
            if cut is not None:
                items.insert(cut, _ELLIPSIS)
            return self._row(items, depth)
        indent = " " * (depth + 1)
        lines = [indent + self._nest(part, full[0], summarise, write, depth + 1) for part in shown]
        if cut is not None:
            lines.insert(cut, indent + _ELLIPSIS)
        body = "".join(line + "\n" for line in lines)
        return f"{self.open_bracket}\n{body}{' ' * depth}{self.close_bracket}"

    def _row(self, items: list[str], depth: int) -> str:
        """One innermost row, broken over lines where it gets too wide."""
        continuation = "\n" + " " * (depth + 2)
        text = self.open_bracket
        column = depth + len(self.open_bracket)
        for position, item in enumerate(items):
            tail = self.close_bracket if position == len(items) - 1 else self.separator
            width = len(item) + len(tail.rstrip())
            if position and 0 < self.max_line_width < column + width:
                text = text.rstrip(" ") + continuation
                column = depth + 2
            text += item + tail
            column += len(item) + len(tail)
        return text if items else text + self.close_bracket

    def _element_writer(self, shown: torch.Tensor) -> Callable[[float], str]:
        if shown.dtype == torch.bool:
            return lambda value: str(int(value))
        if not shown.dtype.is_floating_point:
            if self.digits == 0:
                return lambda value: str(int(value))
            width = max((len(str(value)) for value in shown.flatten().tolist()), default=0)
            return lambda value: str(int(value)).rjust(width)
        if self.digits == 0 or self.float_format == "none":
            precision = self.digits or 6
            return lambda value: f"{value:.{precision}g}"
        pattern = self._float_pattern(shown)
        width = max((len(format(value, pattern)) for value in shown.flatten().tolist()), default=0)
        return lambda value: format(value, pattern).rjust(width)

    def _float_pattern(self, shown: torch.Tensor) -> str:
        magnitudes = shown.detach().double().abs().flatten()
        magnitudes = magnitudes[magnitudes.isfinite() & (magnitudes > 0)]
        largest = magnitudes.max().item() if magnitudes.numel() else 0.0
        smallest = magnitudes.min().item() if magnitudes.numel() else 1.0
        whole_digits = max(1, math.floor(math.log10(largest)) + 1) if largest > 0 else 1
        scientific = self.float_format == "scientific" or (
            self.float_format == "auto" and (whole_digits > self.digits or smallest < _SMALLEST_FIXED)
        )
        if scientific:
            return f".{self.digits - 1}e"
        return f".{max(0, self.digits - whole_digits)}f"


def _edges(tensor: torch.Tensor, edge_items: int) -> torch.Tensor:
    """The tensor without the middle of its long dimensions."""
    shown = tensor.detach()
    for dim, extent in enumerate(tensor.shape):
        if extent > 2 * edge_items:
            head = shown.narrow(dim, 0, edge_items)
            tail = shown.narrow(dim, extent - edge_items, edge_items)
            shown = torch.cat((head, tail), dim)
    return shown
