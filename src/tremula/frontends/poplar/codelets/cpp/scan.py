"""Finds vertex classes, what their text may call members, and explicit instantiations, in preprocessed C++.

The result may name too much, never too little: the compiler decides which names are members and which classes are
vertices (`wrapper`). System headers are left out, function bodies are skipped.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tremula.frontends.poplar.codelets.cpp.names_in_text import KEYWORDS

_MARKER = re.compile(r'^# (\d+) "((?:[^"\\]|\\.)*)"([ \d]*)$', re.MULTILINE)
_TOKEN = re.compile(
    r'R"(?P<mark>[^()\s\\]*)\(.*?\)(?P=mark)"|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\''
    r"|[A-Za-z_]\w*|\.?\d(?:[\w.']|[eEpP][+-])*|::|->|\n|[^\s]",
    re.DOTALL,
)
_PRAGMA = re.compile(r"^[ \t]*#.*$", re.MULTILINE)


@dataclass(frozen=True)
class Token:
    """A word of the user's code, and where it stands."""

    text: str
    file: str
    line: int


@dataclass
class ClassFound:
    """A class of the user's: its namespaces, its name, what it derives from, and what may be its members."""

    scope: tuple[str, ...]
    name: str
    bases: set[str]
    members: list[str]
    template: bool


@dataclass
class Found:
    """What a text declares."""

    classes: list[ClassFound] = field(default_factory=list)
    #: namespaces and text of each explicit instantiation
    instantiations: list[tuple[tuple[str, ...], str]] = field(default_factory=list)

    def members_of(self, name: str) -> list[str]:
        """What may be members of a class or of those that it derives from."""
        members: dict[str, None] = {}
        waiting, done = [name], set()
        while waiting:
            current = waiting.pop()
            done.add(current)
            for each in self.classes:
                if each.name == current:
                    members.update(dict.fromkeys(each.members))
                    waiting.extend(each.bases - done)
        return list(members)


def tokens(preprocessed: str) -> list[Token]:
    """The words of the user's code."""
    found: list[Token] = []
    position, file, line, system = 0, "", 1, False
    markers = [*_MARKER.finditer(preprocessed), None]
    for marker in markers:
        end = len(preprocessed) if marker is None else marker.start()
        if not system:
            _tokens_of(preprocessed[position:end], file, line, found)
        if marker is None:
            break
        position, file, line = marker.end() + 1, marker[2], int(marker[1])
        system = "3" in marker[3].split()
    return found


def _tokens_of(text: str, file: str, line: int, found: list[Token]) -> None:
    for match in _TOKEN.finditer(_PRAGMA.sub("", text)):
        word = match[0]
        if word == "\n":
            line += 1
            continue
        found.append(Token(word, file, line))
        line += word.count("\n")


def scan(words: list[Token]) -> Found:
    """Classes and explicit instantiations."""
    return _Scanner([each.text for each in words]).scan()


class _Scanner:
    def __init__(self, words: list[str]) -> None:
        self.words = words
        self.at = 0
        self.found = Found()

    def scan(self) -> Found:
        while self.at < len(self.words):
            self._scope(())
            self.at += 1  # a brace too many
        return self.found

    def _word(self, ahead: int = 0) -> str:
        place = self.at + ahead
        return self.words[place] if place < len(self.words) else ""

    def _scope(self, scope: tuple[str, ...]) -> None:
        template = False
        while self.at < len(self.words):
            word = self._word()
            if word == "}":
                return
            if word == "namespace":
                self._namespace(scope)
            elif word == "extern" and self._word(1).startswith('"') and self._word(2) == "{":
                self.at += 3
                self._scope(scope)
                self.at += 1
            elif word == "extern" and self._word(1) == "template":
                while self._word() not in (";", ""):
                    self.at += 1
            elif word == "template" and self._word(1) == "<":
                template = self._word(2) != ">"
                self.at += 1
                self._angles()
                continue
            elif word == "template" and self._word(1) in ("class", "struct"):
                self._instantiation(scope)
            elif word in ("class", "struct"):
                self._class(scope, template)
            elif word == "enum":
                while self._word() not in ("{", ";", ""):
                    self.at += 1
            elif word == "{":
                self._braces()
            elif word == "(":
                self._balanced("(", ")")
            else:
                if word == ";":
                    template = False
                self.at += 1
                continue
            template = False

    def _namespace(self, scope: tuple[str, ...]) -> None:
        self.at += 1
        names: list[str] = []
        while self._word() not in ("{", ";", "=", ""):
            if self._word() == "[":
                self._balanced("[", "]")
                continue
            if self._word() not in ("::", "inline"):
                names.append(self._word())
            self.at += 1
        if self._word() == "{":
            self.at += 1
            self._scope((*scope, *names))
            self.at += 1

    def _instantiation(self, scope: tuple[str, ...]) -> None:
        self.at += 2
        words: list[str] = []
        while self._word() not in (";", ""):
            words.append(self._word())
            self.at += 1
        self.found.instantiations.append((scope, " ".join(words)))

    def _class(self, scope: tuple[str, ...], template: bool) -> None:
        self.at += 1
        name, bases, specialised, depth = "", set[str](), False, 0
        inherits = False
        while self._word() not in ("{", ";", "=", ")", ""):
            word = self._word()
            if word == "[":
                self._balanced("[", "]")
                continue
            if word in ("__attribute__", "alignas", "__attribute"):
                self.at += 1
                self._balanced("(", ")")
                continue
            if word == "(":
                self._balanced("(", ")")
                return
            if word == "<" and not inherits:
                specialised = True
                self._angles()
                continue
            if word == ":":
                inherits = True
            elif inherits and _is_name(word):
                bases.add(word)
            elif _is_name(word) and word != "final":
                if specialised and depth == 0:
                    break  # `struct X<int> name`: a variable
                name = word
            self.at += 1
        if self._word() == "{":
            members = self._members()
            if name:
                self.found.classes.append(ClassFound(scope, name, bases, members, template or specialised))

    def _members(self) -> list[str]:
        members: list[str] = []
        self.at += 1
        while self._word() not in ("}", ""):
            word = self._word()
            if word == "{":
                self._braces()
            elif word == "(":
                self._balanced("(", ")")
            elif word == "[":
                self._balanced("[", "]")
            else:
                if _is_name(word) and self._word(1) in (";", "=", "[", "{", ",", ":"):
                    members.append(word)
                self.at += 1
        self.at += 1
        return members

    def _braces(self) -> None:
        self._balanced("{", "}")

    def _balanced(self, opening: str, closing: str) -> None:
        """Skip to behind the bracket that closes the one here."""
        depth = 0
        while self.at < len(self.words):
            word = self.words[self.at]
            self.at += 1
            if word == opening:
                depth += 1
            elif word == closing:
                depth -= 1
                if depth <= 0:
                    return

    def _angles(self) -> None:
        """Skip template arguments: brackets inside them are balanced."""
        depth = 0
        while self.at < len(self.words):
            word = self.words[self.at]
            if word == "(":
                self._balanced("(", ")")
                continue
            self.at += 1
            if word == "<":
                depth += 1
            elif word == ">":
                depth -= 1
                if depth == 0:
                    return
            elif word in (";", "{"):
                self.at -= 1
                return


def _is_name(word: str) -> bool:
    return word.isidentifier() and word not in KEYWORDS
