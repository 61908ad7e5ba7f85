"""How the device's dialect of torch differs from the host's, as a torch function mode above autograd: device name,
dtypes of weights, 32-bit indices, losses, calls without a static form. docs/limits.md lists what is left out.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import _disable_current_modes

from tremula.frontends.torch.capture.context import Capture
from tremula.frontends.torch.capture.explain import value_wanted
from tremula.frontends.torch.capture.losses import LOSS_FUNCTIONS
from tremula.frontends.torch.capture.refusals import refuse_if_unsupported
from tremula.frontends.torch.dtypes import HALF_OR_FLOAT, narrow

_HOST = torch.device("cpu")

#: functions whose weights are cast to the dtype of their first argument: name -> positions of weights
_WEIGHT_OPERANDS: dict[str, tuple[int, ...]] = {
    "linear": (1, 2),
    "bilinear": (1, 2, 3),
    **{f"conv{kind}{dims}d": (1, 2) for kind in ("", "_transpose") for dims in (1, 2, 3)},
    **dict.fromkeys(("matmul", "__matmul__", "mm", "bmm", "mv", "dot", "prelu"), (1,)),
    **dict.fromkeys(("layer_norm", "group_norm"), (2, 3)),
}
_WEIGHT_KEYWORDS = ("weight", "bias", "other", "mat2")

#: functions that need 64-bit indices on the host: name -> (positions, keywords) of index operands
_INDEX_OPERANDS: dict[str, tuple[tuple[int, ...], tuple[str, ...]]] = {
    "gather": ((2,), ("index",)),
    **{
        f"{name}{in_place}": ((2,), ("index",))
        for name in ("scatter", "scatter_add", "scatter_reduce", "index_fill", "index_copy", "index_reduce")
        for in_place in ("", "_")
    },
    **dict.fromkeys(("take", "put_"), ((1,), ("index",))),
    "take_along_dim": ((1,), ("indices",)),
    "one_hot": ((0,), ("tensor",)),
    **dict.fromkeys(
        ("nll_loss", "cross_entropy", "multi_margin_loss", "multilabel_margin_loss"), ((1,), ("target",))
    ),
}


def _static_bincount(
    input: torch.Tensor, weights: torch.Tensor | None = None, minlength: int = 0
) -> torch.Tensor:
    """torch.bincount of exactly `minlength` bins; on the device that is the maximum as well."""
    given = torch.ones_like(input, dtype=torch.int32) if weights is None else weights
    return torch.zeros(minlength, dtype=given.dtype).scatter_add(0, input.long(), given)


#: modules of torch that look at values only to take a short cut, which False declines
_HINTS = frozenset({"torch.nn.modules.transformer"})

#: functions whose own ops have shapes that depend on data -> the same in ops of static shape
_STATIC_FORMS: dict[str, Callable[..., Any]] = {"bincount": _static_bincount}


def register_static_form(name: str, form: Callable[..., Any]) -> None:
    """Use `form` for torch's function `name` while a model is captured."""
    _STATIC_FORMS[name] = form


class Dialect(TorchFunctionMode):
    """Active while the user's `forward` is captured."""

    def __init__(self, capture: Capture) -> None:
        super().__init__()
        self._capture = capture

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = dict(kwargs) if kwargs else {}
        name = getattr(func, "__name__", "")
        if name == "__bool__" and sys._getframe(1).f_globals.get("__name__") in _HINTS:
            return False
        tensors = [value for value in (*args, *kwargs.values()) if isinstance(value, torch.Tensor)]
        if tensors and _moves_constant(name, args, kwargs):
            return _constant(args[0], args[1:], kwargs)
        if tensors and all(not isinstance(tensor, FakeTensor) for tensor in tensors):
            with _disable_current_modes():
                return func(*args, **kwargs)  # host tensors alone: computed there and then
        refuse_if_unsupported(self._capture, name, func, args, kwargs)
        args, kwargs = _on_host(args, kwargs)
        if name in _WEIGHT_OPERANDS:
            args, kwargs = _weights_follow_activation(_WEIGHT_OPERANDS[name], args, kwargs)
        elif name in _INDEX_OPERANDS:
            args, kwargs = _wide_indices(*_INDEX_OPERANDS[name], args, kwargs)
        elif name in ("bucketize", "searchsorted") and isinstance(kwargs.get("out"), torch.Tensor):
            kwargs["out_int32"] = kwargs["out"].dtype is torch.int32  # an int64 result is int32 on the device
        func = _STATIC_FORMS.get(name, func)
        is_loss = name in LOSS_FUNCTIONS
        scope = self._capture.attributes(loss_function=name) if is_loss else contextlib.nullcontext()
        try:
            with scope:
                result = func(*args, **kwargs)
        except RuntimeError as error:
            # only here is it known which call of the user's wanted a value
            explained = value_wanted(name, error)
            if explained is None:
                raise
            raise explained from error
        if is_loss and isinstance(result, torch.Tensor):
            self._capture.losses.append(result)
        return result


def _moves_constant(name: str, args: Any, kwargs: dict[str, Any]) -> bool:
    """Whether a call on a host tensor means to put it where the model's tensors are."""
    if name == "ipu":
        return True
    if name not in ("to", "type_as") or isinstance(args[0], FakeTensor):
        return False
    return any(isinstance(v, torch.device | str | FakeTensor) for v in (*args[1:], *kwargs.values()))


def _constant(tensor: torch.Tensor, args: Any, kwargs: dict[str, Any]) -> torch.Tensor:
    """A host tensor as a constant of the graph, in the dtype that the call asks for."""
    with _disable_current_modes():
        tensor = narrow(tensor.detach())
    constant: torch.Tensor = torch.ops.aten.lift_fresh_copy.default(tensor)
    wanted = [v for v in (*args, *kwargs.values()) if isinstance(v, torch.dtype)]
    wanted += [v.dtype for v in args if isinstance(v, FakeTensor)]
    return constant.to(wanted[0]) if wanted else constant


def _on_host(args: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Arguments with the device's name replaced by the host's."""
    if kwargs.get("device") is not None and _names_device(kwargs["device"]):
        kwargs["device"] = _HOST
    if any(_names_device(value) for value in args):
        args = tuple(_HOST if _names_device(value) else value for value in args)
    return args, kwargs


def _names_device(value: Any) -> bool:
    if isinstance(value, torch.device):
        return value.type == "ipu"
    return isinstance(value, str) and (value == "ipu" or value.startswith("ipu:"))


def _weights_follow_activation(
    positions: tuple[int, ...], args: Any, kwargs: dict[str, Any]
) -> tuple[Any, dict[str, Any]]:
    activation = args[0] if args else kwargs.get("input")
    if not isinstance(activation, torch.Tensor) or activation.dtype not in HALF_OR_FLOAT:
        return args, kwargs
    dtype = activation.dtype
    # A parameter on the left of a product follows the activation on its right.
    if len(args) > 1 and isinstance(activation, torch.nn.Parameter):
        other = args[1]
        if (
            isinstance(other, torch.Tensor)
            and other.dtype in HALF_OR_FLOAT
            and not isinstance(other, torch.nn.Parameter)
        ):
            dtype = other.dtype
            args = (_cast(activation, dtype), *args[1:])
    args = tuple(_cast(value, dtype) if i in positions else value for i, value in enumerate(args))
    kwargs = {k: _cast(v, dtype) if k in _WEIGHT_KEYWORDS else v for k, v in kwargs.items()}
    return args, kwargs


def _cast(value: Any, dtype: torch.dtype) -> Any:
    if isinstance(value, torch.Tensor) and value.dtype in HALF_OR_FLOAT and value.dtype != dtype:
        return value.to(dtype)
    return value


def _wide_indices(
    positions: tuple[int, ...], keywords: tuple[str, ...], args: Any, kwargs: dict[str, Any]
) -> tuple[Any, dict[str, Any]]:
    def widen(value: Any) -> Any:
        if isinstance(value, torch.Tensor) and value.dtype in (torch.int32, torch.int16, torch.int8):
            return value.long()
        return value

    args = tuple(widen(value) if i in positions else value for i, value in enumerate(args))
    return args, {k: widen(v) if k in keywords else v for k, v in kwargs.items()}
