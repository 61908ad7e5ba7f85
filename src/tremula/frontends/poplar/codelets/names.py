"""Names of vertex types: one spelling for all that mean the same, such as `X<unsigned, 1u>` and `X<unsigned int,1>`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, TypeVar

_Value = TypeVar("_Value")

_TOKEN = re.compile(r"[A-Za-z_]\w*|\d\w*|::|[^\s\w]")
_BUILTIN = {"unsigned", "signed", "short", "long", "int", "char"}
_FIXED = {
    "int8_t": "signed char", "uint8_t": "unsigned char", "int16_t": "short", "uint16_t": "unsigned short",
    "int32_t": "int", "uint32_t": "unsigned int", "int64_t": "long long", "uint64_t": "unsigned long long",
    "IeeeHalf": "half", "_Float16": "half",
}  # fmt: skip
_DROPPED = {"class", "struct", "enum", "typename", "const", "volatile"}
_ANONYMOUS = re.compile(r"(\{anonymous\}|<unnamed>|\(anonymous namespace\))::")
_NUMBER = re.compile(r"(\d+|0[xX][0-9a-fA-F]+)[uUlL]*")


@lru_cache(maxsize=8192)
def canonical(name: str) -> str:
    """The one spelling of a vertex type's name."""
    if name.isidentifier():
        return name
    name = _ANONYMOUS.sub("", name)
    words: list[str] = []
    builtin: list[str] = []
    for token in _TOKEN.findall(name):
        if token in _BUILTIN:
            builtin.append(token)
            continue
        if builtin:
            words.append(_builtin(builtin))
            builtin = []
        if token in _DROPPED:
            continue
        words.append(_word(token))
    if builtin:
        words.append(_builtin(builtin))
    text = ""
    for word in words:
        gap = text[-1:].isalnum() and word[:1].isalnum()
        text += f" {word}" if gap else word
    return re.sub(
        r"\b(std|poplar)::(?=(half|signed char|unsigned char|short|unsigned short|int|unsigned int)\b)",
        "",
        text,
    ).removeprefix("::")


def _word(token: str) -> str:
    number = _NUMBER.fullmatch(token)
    if number:
        return (
            str(int(number[1], 0)) if not number[1].startswith("0") or number[1][1:2] in "xX" else number[1]
        )
    return _FIXED.get(token, token)


def _builtin(words: list[str]) -> str:
    sign = "unsigned " if "unsigned" in words else ""
    if "char" in words:
        return f"{sign}char" if sign or "signed" not in words else "signed char"
    if "short" in words:
        return f"{sign}short"
    if "long" in words:
        return f"{sign}long long" if words.count("long") > 1 else f"{sign}long"
    return f"{sign}int"


class NameTable(dict[str, _Value]):
    """Values by the names of vertex types, found under every spelling of a name."""

    def __setitem__(self, name: str, value: _Value) -> None:
        super().__setitem__(canonical(name), value)

    def __getitem__(self, name: str) -> _Value:
        return super().__getitem__(canonical(name))

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and super().__contains__(canonical(name))

    def get(self, name: str, default: Any = None) -> Any:
        """The value of a name, or the default."""
        return super().get(canonical(name), default)

    def names(self) -> Iterator[str]:
        """All names, sorted."""
        yield from sorted(self)
