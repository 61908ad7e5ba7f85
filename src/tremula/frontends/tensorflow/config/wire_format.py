"""Protocol buffer messages from a table of their fields, without a compiler of .proto files.

A row of a message is `number type name`; `repeated` before the type makes a list, `oneof:group` an alternative of a
group. Types are those of proto3, an enumeration of the table, or a message of it; messages that belong to another one
have dotted names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.internal import enum_type_wrapper

_SCALARS = {
    kind: getattr(descriptor_pb2.FieldDescriptorProto, f"TYPE_{kind.upper()}")
    for kind in ("bool", "bytes", "double", "int32", "int64", "string")
}


class Schema:
    """The messages and enumerations of one file.

    Args:
        file: its name, as messages refer to it.
        package: the prefix of all its names.
        enums: the words of each enumeration, numbered from 0; dotted names belong to a message.
        messages: the rows of each message.
    """

    def __init__(
        self, file: str, package: str, enums: Mapping[str, str], messages: Mapping[str, str]
    ) -> None:
        self._package = package
        self._enums = enums
        self._file = descriptor_pb2.FileDescriptorProto(name=file, package=package, syntax="proto3")
        self._descriptions: dict[str, Any] = {"": self._file}
        for name in messages:
            self._add_message(name)
        for name, words in enums.items():
            self._add_enum(name, words.split())
        for name, rows in messages.items():
            for row in rows.strip().splitlines():
                self._add_field(name, row.split())
        self._pool = descriptor_pool.DescriptorPool()
        self._pool.Add(self._file)

    def message(self, name: str) -> Any:
        """The class of a message."""
        return message_factory.GetMessageClass(self._pool.FindMessageTypeByName(f"{self._package}.{name}"))

    def enum(self, name: str) -> Any:
        """An enumeration: `enum.Value(word)`, `enum.Name(number)`, `enum.WORD`."""
        return enum_type_wrapper.EnumTypeWrapper(self._pool.FindEnumTypeByName(f"{self._package}.{name}"))

    def _add_message(self, name: str) -> None:
        outer, _, own = name.rpartition(".")
        holder = self._descriptions[outer]
        kinds = holder.nested_type if outer else holder.message_type
        self._descriptions[name] = kinds.add(name=own)

    def _add_enum(self, name: str, words: list[str]) -> None:
        outer, _, own = name.rpartition(".")
        description = self._descriptions[outer].enum_type.add(name=own)
        for number, word in enumerate(words):
            description.value.add(name=word, number=number)

    def _add_field(self, message: str, words: list[str]) -> None:
        *labels, kind, name = words[1:]
        holder = self._descriptions[message]
        field = holder.field.add(name=name, number=int(words[0]))
        field.label = field.LABEL_REPEATED if "repeated" in labels else field.LABEL_OPTIONAL
        for label in labels:
            if label.startswith("oneof:"):
                group = label.removeprefix("oneof:")
                known = [each.name for each in holder.oneof_decl]
                if group not in known:
                    holder.oneof_decl.add(name=group)
                    known.append(group)
                field.oneof_index = known.index(group)
        if kind in _SCALARS:
            field.type = _SCALARS[kind]
        else:
            field.type = field.TYPE_ENUM if kind in self._enums else field.TYPE_MESSAGE
            field.type_name = f".{self._package}.{kind}"
