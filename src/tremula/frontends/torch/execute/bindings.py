"""The quickest way to call an op from Python: its generated binding (`torch.addmm`), which costs a microsecond or two
less than `torch.ops.aten.addmm.default`, as much as a small op takes.
"""

from __future__ import annotations

import keyword
from collections.abc import Callable
from typing import Any

import torch

#: functional ops whose Python binding takes exactly the arguments of the schema
_BOUND_NAMES = """
    add sub mul div mm bmm addmm baddbmm convolution relu sigmoid tanh exp log sqrt rsqrt neg abs pow sum
    mean amax amin cat stack where _softmax _log_softmax native_layer_norm native_group_norm
    native_batch_norm embedding index_select gather unsqueeze squeeze t transpose permute clone maximum
    minimum sin cos eq ne lt le gt ge logical_and logical_not reciprocal square erf addcmul addcdiv
    native_dropout bernoulli argmax cumsum
"""
_BOUND = frozenset(_BOUND_NAMES.split())


def fast_binding(op: torch._ops.OpOverload) -> Callable[..., Any]:
    """A callable that does what `op` does."""
    namespace, _, name = op._schema.name.partition("::")
    if namespace == "aten" and name in _BOUND and not op._schema.is_mutable:
        binding = getattr(torch._C._VariableFunctions, name, None)
        if binding is not None:
            return binding  # type: ignore[no-any-return]
    if keyword.iskeyword(op._overloadname):
        return _nameable(op, f"{name}_{op._overloadname}")
    return op


def _nameable(op: torch._ops.OpOverload, name: str) -> Callable[..., Any]:
    """An op such as `random_.from`, whose name is not an expression, under a name that generated code can use."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return op(*args, **kwargs)

    call.__name__ = call.__qualname__ = name
    return call
