"""Classes that a training model's module, parameters and buffers have while wrapped: reading them first updates the
host's copy. Copies and pickles are of the plain class, so that checkpoints load without this package.
"""

from __future__ import annotations

import collections
import copy
import copyreg
import functools
import itertools
import weakref
from collections.abc import Callable
from typing import Any

import torch

from tremula import log
from tremula.distributed import independent_models
from tremula.errors import Error
from tremula.program.source import user_line

from ._lost_wrapper import TrainingLost

#: methods of a module that return it, so that `model = wrapped.half()` would lose the wrapper
CONVERSIONS = frozenset(
    {"to", "half", "float", "double", "bfloat16", "type", "cpu", "cuda", "ipu", "to_empty"}
)


class _IdentityMap:
    """Remembers something about objects without keeping them alive, comparing by identity.

    A WeakKeyDictionary would compare tensors with ==, which makes a tensor.
    """

    def __init__(self) -> None:
        self._entries: dict[int, tuple[weakref.ref[Any], Any]] = {}

    def __setitem__(self, key: Any, value: Any) -> None:
        number = id(key)
        self._entries[number] = (weakref.ref(key, lambda _: self._entries.pop(number, None)), value)

    def pop(self, key: Any) -> Any:
        """What is remembered about `key`, which is forgotten; None if nothing is."""
        entry = self._entries.get(id(key))
        if entry is None or entry[0]() is not key:
            return None
        del self._entries[id(key)]
        return entry[1]


#: the class that an object wore before it was unwrapped for a while
_worn: _IdentityMap = _IdentityMap()
_wrapper_types: set[type] = set()


def is_wrapped(thing: Any) -> bool:
    """Whether `thing` wears one of our classes."""
    return type(thing) in _wrapper_types


def plain_class(thing: Any) -> type:
    """The class of `thing` when it is not wrapped."""
    kind = type(thing)
    return kind.__bases__[0] if kind in _wrapper_types else kind


def restore(thing: Any) -> Any:
    """Put the class back on that `unwrap` took off."""
    kind = _worn.pop(thing)
    if kind is not None:
        thing.__class__ = kind
    return thing


def unwrap(thing: Any, *, remember: bool = False) -> Any:
    """Give `thing` its plain class; with `remember`, `restore` can undo it."""
    if not remember:
        _worn.pop(thing)  # else a later restore would bring back what this call takes off for good
    if is_wrapped(thing):
        kind = type(thing)
        thing.__class__ = plain_class(thing)
        if remember:
            _worn[thing] = kind
    return thing


def _reduce_plain(thing: Any) -> tuple[Callable[[Any], Any], tuple[Any]]:
    """How a wrapped object is copied or pickled: as a plain one, which wears the class again if it is a copy."""
    from . import _impl

    kind = type(thing)
    thing.__class__ = plain_class(thing)
    try:
        plain = copy.copy(thing)
    finally:
        thing.__class__ = kind
    _worn[plain] = kind
    # looked up late: programs replace this function to keep copies plain
    return _impl._restoreWrapperIfNecessary, (plain,)


def register(kind: type) -> None:
    """Make `kind` one of our classes."""
    _wrapper_types.add(kind)
    copyreg.pickle(kind, _reduce_plain)


def state_tensors(model: torch.nn.Module) -> itertools.chain[torch.Tensor]:
    """All buffers and parameters of a module tree."""
    return itertools.chain(model.buffers(), model.parameters())


def unwrap_model(model: torch.nn.Module, *, remember: bool = True) -> None:
    """Plain classes for the module and its state; with `remember`, until `rewrap_model`."""
    for tensor in state_tensors(model):
        unwrap(tensor, remember=remember)
    unwrap(model, remember=remember)


def rewrap_model(model: torch.nn.Module) -> None:
    """Undo `unwrap_model`."""
    for tensor in state_tensors(model):
        restore(tensor)
    restore(model)


class Wrapping:
    """The three classes of one training executor, and putting them on and off."""

    def __init__(self, executor: Any) -> None:
        model = executor._user_model
        # The module must not keep its executor alive.
        owner = weakref.ref(executor)
        self.lost = TrainingLost(plain_class(model).__name__)
        self.model_class = _model_class(type(model), owner, self.lost)
        self.parameter_class = _tensor_class("PoptorchParameter", torch.nn.Parameter, owner, self.lost)
        self.buffer_class = _tensor_class("PoptorchBuffer", torch.Tensor, owner, self.lost)
        for kind in (self.model_class, self.parameter_class, self.buffer_class):
            register(kind)

    def put_on(self, model: torch.nn.Module) -> None:
        """Wrap a module and its state."""
        for parameter in model.parameters():
            parameter.__class__ = self.parameter_class
        for name, buffer in model.named_buffers():
            if type(buffer) not in (torch.Tensor, self.buffer_class):
                raise Error(
                    f"All buffers must be an instance of torch.Tensor, but {name} is a {type(buffer).__name__}. "
                    "Register a plain tensor instead."
                )
            buffer.__class__ = self.buffer_class
        model.__class__ = self.model_class


def _tensor_class(name: str, base: type, owner: weakref.ref[Any], lost: TrainingLost) -> type:
    def synchronise() -> None:
        executor = owner()
        if executor is not None:
            executor.copyWeightsToHostIfNeeded()
        else:
            lost.warn()

    class _Synchronised(base):  # type: ignore[misc]
        def __getattribute__(self, attribute: str) -> Any:
            synchronise()
            return object.__getattribute__(self, attribute)

        def __deepcopy__(self, memo: dict[int, Any]) -> Any:
            synchronise()
            kind = type(self)
            self.__class__ = base
            try:
                return copy.deepcopy(self, memo)  # an independent tensor, of the plain class
            finally:
                self.__class__ = kind

        # With this method torch takes the slow path that looks at attributes, even in torch.equal(a, b).
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return super().__torch_function__(func, types, args, kwargs or {})

    _Synchronised.__name__ = _Synchronised.__qualname__ = name
    return _Synchronised


def _model_class(base: type, owner: weakref.ref[Any], lost: TrainingLost) -> type:
    class _Wrapped(base):  # type: ignore[misc]
        def copyWeightsToHostIfNeeded(self) -> bool:
            """Bring the host's weights up to date; False if they were."""
            executor = owner()
            if executor is None:
                lost.warn()
                return False
            return bool(executor.copyWeightsToHostIfNeeded())

        def destroy(self) -> None:
            """Release the device and the compiled program, and unwrap this module."""
            executor = owner()
            if executor is not None:
                executor.destroy()

        def __getattribute__(self, name: str) -> Any:
            if name == "_host_weights_version":
                executor = owner()
                return None if executor is None else executor._host_weights_version
            if name in ("_buffers", "_parameters", "forward"):
                self.copyWeightsToHostIfNeeded()
            return object.__getattribute__(self, name)

        def __getattr__(self, name: str) -> Any:
            attribute = super().__getattr__(name)
            if isinstance(attribute, torch.nn.Parameter):
                self.copyWeightsToHostIfNeeded()
            return attribute

        def state_dict(
            self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False
        ) -> Any:
            """The state with plain tensors, loadable where this package is not installed."""
            if args:
                destination = args[0]
            plain: collections.OrderedDict[str, Any] = collections.OrderedDict()
            copies: dict[int, Any] = {}
            full = super().state_dict(destination=destination, prefix=prefix, keep_vars=keep_vars)
            for name, value in full.items():
                if id(value) not in copies:  # tied weights stay one tensor
                    copies[id(value)] = unwrap(copy.copy(value))
                plain[name] = copies[id(value)]
            return plain

        def _apply(self, fn: Any, recurse: bool = True) -> Any:
            result = super()._apply(fn, recurse)
            _note_moved_model(self)
            return result

    _Wrapped.__name__ = f"Poptorch{base.__name__}"
    _Wrapped.__qualname__ = _Wrapped.__name__
    return _Wrapped


def _note_moved_model(model: torch.nn.Module) -> None:
    """`.to()`, `.half()`, `.float()` on a module that is already wrapped does not reach the device."""
    line, name = user_line(), plain_class(model).__name__
    log.warn_once(
        f"moved {name}",
        f"{name} was moved or converted (.to(), .half(), .float(), ...) after it had been "
        f"wrapped{f', at {line}' if line else ''}. The compiled model keeps the types it was compiled with: "
        "convert the model before you wrap it, or call destroy() and wrap it again.",
    )


def returns_plain_module(method: Callable[..., Any]) -> Callable[..., Any]:
    """A conversion that warns: what it returns is not the wrapped model."""

    @functools.wraps(method)
    def convert(*args: Any, **kwargs: Any) -> Any:
        line = user_line()
        log.warn_once(
            f"conversion {line}",
            f"{method.__name__}() of a wrapped model{f', at {line},' if line else ''} converts and returns the plain "
            "module. Calls of the plain module run on the host. Convert the module before you wrap it, and keep "
            "the object that trainingModel or inferenceModel returned.",
        )
        independent_models.add_conversion()
        return method(*args, **kwargs)

    return convert
