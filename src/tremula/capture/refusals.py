"""Calls that the real compiler refuses, refused here as well, with the reason and the fix.

Without them a program would run on the host and fail on the day it meets hardware. The list follows the
public documentation of unsupported features.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tremula.capture.record import user_line
from tremula.errors import Error


def _argument(args: Any, kwargs: dict[str, Any], position: int, name: str, default: Any = None) -> Any:
    if name in kwargs:
        return kwargs[name]
    return args[position] if len(args) > position else default


def _one_hot(args: Any, kwargs: dict[str, Any]) -> str | None:
    if _argument(args, kwargs, 1, "num_classes", -1) == -1:
        return (
            "OneHot num classes must be specified and must be constant: the shape of the result may not "
            "depend on data. Pass num_classes=... to torch.nn.functional.one_hot."
        )
    return None


def _bincount(args: Any, kwargs: dict[str, Any]) -> str | None:
    if not _argument(args, kwargs, 2, "minlength", 0):
        return (
            "Bincount `minlength` must be specified and must be greater than or equal to the largest "
            "value plus one: the shape of the result may not depend on data."
        )
    return None


def _host_value(args: Any, kwargs: dict[str, Any]) -> str | None:
    return (
        "a value of a tensor was asked for inside forward() (item(), tolist(), numpy(), or a Python if, "
        "while or index on a tensor). The graph is compiled once, before any value exists, so Python cannot "
        "look at one. Use torch.where or poptorch.cond for a choice, poptorch.for_loop for a loop, return "
        "the tensor and look at it outside, or pass the value as a Python argument (a change of it recompiles)."
    )


_RULES: dict[str, Callable[[Any, dict[str, Any]], str | None]] = {
    "one_hot": _one_hot,
    "bincount": _bincount,
}


def refuse_if_unsupported(name: str, args: Any, kwargs: dict[str, Any]) -> None:
    """Raise an Error that names the user's line if the real compiler would refuse this call."""
    rule = _RULES.get(name)
    if rule is None:
        return
    reason = rule(args, kwargs)
    if reason is not None:
        raise refusal(reason)


def refusal(reason: str) -> Error:
    """An Error for `reason` at the user's line."""
    line = user_line()
    where = f"\n  at {line}" if line is not None else ""
    return Error(f"{reason}{where}", type="poptorch_cpp_error")


def explain(error: BaseException) -> Error | None:
    """What a torch exception met during capture means for the user, or None if it speaks for itself."""
    from torch._subclasses.fake_tensor import DataDependentOutputException

    text = str(error)
    data_dependent = isinstance(error, DataDependentOutputException) or (
        isinstance(error, RuntimeError)
        and ("data-dependent" in text or "is not allowed to be called on" in text)
    )
    if data_dependent or isinstance(error, torch.fx.proxy.TraceError):
        return _at_line_of(error, _host_value((), {}) or "")
    if isinstance(error, AssertionError | RuntimeError) and "Please convert all Tensors to FakeTensors" in text:
        return _at_line_of(error, _foreign_tensor(error))
    return None


def _foreign_tensor(error: BaseException) -> str:
    tensor = _foreign_in_frames(error)
    what = "a host tensor"
    if tensor is not None:
        kind = str(tensor.dtype).removeprefix("torch.")
        names = {"int64": "Long", "int32": "Int", "float32": "Float", "float16": "Half", "bool": "Bool"}
        what = f"tensor(device=cpu, shape={list(tensor.shape)}, dtype={names.get(kind, kind)})"
    return (
        f"Expected an IPU tensor but got {what}. Constant tensors should be moved explicitly to the IPU, via "
        f"cst.to(\"ipu\") inside forward(), or, better, registered with register_buffer() so that they move with the model."
    )


def _foreign_in_frames(error: BaseException) -> torch.Tensor | None:
    from torch._subclasses.fake_tensor import FakeTensor

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


def _at_line_of(error: BaseException, reason: str) -> Error:
    """`reason` with the innermost user frame of a traceback."""
    line = None
    trace = error.__traceback__
    while trace is not None:
        frame = trace.tb_frame
        module = frame.f_globals.get("__name__", "")
        if not (module.split(".")[0] in ("torch", "tremula", "poptorch")):
            line = f"{frame.f_code.co_filename}:{trace.tb_lineno} in {frame.f_code.co_name}"
        trace = trace.tb_next
    where = f"\n  at {line}" if line else ""
    return Error(f"{reason}{where}", type="poptorch_cpp_error")
