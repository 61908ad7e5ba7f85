"""Operators by the names of their schemas: which can be written down, and which a program from a file may call.

Any operator of torch's dispatcher that takes plain values has a name. A program from a file may call those of
`op_families` only: pure computations that check their operands. Anything else is refused by name: operators that read
or write files, print, take raw storage or skip checks, and what only exists in torch's scripting language
(`aten::save`, for one).
"""

from __future__ import annotations

import functools
import operator
import re
from typing import Any

import torch

from tremula.frontends.torch.package import op_families
from tremula.frontends.torch.package.container import BadData

GETITEM = "getitem"

#: ops of ours that stand for Python code of one process and mean nothing in another
BOUND_TO_PROCESS = frozenset({"tremula::host_call"})

_NAME = re.compile(r"(aten|prims|mkldnn|tremula|poptorch)::([A-Za-z_]\w*)\.([A-Za-z_]\w*)", re.ASCII)
_PLAIN_TYPE = re.compile(
    r"(Optional\[|List\[)*(Tensor|int|float|bool|number|complex|str|Device|Generator|Layout|MemoryFormat)\]*"
)
#: namespace -> packets that a program from a file may call, without the `_` of those that write in place
_FROM_FILES = {
    "aten": frozenset(
        name
        for family, names in vars(op_families).items()
        if family.isupper() and family not in ("OWN", "CONVERSIONS")
        for name in names.split()
    ),
    "prims": frozenset(op_families.CONVERSIONS.split()),
    "tremula": frozenset(op_families.OWN.split()),
}
_INDEXED = frozenset(
    f"aten::{name}"
    for family in (op_families.INDEXED, op_families.INTERPOLATION, op_families.RULED, op_families.ORDER)
    for name in family.split()
)


def name_of(target: Any) -> str | None:
    """The name under which an operator can be written down, or None if it cannot be."""
    if target is operator.getitem:
        return GETITEM
    if not isinstance(target, torch._ops.OpOverload):
        return None
    name = f"{target._schema.name}.{target._overloadname}"
    return name if _unknown(name) is None else None


def operator_of(name: str) -> Any:
    """The operator of that name; raises BadData if there is none, or it cannot be written down."""
    return _found(name, _unknown)


def operator_from_file(name: str) -> Any:
    """The operator of that name; raises BadData if a program from a file may not call it."""
    return _found(name, refusal)


def takes_indices(target: Any) -> bool:
    """Whether compiled code of the operator may compare indices with sizes while it runs."""
    if not isinstance(target, torch._ops.OpOverload):
        return False
    return target._schema.name.removesuffix("_") in _INDEXED


@functools.lru_cache(maxsize=4096)
def refusal(name: str) -> str | None:
    """Why a program from a file may not call this operator, or None if it may."""
    if name == GETITEM:
        return None
    unknown = _unknown(name)
    if unknown is not None:
        return unknown
    namespace, packet, overload = _parts(name)
    allowed = _FROM_FILES.get(namespace, frozenset())
    if packet not in allowed and packet.removesuffix("_") not in allowed:
        return "which a program from a file may not call"
    schema = getattr(getattr(getattr(torch.ops, namespace), packet), overload)._schema
    if any(argument.is_out for argument in schema.arguments):
        return "which a program from a file may not call, because it resizes its result"
    return None


@functools.lru_cache(maxsize=4096)
def _unknown(name: str) -> str | None:
    """Why there is no such operator to write down, or None if there is."""
    match = _NAME.fullmatch(name)
    if match is None:
        return "which is not an operator of torch or Tremula"
    namespace, packet, overload = match.groups()
    suffix = "" if overload == "default" else f".{overload}"
    if not _in_dispatcher(f"{namespace}::{packet}{suffix}"):
        return "which does not exist here (it may belong to another version of torch)"
    if f"{namespace}::{packet}" in BOUND_TO_PROCESS:
        return "which calls Python code of the process that compiled it"
    schema = torch._C._get_schema(f"{namespace}::{packet}", suffix[1:])
    if not all(_PLAIN_TYPE.fullmatch(str(argument.type)) for argument in schema.arguments):
        return "which takes more than tensors and numbers"
    return None


def _found(name: str, refused: Any) -> Any:
    if name == GETITEM:
        return operator.getitem
    reason = refused(name)
    if reason is not None:
        raise BadData(f"its program calls {name[:100]!r}, {reason}")
    namespace, packet, overload = _parts(name)
    return getattr(getattr(getattr(torch.ops, namespace), packet), overload)


def _parts(name: str) -> tuple[str, str, str]:
    return _NAME.fullmatch(name).groups()  # type: ignore[union-attr,return-value]


def _in_dispatcher(name: str) -> bool:
    """Whether the operator is torch's or a library's proper, not one of the scripting language."""
    return name in _dispatcher_names() or name in _dispatcher_names(fresh=True)


_known: frozenset[str] = frozenset()


def _dispatcher_names(fresh: bool = False) -> frozenset[str]:
    global _known
    if fresh or not _known:
        _known = frozenset(torch._C._dispatch_get_all_op_names())
    return _known
