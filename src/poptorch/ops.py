"""Functions and annotations that models call inside `forward`.

Argument checks and conversions only: computations are in `tremula.frontends.torch.ops`, placements in
`tremula.frontends.torch.capture.stages`. Outside a capture annotations have no effect and hints return their operand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import torch

import tremula.frontends.torch.ops.fast_gather  # registers the custom op that comes with PopTorch
import tremula.frontends.torch.ops.layout_copies  # registers those of public programs that keep the values
import tremula.frontends.torch.ops.vendor_schemas  # defines torch.ops.poptorch.*
from tremula.errors import Error
from tremula.frontends.torch.capture.context import annotated, current
from tremula.frontends.torch.dtypes import device_dtype
from tremula.frontends.torch.ops import control_flow, ctc, custom, points
from tremula.frontends.torch.ops import dynamic_slice as _slices
from tremula.frontends.torch.ops.host_call import HostFunction
from tremula.frontends.torch.ops.overlap import INPUT_KIND, OUTPUT_KIND
from tremula.frontends.torch.ops.print_tensor import FLOAT_FORMATS, print_tensor

from . import enums
from ._blocks import BeginBlock, Block, BlockFunction, LegacyBeginBlockFn, _BlockHook, removeBlocks
from ._contexts import Attribute, MultiConv, NameScope
from ._utils import flattenTensorStructure, reconstructTensorStructure

__all__ = [
    "CPU",
    "Attribute",
    "BeginBlock",
    "Block",
    "BlockFunction",
    "LegacyBeginBlockFn",
    "MultiConv",
    "NameScope",
    "_BlockHook",
    "cond",
    "ctc_beam_search_decoder",
    "custom_op",
    "dynamic_slice",
    "dynamic_update",
    "for_loop",
    "fps",
    "identity_loss",
    "ipu_print_tensor",
    "nearest",
    "nop",
    "recomputationCheckpoint",
    "removeBlocks",
    "serializedMatMul",
    "set_available_memory",
    "set_overlap_for_input",
    "set_overlap_for_output",
]

AttributeValue = float | int | str | list[Any] | tuple[Any, ...]

_LOSS_REDUCTIONS = {"sum": 0, "mean": 1, "none": 2}


_KINDS: dict[type, str] = {
    torch.Tensor: "a torch.Tensor",
    int: "an integer",
    list: "a list of integers",
    float: "a float",
    bool: "a bool",
}


def _require(value: object, what: str, kind: type = torch.Tensor) -> None:
    if not isinstance(value, kind):
        raise Error(f"{what} must be {_KINDS[kind]}; {type(value)} is not supported.")


def ctc_beam_search_decoder(
    probs: torch.Tensor, lengths: torch.Tensor, blank: int = 0, beam_width: int = 100, top_paths: int = 1
) -> list[torch.Tensor]:
    """The most likely label sequences by connectionist temporal classification.

    Args:
        probs: log-probabilities, shape [input_length, batch_size, num_classes].
        lengths: valid frames per sequence, shape [batch_size].
        blank: class that means "no label".
        beam_width: sequences kept from frame to frame.
        top_paths: sequences to return.

    Returns:
        Log-probabilities [batch_size, top_paths], lengths [batch_size, top_paths] and labels
        [batch_size, top_paths, input_length] (filled up with `blank`).
    """
    _require(probs, "ctc_beam_search_decoder: probs")
    _require(lengths, "ctc_beam_search_decoder: lengths")
    return list(ctc.beam_search(probs, lengths, blank, beam_width, top_paths))


def ipu_print_tensor(
    tensor: torch.Tensor,
    title: str = "",
    print_gradient: bool = True,
    summarise_threshold: int = 1000,
    edge_items: int = 3,
    max_line_width: int = 80,
    digits: int = 4,
    float_format: str = "auto",
    separator: str = ", ",
    open_bracket: str = "(",
    close_bracket: str = ")",
) -> torch.Tensor:
    """Print a tensor each time the device computes it; use the result in place of the operand.

    Nothing is printed when the model runs outside of a wrapped model, or when the result is not used.

    Args:
        tensor: what to print.
        title: written in front of it.
        print_gradient: also print the gradient, titled "<title>_gradient", in the backward pass.
        summarise_threshold: tensors with more elements are shortened; 0 never shortens.
        edge_items: elements kept at either end of a shortened dimension.
        max_line_width: longer rows are broken over lines; 0 never breaks.
        digits: significant digits, used to align columns; 0 prints unaligned.
        float_format: "auto", "fixed", "scientific" or "none" (each element on its own).
        separator: between elements.
        open_bracket: begins a dimension.
        close_bracket: ends a dimension.
    """
    _require(tensor, "the operand of ipu_print_tensor")
    if float_format not in FLOAT_FORMATS:
        raise KeyError(f"{float_format}: float_format must be one of {', '.join(FLOAT_FORMATS)}")
    if current() is None:
        return tensor
    printed: torch.Tensor = print_tensor(
        tensor,
        title,
        bool(print_gradient),
        summarise_threshold,
        edge_items,
        max_line_width,
        digits,
        FLOAT_FORMATS.index(float_format),
        separator,
        open_bracket,
        close_bracket,
    )
    return printed


def for_loop(count: int, body: Callable[..., Any], inputs: list[torch.Tensor]) -> list[torch.Tensor]:
    """Apply `body` `count` times, each time to its previous result. Inference only.

    The body is traced once per iteration: the program grows with `count`.

    Args:
        count: number of iterations.
        body: takes and returns as many tensors as there are `inputs`; changes to them in place stay inside.
        inputs: first operands.
    """
    if not isinstance(inputs, list):
        raise ValueError("poptorch.for_loop takes its inputs as a list of tensors. (Object is not list)")
    for index, tensor in enumerate(inputs):
        if not isinstance(tensor, torch.Tensor):
            raise ValueError(
                "poptorch.for_loop takes its inputs as a list of tensors. (Object contained in list at index "
                f"{index} is not torch.tensor)"
            )
    return control_flow.for_loop(count, body, inputs)


def cond(
    condition: torch.Tensor,
    then_body: Callable[..., Any],
    then_inps: list[torch.Tensor],
    else_body: Callable[..., Any],
    else_inps: list[torch.Tensor],
) -> list[torch.Tensor]:
    """Run one of two bodies, selected while the device runs, and return its results. Inference only.

    Both bodies are computed and one's results are taken, so a body that prints does so in any case.

    Args:
        condition: one boolean.
        then_body: taken when it is true.
        then_inps: operands of `then_body`, passed by value.
        else_body: taken when it is false; must return tensors of the same number, shapes and types.
        else_inps: operands of `else_body`, passed by value.
    """
    if not isinstance(then_inps, list) or not isinstance(else_inps, list):
        raise ValueError(
            "poptorch.cond takes then_inps and else_inps as lists of tensors. (Object is not list)"
        )
    return control_flow.cond(condition, then_body, then_inps, else_body, else_inps)


def nop(tensor: torch.Tensor) -> torch.Tensor:
    """An identity op that the compiler does not remove."""
    _require(tensor, "the operand of nop")
    return annotated(tensor, kind="nop")


def dynamic_slice(tensor: torch.Tensor, dim: int, start: torch.Tensor, size: int, step: int) -> torch.Tensor:
    """A slice of fixed size at a position that is computed on the device.

    Args:
        tensor: what to slice.
        dim: dimension to slice.
        start: first index, one integer; positions wrap around the end of the dimension on the device.
        size: extent of the slice, which must divide the dimension.
        step: take every `step`-th element of the slice.
    """
    _require(tensor, "the operand of dynamic_slice")
    _require(dim, "dim", int)
    _require(start, "the start of dynamic_slice")
    _require(size, "size", int)
    _require(step, "step", int)
    return _slices.dynamic_slice(tensor, dim, start, size, step)


def dynamic_update(
    input: torch.Tensor, src: torch.Tensor, dim: int, start: torch.Tensor, size: int
) -> torch.Tensor:
    """A copy of `input` with a slice replaced, at a position that is computed on the device.

    Args:
        input: what to start from.
        src: the new slice; same rank and type as `input`.
        dim: dimension of the slice.
        start: first index, one integer; positions wrap around the end of the dimension on the device.
        size: extent of the slice.
    """
    _require(input, "the input of dynamic_update")
    _require(src, "the src of dynamic_update")
    _require(dim, "dim", int)
    _require(start, "the start of dynamic_update")
    _require(size, "size", int)
    if input.dim() != src.dim():
        raise Error(
            f"input and src tensors must have same dimensionality. ({input.dim()}) vs ({src.dim()}) given."
        )
    if input.dtype != src.dtype:
        types = [device_dtype(t.dtype) if current() is not None else t.dtype for t in (input, src)]
        raise Error(f"input and src tensor must have same dtype. ({types[0]} vs {types[1]}) given.")
    return _slices.dynamic_update(input, src, dim, start, size)


def recomputationCheckpoint(*tensors: Any) -> Any:
    """Keep these tensors for the backward pass of a pipeline stage instead of recomputing them.

    Args:
        tensors: tensors, or one list or tuple of them.

    Returns:
        The same tensors: one as it is, several as a tuple, a container as a container of its type.
    """
    if len(tensors) == 1 and isinstance(tensors[0], list | tuple):
        return type(tensors[0])(_checkpointed(tensors[0]))
    kept = _checkpointed(tensors)
    return kept[0] if len(kept) == 1 else tuple(kept)


def _checkpointed(tensors: Sequence[Any]) -> list[torch.Tensor]:
    for tensor in tensors:
        if not isinstance(tensor, torch.Tensor):
            raise ValueError(f"recomputationCheckpoint takes tensors only, not {type(tensor).__name__}")
    return [annotated(tensor, kind="recomputation_checkpoint") for tensor in tensors]


def serializedMatMul(
    lhs: torch.Tensor,
    rhs: torch.Tensor,
    mode: enums.MatMulSerializationMode,
    factor: int = 0,
    keep_precision: bool = False,
) -> torch.Tensor:
    """`torch.matmul(lhs, rhs)`, done on the device in `factor` parts one after the other to save memory.

    Args:
        lhs: left operand.
        rhs: right operand.
        mode: dimension to split.
        factor: number of parts; must divide that dimension.
        keep_precision: add the parts of half-precision products in single precision.
    """
    if not isinstance(keep_precision, bool):
        raise AssertionError("keep_precision must be True or False")
    if not isinstance(factor, int):
        raise AssertionError("factor must be an integer")
    if not isinstance(mode, enums.MatMulSerializationMode):
        raise AssertionError("mode must be a poptorch.MatMulSerializationMode")
    capture = current()
    if capture is None:
        return torch.matmul(lhs, rhs)
    settings = {"mode": mode.value, "factor": factor, "keep_precision": keep_precision}
    with capture.attributes(matmul_serialization=settings):
        return torch.matmul(lhs, rhs)


def set_available_memory(tensor: torch.Tensor, available_memory_proportion: float) -> torch.Tensor:
    """Set the share of tile memory that the op that computes `tensor` may use for temporary data.

    Args:
        tensor: result of a convolution, matrix product, lookup or indexing op.
        available_memory_proportion: between 0 and 1.
    """
    _require(tensor, "the operand of set_available_memory")
    return annotated(tensor, kind="available_memory", proportion=available_memory_proportion)


def set_overlap_for_input(input_tensors: Any, mode: enums.OverlapMode) -> Any:
    """Let the transfer of these model inputs overlap with computation; use the result in their place.

    Args:
        input_tensors: a tensor or any nesting of containers of tensors.
        mode: how far to overlap.
    """
    return _overlapped(input_tensors, mode, INPUT_KIND)


def set_overlap_for_output(output_tensors: Any, mode: enums.OverlapMode) -> Any:
    """Let the transfer of these model outputs overlap with computation; return the result.

    Args:
        output_tensors: a tensor or any nesting of containers of tensors.
        mode: how far to overlap.
    """
    return _overlapped(output_tensors, mode, OUTPUT_KIND)


def _overlapped(tensors: Any, mode: enums.OverlapMode, kind: str) -> Any:
    found = flattenTensorStructure(tensors)
    if not found:
        raise Error(f"only tensors can overlap with computation; {type(tensors)} is not supported.")
    marked = [annotated(tensor, kind=kind, mode=mode.value) for tensor in found]
    return reconstructTensorStructure(tensors, marked)


def identity_loss(x: torch.Tensor, reduction: str) -> torch.Tensor:
    """Mark a tensor as the loss, or as a part of it; training differentiates the final one.

    Args:
        x: the computed loss.
        reduction: "sum", "mean" or "none".

    Returns:
        The reduced tensor.
    """
    if reduction not in _LOSS_REDUCTIONS:
        raise AssertionError(f"Unsupported reduction type! {reduction} must be one of sum, mean, none")
    return tremula.frontends.torch.ops.vendor_schemas.identity_loss(x, _LOSS_REDUCTIONS[reduction])


def fps(src: torch.Tensor, ptr: list[int], ratio: float = 0.5, random_start: bool = False) -> torch.Tensor:
    """Farthest point sampling: indices of points that are far from each other.

    Args:
        src: points, one per row.
        ptr: sample i is made of rows ptr[i] to ptr[i + 1].
        ratio: share of the points to take, above 0 and at most 1.
        random_start: begin with a random point of each sample instead of its first.
    """
    _require(src, "the src of fps")
    _require(ptr, "the ptr of fps", list)
    if len(ptr) < 2:
        raise Error("the ptr of fps must have at least 2 elements: where the first sample begins and ends.")
    _require(ratio, "the ratio of fps", float)
    _require(random_start, "the random_start of fps", bool)
    return points.farthest_points(src, ptr, ratio, random_start)


def nearest(
    x: torch.Tensor,
    y: torch.Tensor,
    batch_x: list[int] | torch.Tensor | None = None,
    batch_y: list[int] | torch.Tensor | None = None,
) -> torch.Tensor:
    """For each point of `x` the index of the nearest point of `y` in the same sample.

    Args:
        x: points, one per row.
        y: candidates, one per row.
        batch_x: sample of each row of `x`, ascending; None puts all in one.
        batch_y: the same for `y`.
    """
    _require(x, "the x of nearest")
    _require(y, "the y of nearest")
    batches = [[] if batch is None else batch for batch in (batch_x, batch_y)]
    if not all(isinstance(batch, list | torch.Tensor) for batch in batches):
        raise Error(
            "batch_x and batch_y of nearest must be tensors or lists; they are "
            f"{type(batch_x)} and {type(batch_y)}."
        )
    return points.nearest(x, y, *batches)


def custom_op(
    inputs: Sequence[torch.Tensor],
    name: str,
    domain: str,
    domain_version: int,
    example_outputs: Sequence[torch.Tensor],
    attributes: dict[str, AttributeValue] | None = None,
) -> list[torch.Tensor]:
    """Apply a custom op.

    The C++ code that such an op has for the device cannot run here: in a wrapped model its Python
    implementation is used, see `tremula.custom_ops.register`. Outside one the results are zeros.

    Args:
        inputs: operands.
        name: name of the op.
        domain: domain of the op.
        domain_version: version of the domain.
        example_outputs: tensors that look like the results.
        attributes: floats, ints, strings, or lists of one of these, by name.
    """
    for key, value in (attributes or {}).items():
        _check_attribute(key, value)
    if current() is None:
        return [torch.zeros_like(output, requires_grad=output.requires_grad) for output in example_outputs]
    return custom.call(inputs, domain, name, custom.encode_attributes(attributes))


def _check_attribute(key: object, value: object) -> None:
    if not isinstance(key, str):
        raise ValueError(f"All attribute keys must be strings. {key!r} is not.")
    if not isinstance(value, float | int | str | list | tuple):
        raise ValueError(
            f"custom_op: attribute {key} is a {type(value).__name__}; an attribute is a float, an int, a string, or "
            "a list or tuple of one of these."
        )
    values = value if isinstance(value, list | tuple) else (value,)
    if values and any(not isinstance(item, type(values[0])) for item in values):
        raise ValueError(
            f"custom_op: attribute {key} mixes types; all items of a list or tuple must have one type."
        )
    for text in (key, *values):
        if isinstance(text, str) and not text.isascii():
            raise ValueError(f"{text} contains non-ASCII characters.")


class CPU:
    """Run Python code on the host in the middle of a program. Inference only.

    Args:
        layer_to_call: takes and returns tensors; the parameters of a module are no longer trained.
        ID: name of the op.
    """

    def __init__(self, layer_to_call: Callable[..., Any], ID: str) -> None:
        self._layer_to_call = layer_to_call
        if isinstance(layer_to_call, torch.nn.Module):
            layer_to_call.requires_grad_(False)
        self._ID = ID
        self._host = HostFunction(layer_to_call, ID)

    def __call__(self, *input: torch.Tensor, **kwargs: Any) -> Any:
        """Call the code: at once outside a capture, in every run inside one."""
        if kwargs:
            self._refuse(f"takes positional arguments only, but got {', '.join(kwargs)}")
        capture = current()
        if capture is None:
            return self._layer_to_call(*input)
        if capture.training:
            self._refuse("is only supported in inference: its gradient is not known")
        return self._host(*input)

    def _refuse(self, reason: str) -> NoReturn:
        raise Error(f"poptorch.CPU {self._ID} {reason}.")
