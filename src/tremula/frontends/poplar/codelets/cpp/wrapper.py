"""The text that is compiled: the user's preprocessed code, followed by a table of its vertex types."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tremula.frontends.poplar.codelets.cpp.scan import Found

#: our headers that codelets include, and those that only we include
PUBLIC_HEADERS = Path(__file__).parents[2] / "cpp" / "include"
OWN_HEADERS = Path(__file__).parents[2] / "cpp" / "codelet"

_TARGET = re.compile(r'\btarget\s*\(\s*"(?:supervisor|worker)"\s*\)')
_BRACKETS = re.compile(r"\[\[\s*(?:gnu|clang)\s*::\s*(?=target\b)[^\]]*\]\]")


@dataclass(frozen=True)
class Candidate:
    """A type that may be a vertex: its text in its namespaces, its full name, and what may be its members."""

    scope: tuple[str, ...]
    text: str
    members: tuple[str, ...]

    @property
    def spelled(self) -> str:
        """Its full name as the code spells it."""
        prefix = "::".join(self.scope)
        text = self.text.replace(" ", "")
        plain = re.sub(r"\s*(::|[<>,()])\s*", r"\1", self.text)
        return f"{prefix}::{plain}" if prefix and not text.startswith(f"{prefix}::") else plain


def main_text(files: Sequence[Path]) -> str:
    """What is given to the preprocessor."""
    return "".join(
        ["#include <tremula_binding.hpp>\n", *(f'#include "{_escaped(each)}"\n' for each in files)]
    )


def candidates(found: Found) -> list[Candidate]:
    """The types to ask the compiler about."""
    types: dict[tuple[tuple[str, ...], str], Candidate] = {}
    for each in found.classes:
        if not each.template and each.bases:
            types[each.scope, each.name] = Candidate(
                each.scope, each.name, tuple(found.members_of(each.name))
            )
    for scope, text in found.instantiations:
        name = re.split(r"<", text, maxsplit=1)[0].split("::")[-1].strip()
        if any(each.name == name and each.bases for each in found.classes):
            types[scope, text] = Candidate(scope, text, tuple(found.members_of(name)))
    return list(types.values())


def host_code(preprocessed: str) -> str:
    """The code without what only the chip's compiler knows."""
    return _TARGET.sub("", _BRACKETS.sub("", preprocessed))


def tail(types: Sequence[Candidate]) -> str:
    """The table of vertex types, in C++ that uses no macros."""
    lines = ['\n# 1 "<tremula>"\n']
    names = {
        name: number for number, name in enumerate(sorted({name for each in types for name in each.members}))
    }
    lines += [_name_type(name, number) for name, number in names.items()]
    entries, spelled = [], []
    for number, each in enumerate(types):
        alias = f"TremulaVertex{number}"
        opened = "".join(f"namespace {name} {{ " for name in each.scope)
        lines.append(f"{opened}using {alias} = {each.text};{' }' * len(each.scope)}\n")
        full = "::".join(("", *each.scope, alias))
        fields = "".join(f", TremulaName{names[name]}" for name in each.members)
        entries.append(f"tremula_codelet::entry<{full}{fields}>()")
        spelled.append(f'"{each.spelled}"')
    empty = "tremula_codelet::Entry{nullptr, nullptr, nullptr}"
    lines.append(
        f"static const tremula_codelet::Entry tremulaEntries[] = {{{', '.join([*entries, empty])}}};\n"
    )
    lines.append(f"static const char *const tremulaSpelled[] = {{{', '.join([*spelled, 'nullptr'])}}};\n")
    lines.append(f"static const std::int64_t tremulaEntryCount = {len(types)};\n")
    lines.append((OWN_HEADERS / "tremula_exports.hpp").read_text(encoding="utf-8"))
    return "".join(lines)


def _name_type(name: str, number: int) -> str:
    """A type that says where the member `name` of a class is, or that there is none."""
    return (
        f'struct TremulaName{number} {{ static constexpr const char *name = "{name}";'
        f" template <class T> static constexpr auto pointer(int) -> decltype(&T::{name}) {{ return &T::{name}; }}"
        " template <class T> static constexpr decltype(nullptr) pointer(...) { return nullptr; } };\n"
    )


def _escaped(path: Path) -> str:
    return str(path).replace("\\", "\\\\").replace('"', '\\"')
