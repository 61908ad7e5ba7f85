"""A tree of torch modules as data: class names, plain attributes, parameters and buffers. No pickle. `module_reading`
reads it.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional

from tremula.frontends.torch.package.plain_data import NotData, encode

#: what torch.nn.Module itself keeps in an object
OWN_STATE = frozenset(vars(torch.nn.Module()))
_HOOKS = tuple(name for name in sorted(OWN_STATE) if name.endswith("_hooks"))
#: recurrent layers keep a second list of their weights, which they can make again
_DERIVED = {torch.nn.RNNBase: ("_flat_weights", "_flat_weight_refs")}
#: functions that layers keep as attributes
FUNCTIONS: dict[str, Any] = {
    name: getattr(functional, name)
    for name in (
        "celu", "elu", "gelu", "glu", "hardsigmoid", "hardswish", "hardtanh", "leaky_relu", "log_softmax",
        "logsigmoid", "mish", "normalize", "relu", "relu6", "selu", "sigmoid", "silu", "softmax", "softmin",
        "softplus", "softsign", "tanh", "tanhshrink",
    )
}  # fmt: skip

#: a hook as data, or None if it is not one that can be written down
EncodeHook = Callable[[Any], Any]


def encode_module(
    module: torch.nn.Module,
    tensors: dict[str, torch.Tensor],
    *,
    class_of: Callable[[object], type] = type,
    encode_hook: EncodeHook = lambda hook: None,
) -> dict[str, Any]:
    """A module tree as JSON data; its parameters and buffers are added to `tensors` under their first names.

    What cannot be written down is listed by name; a reader then gets a stand-in. `class_of` gives the class to store
    for a module, `encode_hook` turns a forward-pre-hook into data.
    """
    keys: dict[int, str] = {}
    numbers: dict[int, int] = {}
    modules: list[dict[str, Any]] = []

    def key_of(tensor: torch.Tensor, name: str) -> str:
        if id(tensor) not in keys:
            keys[id(tensor)] = name
            tensors[name] = tensor
        return keys[id(tensor)]

    def add(each: torch.nn.Module, path: str) -> int:
        if id(each) in numbers:
            return numbers[id(each)]
        number = numbers[id(each)] = len(modules)
        state = vars(each)
        prefix = f"{path}." if path else ""
        entry: dict[str, Any] = {}
        modules.append(entry)
        kind = class_of(each)
        entry.update({"class": f"{kind.__module__}:{kind.__qualname__}", "training": state["training"]})
        for table in ("_parameters", "_buffers"):
            entry[table[1:]] = {
                name: None if tensor is None else key_of(tensor, prefix + name)
                for name, tensor in state[table].items()
            }
        entry["temporary"] = sorted(state["_non_persistent_buffers_set"])
        entry["children"] = {
            name: None if child is None else add(child, prefix + name)
            for name, child in state["_modules"].items()
        }
        entry.update(_encode_attributes(each, path or "the model", key_of, encode_hook))
        return number

    add(module, "")
    frozen = [
        key
        for key, tensor in tensors.items()
        if isinstance(tensor, torch.nn.Parameter) and not tensor.requires_grad
    ]
    return {"modules": modules, "frozen": sorted(frozen), "signature": _encode_signature(module)}


def _encode_attributes(
    module: torch.nn.Module, path: str, key_of: Callable[[torch.Tensor, str], str], encode_hook: EncodeHook
) -> dict[str, Any]:
    left_out: list[str] = []
    attributes: dict[str, Any] = {}

    def other(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return {"tensor": key_of(value, f"attribute:{path}.{len(attributes)}.{id(value):x}")}
        if isinstance(value, torch.device):
            return {"device": str(value)}
        name = getattr(value, "__name__", None)
        if isinstance(name, str) and FUNCTIONS.get(name) is value:
            return {"function": name}
        return None

    derived = {name for kind, names in _DERIVED.items() if isinstance(module, kind) for name in names}
    for name, value in vars(module).items():
        if name in OWN_STATE or name in derived:
            continue
        try:
            attributes[name] = encode(value, other, f"{path}.{name}")
        except NotData as problem:
            left_out.append(str(problem))
    hooks = []
    for table in _HOOKS:
        for hook in vars(module)[table].values():
            data = encode_hook(hook) if table == "_forward_pre_hooks" else None
            if data is None:
                left_out.append(f"a hook ({table.strip('_')}) of {path}")
            else:
                hooks.append(data)
    return {"attributes": attributes, "hooks": hooks, "left_out": left_out}


def _encode_signature(module: torch.nn.Module) -> list[Any]:
    parameters = []
    for parameter in inspect.signature(module.forward).parameters.values():
        entry = [parameter.name, parameter.kind.name]
        if parameter.default is not inspect.Parameter.empty:
            # without a default that is data, the argument has to be given
            with contextlib.suppress(NotData):
                entry.append(encode(parameter.default))
        parameters.append(entry)
    return parameters
