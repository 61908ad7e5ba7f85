"""A tree of torch modules from the data that `module_writing` made.

A class is looked up only among the modules that the reading process has imported itself and must be a
`torch.nn.Module`; objects are made without calling any constructor. Where a class or an attribute cannot be restored,
a stand-in of the same shape takes the model's place.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import torch

from tremula.errors import Error
from tremula.formatting import plain
from tremula.frontends.torch.package.container import BadData
from tremula.frontends.torch.package.module_writing import FUNCTIONS, OWN_STATE
from tremula.frontends.torch.package.plain_data import Fields, Tags, decode
from tremula.invariants import instance

_KINDS = {
    name: getattr(inspect.Parameter, name)
    for name in ("POSITIONAL_ONLY", "POSITIONAL_OR_KEYWORD", "VAR_POSITIONAL", "KEYWORD_ONLY", "VAR_KEYWORD")
}

#: makes a hook of its data
DecodeHook = Callable[[Any], Callable[..., Any]]


class ExportedModel(torch.nn.Module):
    """Stands in for a module whose class or attributes could not be restored from a file.

    It has the parameters and buffers of the original under the same names, so it can be trained, saved and
    loaded through its compiled program; its `forward` cannot be called.
    """

    def __init__(self, original: str) -> None:
        super().__init__()
        self.original = plain(original, lines=False)
        self.why = ""

    def _get_name(self) -> str:
        return f"ExportedModel[{self.original.rpartition(':')[2]}]"

    def _stand_in(self, signature: inspect.Signature, why: str) -> None:
        self.why = why = plain(why)
        self.forward = _NoForward(signature, self.original, why)


class _NoForward:
    """`forward` of a stand-in: has the original's signature and says why it cannot be called."""

    def __init__(self, signature: inspect.Signature, original: str, why: str) -> None:
        self.__signature__ = signature
        self._original = original
        self._why = why

    def __call__(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        raise Error(
            f"The model ({self._original}) was restored from a file without its Python code, because "
            f"{self._why}. Its compiled program can run, but it cannot be compiled for other inputs or "
            "options. Import the module that defines the model before poptorch.load(), or build the model "
            "and use loadExecutable()."
        )


def decode_module(
    data: Any, tensors: Mapping[str, torch.Tensor], *, decode_hook: DecodeHook
) -> tuple[torch.nn.Module, dict[str, torch.Tensor]]:
    """The module tree that `module_writing.encode_module` was given, or a stand-in for it; and its tensors by key.

    Raises BadData if the data is not that of a module tree.
    """
    fields = Fields(data, "its model")
    reader = _TreeReader(fields.take("modules", list), tensors, fields.strings("frozen"), decode_hook)
    signature = _decode_signature(fields.take("signature", list))
    fields.done()
    return reader.read(signature), reader.made


class _TreeReader:
    def __init__(
        self,
        entries: list[Any],
        tensors: Mapping[str, torch.Tensor],
        frozen: tuple[str, ...],
        decode_hook: DecodeHook,
    ) -> None:
        self._entries = entries
        self._tensors = tensors
        self._frozen = frozen
        self._decode_hook = decode_hook
        self._modules: dict[int, torch.nn.Module] = {}
        self._unfinished: set[int] = set()
        self.made: dict[str, torch.Tensor] = {}
        self._problems: list[str] = []

    def read(self, signature: inspect.Signature) -> torch.nn.Module:
        classes = [self._class_of(entry) for entry in self._entries]
        root = self._module(0, classes)
        if not self._problems:
            return root
        why = "; ".join(self._problems[:4]) + (
            f"; and {len(self._problems) - 4} more" * (len(self._problems) > 4)
        )
        self._modules = {}
        stand_in = instance(self._module(0, [None] * len(classes)), ExportedModel)
        stand_in._stand_in(signature, why)
        return stand_in

    def _class_of(self, entry: Any) -> type[torch.nn.Module] | None:
        fields = Fields(entry, "a module of its model")
        name = fields.take("class", str)
        left_out = fields.strings("left_out")
        found = find_class(name)
        if found is None:
            reason = (
                "is defined inside a function" if "<locals>" in name else "is not imported in this process"
            )
            self._problem(f"the class {name[:200]} {reason}")
        for item in left_out:
            self._problem(f"{item[:200]}, which is not plain data")
        return found

    def _problem(self, text: str) -> None:
        if text not in self._problems:
            self._problems.append(text)

    def _module(self, number: Any, classes: list[type[torch.nn.Module] | None]) -> torch.nn.Module:
        if type(number) is not int or not 0 <= number < len(self._entries):
            raise BadData("its model refers to a module that does not exist")
        if number in self._unfinished:
            raise BadData("its model contains itself")
        if number in self._modules:
            return self._modules[number]
        self._unfinished.add(number)
        fields = Fields(self._entries[number], "a module of its model")
        kind, name = classes[number], fields.take("class", str)
        module = _blank(kind) if kind is not None else ExportedModel(name)
        self._modules[number] = module
        state = vars(module)
        state["training"] = fields.take("training", bool)
        for table in ("_parameters", "_buffers"):
            for key, tensor in fields.take(table[1:], dict).items():
                _check_name(key)
                state[table][key] = (
                    None if tensor is None else self._tensor(tensor, parameter=table == "_parameters")
                )
        temporary = fields.strings("temporary")
        state["_non_persistent_buffers_set"] = set(temporary) & state["_buffers"].keys()
        for key, child in fields.take("children", dict).items():
            _check_name(key)
            state["_modules"][key] = None if child is None else self._module(child, classes)
        attributes, hooks = fields.take("attributes", dict), fields.take("hooks", list)
        fields.strings("left_out")
        fields.done()
        if kind is not None:
            self._fill(module, attributes, hooks)
        self._unfinished.discard(number)
        return module

    def _tensor(self, key: Any, *, parameter: bool) -> torch.Tensor:
        if not isinstance(key, str) or key not in self._tensors:
            raise BadData("its model refers to a parameter or buffer that does not exist")
        if key not in self.made:
            tensor = self._tensors[key]
            trained = (
                parameter and key not in self._frozen and (tensor.is_floating_point() or tensor.is_complex())
            )
            self.made[key] = torch.nn.Parameter(tensor, requires_grad=trained) if parameter else tensor
        if parameter and not isinstance(self.made[key], torch.nn.Parameter):
            raise BadData("its model has a tensor that is a parameter in one place and a buffer in another")
        return self.made[key]

    def _fill(self, module: torch.nn.Module, attributes: dict[str, Any], hooks: list[Any]) -> None:
        tags: Tags = {
            "tensor": lambda key: self._tensor(key, parameter=False),
            "device": _read_device,
            "function": _read_function,
        }
        state = vars(module)
        for name, data in attributes.items():
            if name in OWN_STATE or name.startswith("__"):
                raise BadData(f"a module of its model has an attribute {name[:80]!r}")
            state[name] = decode(data, tags)
        for data in hooks:
            torch.nn.Module.register_forward_pre_hook(module, self._decode_hook(data))
        if isinstance(module, torch.nn.RNNBase):
            _make_flat_weights(module)


def _make_flat_weights(module: torch.nn.RNNBase) -> None:
    names = vars(module).get("_flat_weights_names")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise BadData("a recurrent layer of its model is malformed")
    if not set(names) <= module._parameters.keys():
        raise BadData("a recurrent layer of its model lacks weights")
    torch.nn.RNNBase._init_flat_weights(module)


def find_class(name: str) -> type[torch.nn.Module] | None:
    """A module class by `module:qualified.name`, if this process has imported it; this imports nothing."""
    module_name, _, path = name.partition(":")
    # Of torch itself only its layers: others, such as its graph and script modules, run code that they carry.
    if module_name.partition(".")[0] == "torch" and not module_name.startswith("torch.nn."):
        return None
    found: Any = sys.modules.get(module_name)
    for part in path.split("."):
        # vars(), not getattr(): a module with a __getattr__ of its own might import something
        found = vars(found).get(part) if hasattr(found, "__dict__") else None
    is_module = isinstance(found, type) and issubclass(found, torch.nn.Module)
    if not is_module or found.__module__ != module_name or found.__qualname__ != path:
        return None
    if issubclass(found, torch.jit.ScriptModule | torch.fx.GraphModule):
        return None
    kind: type[torch.nn.Module] = found
    return kind


def _blank(kind: type[torch.nn.Module]) -> torch.nn.Module:
    """An object of that class with what every module has, made without running any of its code."""
    module: torch.nn.Module = object.__new__(kind)
    module.__dict__.update(vars(torch.nn.Module()))
    return module


def _check_name(name: str) -> None:
    if not name or "." in name or name.startswith("__") or not name.isprintable():
        raise BadData(f"its model has a member called {name[:80]!r}")


def _read_device(payload: Any) -> torch.device:
    if payload not in ("cpu", "meta", "ipu", "ipu:0"):
        raise BadData(f"its model names the unknown device {str(payload)[:80]!r}")
    return torch.device(payload)


def _read_function(payload: Any) -> Any:
    if not isinstance(payload, str) or payload not in FUNCTIONS:
        raise BadData(f"its model names the unknown function {str(payload)[:80]!r}")
    return FUNCTIONS[payload]


def _decode_signature(entries: list[Any]) -> inspect.Signature:
    parameters = []
    for entry in entries:
        sound = (
            isinstance(entry, list) and len(entry) in (2, 3) and all(type(item) is str for item in entry[:2])
        )
        if not sound or entry[1] not in _KINDS:
            raise BadData("the signature of its model is malformed")
        default = decode(entry[2]) if len(entry) == 3 else inspect.Parameter.empty
        parameters.append((entry[0], _KINDS[entry[1]], default))
    try:
        return inspect.Signature([inspect.Parameter(n, k, default=d) for n, k, d in parameters])
    except (ValueError, TypeError, IndexError) as problem:
        raise BadData(f"the signature of its model is malformed ({problem})") from problem
