"""Ops and tensors as columns: arrays of numbers, and tables of the texts and works that occur in them.

Thousands of ops share a few names, works, modules and lines, so each is written once and referred to by number. Lists
of varying length (inputs, shapes) are two arrays: all values, and where each list begins.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tremula.checked_json import BadValue, decode
from tremula.program import work as works
from tremula.program.check_work import check_work
from tremula.program.dtypes import ITEM_BYTES
from tremula.program.op import NO_ATTRIBUTES, Op, Phase, SourceLine
from tremula.program.tensor import Role, Tensor

Arrays = dict[str, NDArray[Any]]
Item = TypeVar("Item")

_PHASES, _ROLES, _DTYPES = list(Phase), list(Role), list(ITEM_BYTES)
_WORKS = {kind.__name__: kind for kind in works.Work.__args__}
_OP_NUMBERS = ("ipu", "stage", "execution_phase", "owner")
_OP_FLAGS = ("checkpoint", "unknown", "host")
_TENSOR_NUMBERS = ("storage", "producer", "ipu", "owner", "bytes")


class _Table:
    """Values that occur, each once, in the order in which they were met."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}

    def number(self, value: Hashable) -> int:
        return self._numbers.setdefault(value, len(self._numbers))

    def values(self) -> list[Any]:
        return list(self._numbers)


def encode(ops: Sequence[Op], tensors: Sequence[Tensor]) -> tuple[dict[str, Any], Arrays]:
    """The tables as plain data for JSON, and the columns as arrays."""
    texts, scopes, lines, all_works, attributes = (_Table() for _ in range(5))
    arrays: Arrays = {
        "op_name": _numbers(texts.number(op.name) for op in ops),
        "op_kind": _numbers(texts.number(op.kind) for op in ops),
        "op_phase": _numbers(_PHASES.index(op.phase) for op in ops),
        "op_scope": _numbers(scopes.number(op.scope) for op in ops),
        "op_module": _numbers(texts.number(op.module) for op in ops),
        "op_source": _numbers(-1 if op.source is None else lines.number(op.source) for op in ops),
        "op_attributes": _numbers(
            attributes.number(_items(op.attributes)) if op.attributes else -1 for op in ops
        ),
        **{f"op_{name}": _numbers(getattr(op, name) for op in ops) for name in (*_OP_NUMBERS, *_OP_FLAGS)},
        **_lists("op_works", ([all_works.number(work) for work in op.works] for op in ops)),
        **_lists("op_inputs", (op.inputs for op in ops)),
        **_lists("op_outputs", (op.outputs for op in ops)),
        "tensor_name": _numbers(texts.number(tensor.name) for tensor in tensors),
        "tensor_dtype": _numbers(_DTYPES.index(tensor.dtype) for tensor in tensors),
        "tensor_role": _numbers(_ROLES.index(tensor.role) for tensor in tensors),
        "tensor_scope": _numbers(scopes.number(tensor.scope) for tensor in tensors),
        "tensor_module": _numbers(texts.number(tensor.module) for tensor in tensors),
        **{f"tensor_{name}": _numbers(getattr(each, name) for each in tensors) for name in _TENSOR_NUMBERS},
        **_lists("tensor_shape", (tensor.shape for tensor in tensors)),
    }
    tables = {
        "phases": [phase.value for phase in _PHASES],
        "roles": [role.value for role in _ROLES],
        "dtypes": _DTYPES,
        "texts": texts.values(),
        "scopes": scopes.values(),
        "lines": [dataclasses.astuple(line) for line in lines.values()],
        "works": [[type(work).__name__, dataclasses.asdict(work)] for work in all_works.values()],
        "attributes": [{name: value for name, _, value in items} for items in attributes.values()],
    }
    return tables, arrays


def decode_columns(
    tables: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> tuple[list[Op], list[Tensor]]:
    """The ops and tensors again.

    Raises:
        BadValue: a table or column is missing, of another type, or refers to something that is not there.
    """
    read = _Reader(tables, arrays)
    texts = read.table("texts", str)
    scopes = [tuple(_text(part) for part in scope) for scope in read.table("scopes", list)]
    lines = [_line(line) for line in read.table("lines", list)]
    known_works = [_work(entry) for entry in read.table("works", list)]
    attributes = [_attributes(entry) for entry in read.table("attributes", dict)]
    phases = [Phase(value) for value in read.enum_values("phases", Phase)]
    roles = [Role(value) for value in read.enum_values("roles", Role)]
    dtypes = read.table("dtypes", str)
    if not set(dtypes) <= set(ITEM_BYTES):
        raise BadValue("dtypes lists a type that the device does not have")
    ops = [
        Op(
            name, kind, phase, tuple(done), tuple(inputs), tuple(outputs), ipu, stage, execution_phase, scope, module,
            source, bool(checkpoint), bool(unknown), bool(host), owner, NO_ATTRIBUTES if noted is None else noted,
        )
        for (
            name, kind, phase, done, inputs, outputs, ipu, stage, execution_phase, scope, module, source, checkpoint,
            unknown, host, owner, noted,
        ) in zip(
            read.column("op_name", texts), read.column("op_kind", texts), read.column("op_phase", phases),
            read.lists("op_works", known_works), read.lists("op_inputs"), read.lists("op_outputs"),
            read.numbers("op_ipu"), read.numbers("op_stage"), read.numbers("op_execution_phase"),
            read.column("op_scope", scopes), read.column("op_module", texts),
            read.column("op_source", lines, optional=True), read.numbers("op_checkpoint"),
            read.numbers("op_unknown"), read.numbers("op_host"), read.numbers("op_owner"),
            read.column("op_attributes", attributes, optional=True), strict=True,
        )
    ]  # fmt: skip
    tensors = [
        Tensor(name, tuple(shape), dtype, role, storage, producer, ipu, scope, module, owner, size)
        for name, shape, dtype, role, storage, producer, ipu, scope, module, owner, size in zip(
            read.column("tensor_name", texts), read.lists("tensor_shape"), read.column("tensor_dtype", dtypes),
            read.column("tensor_role", roles), read.numbers("tensor_storage"), read.numbers("tensor_producer"),
            read.numbers("tensor_ipu"), read.column("tensor_scope", scopes), read.column("tensor_module", texts),
            read.numbers("tensor_owner"), read.numbers("tensor_bytes"), strict=True,
        )
    ]  # fmt: skip
    if any(tensor.bytes < 0 for tensor in tensors):
        raise BadValue("a tensor has a negative size")
    return ops, tensors


class _Reader:
    """Tables and columns, checked as they are read."""

    def __init__(self, tables: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        self._tables = tables
        self._arrays = arrays

    def table(self, name: str, kind: type[Item]) -> list[Item]:
        found = self._tables.get(name) if isinstance(self._tables, Mapping) else None
        if not isinstance(found, list) or any(type(each) is not kind for each in found):
            raise BadValue(f"the table {name} is missing, or is not a list of {kind.__name__}")
        return found

    def enum_values(self, name: str, kind: Callable[[str], Any]) -> list[str]:
        found = self.table(name, str)
        try:
            for value in found:
                kind(value)
        except ValueError:
            raise BadValue(f"the table {name} lists something that this version does not have") from None
        return found

    def numbers(self, name: str) -> list[int]:
        """A column of whole numbers."""
        found = self._arrays.get(name)
        if found is None or found.ndim != 1 or found.dtype != np.int64:
            raise BadValue(f"the column {name} is missing, or is not a list of 64-bit numbers")
        listed: list[int] = found.tolist()
        return listed

    def column(self, name: str, table: Sequence[Item], *, optional: bool = False) -> list[Any]:
        """A column of entries of `table`; -1 stands for none where that is allowed."""
        lowest = -1 if optional else 0
        found = self.numbers(name)
        if any(not lowest <= number < len(table) for number in found):
            raise BadValue(f"the column {name} refers to an entry that does not exist")
        return [None if number < 0 else table[number] for number in found]

    def lists(self, name: str, table: Sequence[Any] | None = None) -> list[Sequence[Any]]:
        """A column of lists."""
        values = self.numbers(f"{name}_values") if table is None else self.column(f"{name}_values", table)
        begins = self.numbers(f"{name}_begins")
        ends = [*begins[1:], len(values)] if begins else []
        if begins and (begins[0] != 0 or any(b > e for b, e in zip(begins, ends, strict=True))):
            raise BadValue(f"the lists of {name} overlap")
        return [values[b:e] for b, e in zip(begins, ends, strict=True)]


def _items(attributes: Mapping[str, Any]) -> tuple[tuple[str, str, Any], ...]:
    """Attributes as something to compare; the type is there because True equals 1."""
    return tuple(sorted((name, type(value).__name__, value) for name, value in attributes.items()))


def _numbers(values: Iterable[int]) -> NDArray[Any]:
    return np.fromiter((int(value) for value in values), dtype=np.int64)


def _lists(name: str, lists: Iterable[Sequence[int]]) -> Arrays:
    begins: list[int] = []
    values: list[int] = []
    for each in lists:
        begins.append(len(values))
        values.extend(each)
    return {f"{name}_begins": _numbers(begins), f"{name}_values": _numbers(values)}


def _text(value: Any) -> str:
    if type(value) is not str:
        raise BadValue("a scope is not a list of texts")
    return value


def _line(entry: list[Any]) -> SourceLine:
    if [type(each) for each in entry] != [str, int, str]:
        raise BadValue("a source line is not a file, a number and a function")
    return SourceLine(*entry)


def _work(entry: list[Any]) -> works.Work:
    if len(entry) != 2 or entry[0] not in _WORKS:
        raise BadValue(f"{str(entry[:1])[:60]} is not a kind of work that this version has")
    made: works.Work = decode(_WORKS[entry[0]], entry[1])
    check_work(made)
    return made


def _attributes(entry: dict[str, Any]) -> Mapping[str, Any]:
    if any(type(value) not in (str, int, float, bool) for value in entry.values()):
        raise BadValue("an attribute of an op is neither a number nor a text")
    return entry
