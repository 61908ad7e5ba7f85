"""`torch.ops.poptorch.*`, defined on import. Annotations do nothing outside a capture; halves of constructs that are a
pair of trace marks (loops, branches, host sections) are refused in a capture in favour of the functions.
"""

from __future__ import annotations

import contextlib
import json
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from tremula import log
from tremula.errors import Error
from tremula.frontends.torch.capture.context import Capture, annotated, current
from tremula.frontends.torch.errors import compile_error
from tremula.frontends.torch.ops import ctc, custom, dynamic_slice, multiconv, points
from tremula.frontends.torch.ops.print_tensor import print_tensor

_library = torch.library.Library("poptorch", "DEF")  # type: ignore[no-untyped-call]

_CAST_TYPES = {
    "FLOAT": torch.float32,
    "FLOAT32": torch.float32,
    "FLOAT16": torch.float16,
    "INT32": torch.int32,
    "INT16": torch.int16,
    "INT8": torch.int8,
    "UINT8": torch.uint8,
    "BOOL": torch.bool,
}
_REDUCTIONS: tuple[Callable[[torch.Tensor], torch.Tensor], ...] = (torch.sum, torch.mean, torch.clone)


@dataclass
class _OpenMarks:
    """What one op has opened and another is to close."""

    attributes: dict[tuple[str, str], contextlib.ExitStack] = field(default_factory=dict)
    group: contextlib.ExitStack | None = None


#: by capture, so that marks of one that failed half-way are gone with it
_marks: weakref.WeakKeyDictionary[Capture, _OpenMarks] = weakref.WeakKeyDictionary()


def identity_loss(tensor: torch.Tensor, reduction: int) -> torch.Tensor:
    """`tensor` reduced (0 sum, 1 mean, 2 not at all) and marked as a loss of the capture under way."""
    if not 0 <= reduction < len(_REDUCTIONS):
        raise Error(f"identity_loss: reduction {reduction} is none of 0 (sum), 1 (mean), 2 (none).")
    result = _REDUCTIONS[reduction](tensor)
    capture = current()
    if capture is not None:
        capture.losses.append(result)
    return result


def internal_cast(tensor: torch.Tensor, dtype: str) -> torch.Tensor:
    """`tensor` in the named type; in a capture a real cast, outside one only floats change."""
    if dtype not in _CAST_TYPES:
        raise Error(f"internal_cast: unknown type {dtype}; the types are {', '.join(sorted(_CAST_TYPES))}.")
    if current() is not None:
        return tensor.to(_CAST_TYPES[dtype])
    return tensor.to(torch.float32) if dtype.startswith("FLOAT") else tensor


def _during_capture(act: Callable[..., None]) -> Callable[..., None]:
    """An op that does `act(capture, ...)` while a capture is under way, and nothing outside."""

    def apply(*arguments: Any) -> None:
        capture = current()
        if capture is not None:
            act(capture, *arguments)

    return apply


def _set_attribute(capture: Capture, attribute: str, key: str, value: str) -> None:
    """Ops recorded from now on carry `key: value` in `attribute`."""
    marks = _marks.setdefault(capture, _OpenMarks())
    if (attribute, key) in marks.attributes:
        marks.attributes.pop((attribute, key)).close()
    scope = contextlib.ExitStack()
    scope.enter_context(capture.attributes(**{f"{attribute}.{key}": value}))
    marks.attributes[attribute, key] = scope


def _clear_attribute(capture: Capture, attribute: str, key: str) -> None:
    scope = _marks.setdefault(capture, _OpenMarks()).attributes.pop((attribute, key), None)
    if scope is None:
        raise compile_error(f"clear_attribute: key '{key}' of attribute '{attribute}' is not set.")
    scope.close()


def _begin_multi_conv(capture: Capture) -> None:
    marks = _marks.setdefault(capture, _OpenMarks())
    if marks.group is not None:
        raise multiconv.nested()
    marks.group = contextlib.ExitStack()
    marks.group.enter_context(capture.attributes(multi_conv={"group": multiconv.next_number()}))


def _end_multi_conv(capture: Capture, *settings: Any) -> None:
    if any(setting is not None for setting in settings):
        log.no_effect(
            "torch.ops.poptorch.end_multi_conv with settings",
            "they come after the convolutions have been recorded; poptorch.MultiConv gives them before",
        )
    marks = _marks.setdefault(capture, _OpenMarks())
    if marks.group is None:
        raise multiconv.unexpected_end()
    marks.group.close()
    marks.group = None


def _print(tensor: torch.Tensor, title: str, print_gradient: int, *layout: Any) -> torch.Tensor:
    if current() is None:
        return tensor.view_as(tensor)
    printed: torch.Tensor = print_tensor(tensor, title, bool(print_gradient), *layout)
    return printed


def _identity(kind: str, *names: str) -> Callable[..., torch.Tensor]:
    def apply(tensor: torch.Tensor, *values: Any) -> torch.Tensor:
        if current() is None:
            return tensor.view_as(tensor)
        return annotated(tensor, kind=kind, **dict(zip(names, values, strict=True)))

    return apply


def _custom_operation(
    inputs: list[torch.Tensor],
    name: str,
    domain: str,
    version: int,
    count: int,
    outputs: list[torch.Tensor],
    attributes: str,
) -> list[torch.Tensor]:
    if current() is None:
        return [torch.zeros_like(output) for output in outputs]
    encoded = custom.encode_attributes(json.loads(attributes) if attributes else None)
    return custom.call(inputs, domain, name, encoded)


def _unpaired(use: str) -> Callable[..., Any]:
    def apply(*arguments: Any) -> Any:
        if current() is not None:
            raise Error(f"this op is half of a pair of trace marks, which do not exist here: call {use}.")
        first = arguments[0] if arguments else None
        return [tensor.view_as(tensor) for tensor in first] if isinstance(first, list) else None

    return apply


def _nothing(*_arguments: Any) -> None:
    """Says something about the device that has no meaning on a host."""


_OPS: dict[str, Callable[..., Any]] = {
    "begin_ipu_block(int stage_id, int phase_id, int ipu_id) -> ()": _during_capture(
        lambda capture, *place: capture.rule.begin_at(*place)
    ),
    "end_ipu_block() -> ()": _during_capture(lambda capture: capture.rule.end()),
    "start_for_loop(Tensor[] inputs) -> ()": _unpaired("poptorch.for_loop"),
    "end_for_loop(Tensor[] outputs, Tensor[] inputs, int trip_count) -> Tensor[]": _unpaired(
        "poptorch.for_loop"
    ),
    "start_if_block(Tensor condition) -> ()": _unpaired("poptorch.cond"),
    "start_else_block(Tensor[] outputs_true) -> ()": _unpaired("poptorch.cond"),
    "end_if_block(Tensor[] outputs, Tensor condition) -> Tensor[]": _unpaired("poptorch.cond"),
    "call_cpu_op(Tensor[] inputs, str name) -> ()": _unpaired("poptorch.CPU"),
    "end_cpu_op(Tensor[] output) -> Tensor[]": _unpaired("poptorch.CPU"),
    "optimizer_group(int group, Tensor[] inputs) -> ()": _nothing,
    "begin_multi_conv() -> ()": _during_capture(_begin_multi_conv),
    "end_multi_conv(float[]? available_memory_proportions, int[]? partials_types, int? plan_type, "
    "int? per_conv_reserved_tiles, float? cycle_back_off, int[]? enableConvDithering) -> ()": _during_capture(
        _end_multi_conv
    ),
    "push_name_scope(str name) -> ()": _during_capture(Capture.push_scope),
    "pop_name_scope() -> ()": _during_capture(Capture.pop_scope),
    "set_attribute(str attribute, str key, str value) -> ()": _during_capture(_set_attribute),
    "clear_attribute(str attribute, str key) -> ()": _during_capture(_clear_attribute),
    "ipu_print_tensor(Tensor self, str title, int print_gradient, int summarize_threshold, int edge_items, "
    "int max_line_width, int digits, int float_format, str separator, str open_bracket, str close_bracket) "
    "-> Tensor": _print,
    "nop(Tensor self) -> Tensor": _identity("nop"),
    "set_matmul_serialization(Tensor matmul, str mode, int factor, bool keep_precision) -> Tensor": _identity(
        "matmul_serialization", "mode", "factor", "keep_precision"
    ),
    "set_overlap_for_input(Tensor t, str mode) -> Tensor": _identity("overlap_input", "mode"),
    "set_overlap_for_output(Tensor t, str mode) -> Tensor": _identity("overlap_output", "mode"),
    "recomputation_checkpoint(Tensor self) -> Tensor": _identity("recomputation_checkpoint"),
    "set_available_memory(Tensor t, float mem) -> Tensor": _identity("available_memory", "proportion"),
    "custom_operation(Tensor[] inputs, str name, str domain, int domain_version, int num_outputs, "
    "Tensor[] outputs, str attributes) -> Tensor[]": _custom_operation,
    "ctc_beam_search_decoder(Tensor probs, Tensor lengths, int blank, int beam_width, int top_paths) "
    "-> (Tensor, Tensor, Tensor)": ctc.beam_search,
    "dynamic_slice(Tensor self, int dim, Tensor start, int size, int step) -> Tensor": (
        dynamic_slice.dynamic_slice
    ),
    "dynamic_update(Tensor self, Tensor src, int dim, Tensor start, int size) -> Tensor": (
        dynamic_slice.dynamic_update
    ),
    "identity_loss(Tensor x, int reduction) -> Tensor": identity_loss,
    "internal_cast(Tensor self, str dtype) -> Tensor": internal_cast,
    "fps(Tensor src, int[] ptr, float ratio, bool random_start) -> Tensor": points.farthest_points,
    "nearest(Tensor x, Tensor y, Tensor batch_x, Tensor batch_y) -> Tensor": points.nearest,
    "nearest_batch_list(Tensor x, Tensor y, int[] batch_x, int[] batch_y) -> Tensor": points.nearest,
}

for _schema, _behaviour in _OPS.items():
    _library.define(_schema)  # type: ignore[no-untyped-call]
    # Decomposes before autograd and the recording see it: what they see are the ops it is made of.
    _library.impl(_schema.partition("(")[0], _behaviour, "CompositeImplicitAutograd")  # type: ignore[no-untyped-call]
