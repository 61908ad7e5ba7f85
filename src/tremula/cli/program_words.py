"""Command lines with a program in them: which words are options of the command, and which belong to the program.

Options of the command come before the program or directly after it. The program's own arguments start at the first
other word after the program, or at `--`, which the program does not see. An option of the command after the program's
own arguments is ambiguous: this is an error that shows the two unambiguous orders.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass
class _Words:
    """The words of a command line, split into options and program."""

    #: options of the command, with their values
    options: list[str] = field(default_factory=list)
    #: the subject: `run`, a program or a function; with `-m` for a module
    named: list[str] = field(default_factory=list)
    #: arguments of the program
    own: list[str] = field(default_factory=list)


class ProgramParser(argparse.ArgumentParser):
    """Parses a command line with a program in it: `subject` is the first word, `arguments` are the others.

    Set `keyword` to the word before a program (`run`); without one, `-m` is an option of the command.
    A subject that is not a program takes no arguments: then all options belong to the command.
    """

    takes_program = False
    keyword: str | None = None
    #: whether a path that ends in .py is a program without the keyword
    bare_programs = False

    def parse_known_args(self, args=None, namespace=None):  # type: ignore[no-untyped-def]
        """Put the options before the program, then parse as usual."""
        if not self.takes_program or args is None:
            return super().parse_known_args(args, namespace)
        words = self._sorted_out(list(args))
        first = ["--", words.named[0]] if words.named else []
        found, unknown = super().parse_known_args([*words.options, *first], namespace)
        found.arguments = [*words.named[1:], *words.own]
        return found, unknown

    def _sorted_out(self, words: list[str]) -> _Words:
        found, at = _Words(), 0
        while at < len(words):
            word = words[at]
            if word == "--":
                rest = words[at + 1 :]
                missing = not self._complete(found.named)
                found.named += rest[: int(missing)]
                found.own += rest[int(missing) :]
                return found
            if not self._complete(found.named):
                ours = word.startswith("-") and not (found.named and word == "-m")
            elif self._is_program(found.named):
                ours = self._is_option(word) and not found.own
                if not ours and self._is_option(word, abbreviated=True):
                    self._refuse(word, found, words[at:])
            else:
                ours = word.startswith("-")
            if ours:
                size = self._size(word)
                found.options += words[at : at + size]
            else:
                size = 1
                (found.own if self._complete(found.named) else found.named).append(word)
            at += size
        return found

    def _complete(self, named: Sequence[str]) -> bool:
        """Whether the words name a program, and not another kind of subject."""
        rest = [word for word in named if word != "-m"]
        return len(rest) > (1 if rest[:1] == [self.keyword] else 0)

    def _is_program(self, named: Sequence[str]) -> bool:
        first = named[0]
        return self.keyword in (None, first) or (self.bare_programs and first.endswith(".py"))

    def _is_option(self, word: str, *, abbreviated: bool = False) -> bool:
        """Whether a word is an option of the command, or with `abbreviated` the beginning of one."""
        name = word.partition("=")[0]
        known = [each for each in self._option_string_actions if each != "-m"]
        if name in known:
            return True
        if not abbreviated or not word.startswith("-"):
            return False
        if word.startswith("--"):
            return len(name) > 3 and any(each.startswith(name) for each in known)
        return any(word.startswith(each) for each in known if len(each) == 2)

    def _size(self, word: str) -> int:
        """How many words an option takes, itself included."""
        name, joined, _ = word.partition("=")
        actions = self._option_string_actions
        action = actions.get(name)
        if action is None and word.startswith("--"):
            action = next((actions[each] for each in actions if each.startswith(name)), None)
        return 1 if joined or action is None or action.nargs == 0 else 2

    def _refuse(self, word: str, found: _Words, rest: Sequence[str]) -> None:
        size = self._size(word)
        option, others = rest[:size], rest[size:]
        program, before = [*found.named, *found.own], [*found.options]
        ours = shlex.join([*self.prog.split(), *before, *option, *program, *others])
        own = shlex.join([*self.prog.split(), *before, *found.named, "--", *found.own, *rest])
        self.error(
            f"{word} after the program is ambiguous. If it is an option of `{self.prog}`, write\n"
            f"  {ours}\nIf it is an argument of the program, write\n  {own}"
        )
