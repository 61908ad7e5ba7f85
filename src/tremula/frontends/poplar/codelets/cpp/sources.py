"""What codelets in C++ are made from: files or text, and the flags of their author."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from tremula import log
from tremula.frontends.poplar.errors import GraphObjectLoadError

#: flags that may be followed by a space before the rest of them
_WITH_WORD = ("-I", "-D", "-U", "-include", "-isystem", "-iquote")
_PREFIXES = ("-I", "-D", "-U", "-isystem", "-iquote", "-include", "-std=", "-O", "-W", "-f", "-g")
#: stands for the folder that texts are written to, in flags
HERE = "@"
#: they choose something that the host's compiler has not, or takes away what the wrapper needs
_WITHOUT_EFFECT = ("-fno-exceptions", "-fno-rtti", "-ffast-math", "-flto", "-fsanitize")
ASSEMBLY = (".s", ".S", ".asm")


@dataclass(frozen=True)
class Sources:
    """Sources that are compiled together, in the order in which they are included.

    `files` are read where they lie. `contents` are texts by the names that they are to have: main texts and what they
    include, which are written to a folder of their own for the compiler.
    """

    files: tuple[Path, ...] = ()
    flags: tuple[str, ...] = ()
    main: tuple[str, ...] = ()
    contents: Mapping[str, str] = field(default_factory=dict)
    #: what messages call them; it is not part of what is compiled
    name: str = ""

    @property
    def title(self) -> str:
        """The sources in words, for messages."""
        return self.name or ", ".join([*(str(each) for each in self.files), *self.main]) or "no file"

    @property
    def compile_flags(self) -> tuple[str, ...]:
        """The flags that matter once the text is preprocessed."""
        words = list(self.flags)
        kept = []
        while words:
            word = words.pop(0)
            if word in _WITH_WORD:
                words = words[1:]
            elif not word.startswith(_WITH_WORD):
                kept.append(word)
        return tuple(kept)

    def with_flags(self, flags: str) -> Sources:
        """The same with more flags."""
        return replace(self, flags=(*self.flags, *honoured(flags)))

    def write(self, folder: Path) -> list[Path]:
        """The main files; texts are written below `folder` first."""
        for name, text in self.contents.items():
            place = folder / name
            try:
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(text, encoding="utf-8")
            except OSError as problem:
                raise GraphObjectLoadError(
                    f"{self.title}: {name!r:.80} cannot be written: {problem.strerror or problem}"
                ) from None
        return [*self.files, *(folder / name for name in self.main)]

    def flags_in(self, folder: Path) -> tuple[str, ...]:
        """The flags, with the folder that texts were written to where they name it."""
        return tuple(each.replace(f"{HERE}/", f"{folder}/") for each in self.flags)


def of_files(paths: list[Path], flags: str) -> Sources:
    """Sources from files; assembly is refused."""
    for path in paths:
        if path.suffix in ASSEMBLY:
            raise GraphObjectLoadError(
                f"{path} is assembly for the chip, which nothing here can run: give the same codelet in C++ "
                "(many have one behind #ifdef __IPU__) or as a Python class"
            )
        if not path.is_file():
            raise GraphObjectLoadError(f"the file of codelets {path} does not exist (in {Path.cwd()})")
    return Sources(tuple(path.resolve() for path in paths), honoured(flags))


def of_text(text: str, flags: str, name: str = "") -> Sources:
    """Sources from a text; `name` is what messages call it."""
    return Sources((), honoured(flags), ("codelets.cpp",), {"codelets.cpp": text + "\n"}, name)


def honoured(flags: str) -> tuple[str, ...]:
    """The flags that the host's compiler is given; of others one warning says that they have no effect."""
    words = shlex.split(flags)
    kept: list[str] = []
    place = 0
    while place < len(words):
        word = words[place]
        place += 1
        if word in _WITH_WORD and place < len(words):
            kept.append(word + words[place])  # one word, so that it goes as a whole where it is left out
            place += 1
        elif word.startswith(_WITHOUT_EFFECT) or not word.startswith(_PREFIXES):
            if word in ("-target", "--target", "-mcpu", "-march", "-o", "-X", "-mllvm") and place < len(
                words
            ):
                word += f" {words[place]}"
                place += 1
            log.no_effect(
                f"the compile flag {word}", "codelets are compiled for this computer, with its own compiler"
            )
        else:
            kept.append(word)
    return tuple(kept)
