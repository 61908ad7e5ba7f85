"""Parses the command line of `poprun`: options up to the first word that is not an option, then the program.

Long options can be abbreviated if that is unambiguous. A value follows in the next word or after `=`, and a flag needs
none. A value may start with a dash (`--mpi-global-args "--mca btl tcp"`), which argparse does not support. All mistakes
are collected and shown together.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any

from tremula.formatting import plain
from tremula.launch.options import (
    BY_NAME,
    BY_SHORT,
    CHOICE,
    COUNT,
    FLAG,
    FLAG_WORDS,
    INDEX,
    OPTIONS,
    SWITCH,
    Option,
    Settings,
)

COMMAND_LINE = "the command line"
_MAX_NUMBER = 1_000_000


class BadValueError(ValueError):
    """A value that an option does not accept. The text says what the option accepts."""


def parse(words: Sequence[str]) -> tuple[Settings, list[str]]:
    """The settings in `words`, and the problems with them, one sentence each."""
    settings = Settings()
    problems: list[str] = []
    rest = list(words)
    while rest:
        word = rest[0]
        if word == "--":
            rest.pop(0)
            break
        if not word.startswith("-") or word == "-":
            break
        rest.pop(0)
        _read(word, rest, settings, problems)
    settings.command = rest
    return settings, problems


def value_of(option: Option, text: str) -> Any:
    """Parse the value `text`. Raises BadValueError if it is not valid."""
    if "\0" in text:
        raise BadValueError("takes no text with a NUL character")
    if option.kind == FLAG:
        if text.strip().lower() not in FLAG_WORDS:
            raise BadValueError(f"takes yes or no (also {', '.join(FLAG_WORDS)})")
        return FLAG_WORDS[text.strip().lower()]
    if option.kind in (COUNT, INDEX):
        least = 1 if option.kind == COUNT else 0
        try:
            number = int(text.strip())
        except ValueError:
            raise BadValueError(f"takes a whole number of {least} or more") from None
        return checked_number(option, number)
    if option.kind == CHOICE and text not in option.choices:
        raise BadValueError(f"takes {', '.join(option.choices[:-1])} or {option.choices[-1]}")
    return text


def checked_number(option: Option, number: int) -> int:
    """`number`, if the option takes it; raises BadValueError if it is out of range."""
    least = 1 if option.kind == COUNT else 0
    if not least <= number <= _MAX_NUMBER:
        raise BadValueError(f"takes a whole number of {least} or more, up to {_MAX_NUMBER}")
    return number


def _read(word: str, rest: list[str], settings: Settings, problems: list[str]) -> None:
    """One option with its value, if it has one, which is taken from `rest`."""
    name, equals, inline = word.partition("=")
    option, problem = _find(name)
    if option is None and name[:2] in BY_SHORT and BY_SHORT[name[:2]].kind != SWITCH:
        option, equals, inline = BY_SHORT[name[:2]], "=", word[2:].removeprefix("=")  # -Hhost0,host1
    if option is None:
        problems.append(problem)
        if not equals and rest and not rest[0].startswith("-") and len(rest) > 1 and rest[1].startswith("-"):
            rest.pop(0)  # most likely its value: the options behind it are still worth a look
        return
    spelled = f"--{option.name}"
    if option.kind == SWITCH:
        if equals:
            problems.append(f"{spelled} takes no value, but {plain(inline, 60)!r} was given.")
        elif option.name == "verbose" and settings.verbose:
            settings.put(BY_NAME["vv"], True, COMMAND_LINE)  # -v -v
        else:
            settings.put(option, True, COMMAND_LINE)
        return
    if option.name in settings.given:
        problems.append(f"{spelled} was given twice; give it once.")
    if equals:
        text = inline
    elif option.kind == FLAG:
        text = rest.pop(0) if rest and rest[0].strip().lower() in FLAG_WORDS else "yes"
    elif not rest or (_is_option(rest[0]) and not option.any_word):
        problems.append(f"{spelled} needs a value{f' ({option.value})' if option.value else ''}.")
        return
    else:
        text = rest.pop(0)
    try:
        settings.put(option, value_of(option, text), COMMAND_LINE)
    except BadValueError as error:
        problems.append(f"{spelled} {error}, but {plain(text, 60)!r} was given.")


def _find(name: str) -> tuple[Option | None, str]:
    """The option that a word names, or why it does not name one."""
    if name in BY_SHORT:
        return BY_SHORT[name], ""
    if name.startswith("--"):
        wanted = name[2:]
        if wanted in BY_NAME:
            return BY_NAME[wanted], ""
        matches = [option for option in OPTIONS if wanted and option.name.startswith(wanted)]
        if len(matches) == 1:
            return matches[0], ""
        if matches:
            could = ", ".join(f"--{option.name}" for option in matches)
            return None, f"Ambiguous option {plain(name, 60)}: it could be {could}. Write more of its name."
    near = difflib.get_close_matches(name.lstrip("-").replace("_", "-"), list(BY_NAME), n=1)
    hint = f" Did you mean --{near[0]}?" if near else " `poprun --help` lists the options."
    return None, f"Unknown option {plain(name, 60)}.{hint}"


def _is_option(word: str) -> bool:
    """Whether a word is exactly one of our options, and so cannot be the value of another."""
    name = word.partition("=")[0]
    return name in BY_SHORT or (name.startswith("--") and name[2:] in BY_NAME)
