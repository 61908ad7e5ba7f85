"""`tremula::print_tensor`: an identity that writes its input, and later its gradient, to standard error. It returns a
copy, so that it is not optimised away while its result is used.
"""

from __future__ import annotations

import sys
from typing import Any

import torch

from tremula.formatting import plain
from tremula.frontends.torch.ops.library import add_op
from tremula.frontends.torch.ops.print_layout import Layout

#: position of each float format in the op's schema, as in the public op of the real stack
FLOAT_FORMATS = ("auto", "fixed", "scientific", "none")

_SCHEMA = (
    "print_tensor(Tensor self, str title, bool print_gradient, int summarise_threshold, int edge_items, "
    "int max_line_width, int digits, int float_format, str separator, str open_bracket, str close_bracket, "
    "str gradient_title='') -> Tensor"
)


def _print(tensor: torch.Tensor, title: str, print_gradient: bool, *layout: Any) -> torch.Tensor:
    threshold, edges, width, digits, float_format, separator, opening, closing, *_ = layout
    style = Layout(threshold, edges, width, digits, FLOAT_FORMATS[float_format], separator, opening, closing)
    prefix = f"{title}: " if title else ""
    # One write call, so that lines of concurrent writers do not mix.
    sys.stderr.write(plain(f"{prefix}{style.render(tensor)}\n"))
    sys.stderr.flush()
    return tensor.clone()


def _fake(tensor: torch.Tensor, title: str, print_gradient: bool, *layout: Any) -> torch.Tensor:
    return torch.empty_like(tensor)


def _setup_context(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
    _, ctx.title, ctx.print_gradient, *ctx.layout = inputs


def _backward(ctx: Any, gradient: torch.Tensor) -> tuple[Any, ...]:
    if ctx.print_gradient:
        *layout, title = ctx.layout
        gradient = print_tensor(gradient, title or f"{ctx.title}_gradient", False, *layout)
    return (gradient, *([None] * (2 + len(ctx.layout))))


print_tensor = add_op(_SCHEMA, _print, _fake, backward=_backward, setup_context=_setup_context)
