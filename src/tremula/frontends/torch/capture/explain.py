"""What an exception during a capture means for the user, and at which line: what was asked for, why there is no
answer, what to write instead. The program's own bugs pass unchanged, after a log line that names their place.
"""

from __future__ import annotations

from typing import Any

import torch
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
)

from tremula import log
from tremula.errors import Error
from tremula.frontends.torch.capture.refusals import Refused, refusal
from tremula.frontends.torch.errors import compile_error
from tremula.program.op import SourceLine
from tremula.program.source import is_users, user_line

_WHY = "The graph is compiled once, before any value exists, so Python cannot look at one. "
_OUTSIDE = (
    "Return the tensor and look at it outside the model, or pass the number as a Python argument of "
    "forward(): it becomes a constant of the compiled graph."
)
_LOOP = "poptorch.for_loop repeats a fixed number of times; torch.where stops an item from changing any more."

#: what asked for a value, by the name of the torch function -> (what happened, what to do)
_VALUE_WANTED = {
    "__bool__": (
        "A Python if, while, assert, and, or or not was applied to a tensor",
        f"Use torch.where(condition, a, b), or poptorch.cond in inference, for a choice. {_LOOP}",
    ),
    "item": ("tensor.item() or tensor.tolist() was called", _OUTSIDE),
    "__int__": ("int(tensor) was called", f"Keep it a tensor and convert with tensor.int(). {_OUTSIDE}"),
    "__float__": (
        "float(tensor) was called",
        f"Keep it a tensor and convert with tensor.float(). {_OUTSIDE}",
    ),
    "__index__": (
        "A tensor was used as a Python index, slice bound or range",
        f"Use poptorch.dynamic_slice, torch.index_select or torch.gather. {_LOOP}",
    ),
    "numpy": (
        "tensor.numpy() was called",
        f"Use the torch function, or poptorch.CPU for host code. {_OUTSIDE}",
    ),
    "equal": ("torch.equal was called", "Use (a == b).all(), which stays a tensor."),
}
_VALUE_WANTED["__array__"] = _VALUE_WANTED["numpy"]
_VALUE_WANTED["__getitem__"] = _VALUE_WANTED["__index__"]


#: how torch says that a fake tensor has no value, where it has no exception class for it
_NO_VALUE = ("is not supported for tensor subclasses", "data-dependent", "is not allowed to be called on")


class DynamicShapeError(Error, DynamicOutputShapeException):
    """The shape of a result depends on values; also what torch raises for it."""

    def __init__(self, message: str, func: Any) -> None:
        Error.__init__(self, message, type="poptorch_cpp_error")
        # torch's class keeps the op here and never sets the text
        self.func = func
        self.args = (f"'{self.type}': {message}",)

    __hash__ = Exception.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other

    def __repr__(self) -> str:
        return f"DynamicShapeError({self.message!r})"


def value_wanted(name: str, error: BaseException) -> Error | None:
    """The Error for a torch function called `name` that failed because it wanted a value, if that is why."""
    text = str(error)
    wanted = isinstance(error, DataDependentOutputException | torch.fx.proxy.TraceError) or (
        isinstance(error, RuntimeError) and any(reason in text for reason in _NO_VALUE)
    )
    if not wanted:
        return None
    what, advice = _VALUE_WANTED.get(name, (f"{name or 'a call'} needs the value of a tensor", _OUTSIDE))
    return compile_error(f"{what} inside forward(). {_WHY}{advice}")


def explain(error: Exception, module: torch.nn.Module, refused: list[Refused]) -> Exception:
    """What to raise for `error`, which ended a capture: an explanation, or itself after a log line. Calls `refused`
    before it are named; a host tensor may have a name in `module`.
    """
    line = line_of(error)
    explained = error if isinstance(error, Error) else _explained(error, module)
    if explained is None:
        _report_bug(error, line, refused)
        return error
    if refused and explained.message == refusal(refused).message:
        return explained
    if not explained.message.endswith(str(line)):
        located(explained, line)
    if refused:
        _set_message(explained, f"{explained.message}\n\nBesides, {refusal(refused).message}")
    return explained


def _report_bug(error: Exception, line: SourceLine | None, refused: list[Refused]) -> None:
    """Log where the program's own exception comes from; a note on it would be part of the text that pytest matches."""
    if len(error.args) == 1 and isinstance(error.args[0], str):
        # the user passed tensors; that they are fake ones for the time being is our business
        error.args = (error.args[0].replace("FakeTensor", "Tensor"),)
    besides = f"\nBesides, {refusal(refused).message}" if refused else ""
    log.layer("tremula").error(
        "%s in forward()%s: %s%s", type(error).__name__, f", at {line}" if line else "", error, besides
    )


def _explained(error: Exception, module: torch.nn.Module) -> Error | None:
    if isinstance(error, DynamicOutputShapeException):
        name = getattr(error.func, "_schema", None)
        op = name.name.partition("::")[2] if name is not None else str(error.func)
        return DynamicShapeError(
            f"The shape of the result depends on the values of a tensor ({op}: a boolean mask as index, "
            "nonzero, masked_select, unique or repeat_interleave). Shapes are fixed when the graph is "
            "compiled. Keep the full shape and mask it: torch.where(mask, x, 0), x * mask, "
            "x.masked_fill(~mask, 0), or torch.topk for a fixed number of elements.",
            error.func,
        )
    if "Please convert all Tensors to FakeTensors" in str(error):
        return compile_error(_foreign_tensor(error, module))
    return value_wanted("", error)


def _foreign_tensor(error: BaseException, module: torch.nn.Module) -> str:
    tensor = _foreign_in_frames(error)
    what, named = "a host tensor", ""
    if tensor is not None:
        kind = str(tensor.dtype).removeprefix("torch.")
        names = {"int64": "Long", "int32": "Int", "float32": "Float", "float16": "Half", "bool": "Bool"}
        what = f"tensor(device=cpu, shape={list(tensor.shape)}, dtype={names.get(kind, kind)})"
        named = _attribute_name(module, tensor)
    if named:
        owner, _, attribute = named.rpartition(".")
        where = f" of the module {owner!r}" if owner else ""
        advice = (
            f"It is the attribute {attribute!r}{where}, a plain tensor, which does not move with the model. "
            f'Register it: self.register_buffer("{attribute}", tensor), with persistent=False to keep it out of '
            "checkpoints."
        )
    else:
        advice = (
            "It was created on the host, so the graph does not contain it. Create it on the device "
            '(torch.tensor(..., device="ipu") or host_tensor.to("ipu") inside forward()), or keep it in the '
            "model with register_buffer()."
        )
    return f"Expected an IPU tensor but got {what}. {advice}"


def _attribute_name(module: torch.nn.Module, tensor: torch.Tensor) -> str:
    for prefix, owner in module.named_modules():
        for name, value in vars(owner).items():
            if value is tensor:
                return f"{prefix}.{name}" if prefix else name
    return ""


def _foreign_in_frames(error: BaseException) -> torch.Tensor | None:
    """The host tensor among the arguments of the call that failed."""
    trace = error.__traceback__
    found = None
    while trace is not None:
        for name in ("flat_args", "args"):
            values = trace.tb_frame.f_locals.get(name)
            if isinstance(values, list | tuple):
                for value in values:
                    if isinstance(value, torch.Tensor) and not isinstance(value, FakeTensor):
                        found = value
        trace = trace.tb_next
    return found


def line_of(error: BaseException) -> SourceLine | None:
    """The innermost line of the user's in a traceback, or else on the stack (a module that is all torch's)."""
    line = None
    trace = error.__traceback__
    while trace is not None:
        if is_users(trace.tb_frame):
            code = trace.tb_frame.f_code
            line = SourceLine(code.co_filename, trace.tb_lineno, code.co_name)
        trace = trace.tb_next
    return line or user_line()


def located(error: Error, line: SourceLine | None) -> Error:
    """`error` with the line at the end of its message."""
    if line is not None:
        _set_message(error, f"{error.message}\n  at {line}")
    return error


def _set_message(error: Error, message: str) -> None:
    text = str(error).replace(error.message, message, 1) if error.message else message
    error.message = message
    error.args = (text,)
