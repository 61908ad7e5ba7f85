"""What to tell users whose codelets need the chip itself: assembly, and builtins that name its registers."""

from __future__ import annotations

from collections.abc import Sequence

from tremula.frontends.poplar.codelets.cpp.compiler import CompilerFailed
from tremula.frontends.poplar.codelets.cpp.scan import Token
from tremula.frontends.poplar.errors import GraphProgramCompilationError, PoplarError

_ASSEMBLY = ("asm", "__asm__", "__asm")
_BUILTIN = "__builtin_ipu_"


def check(words: Sequence[Token], title: str) -> None:
    """Refuse what holds nothing that could be a codelet."""
    if not words:
        raise GraphProgramCompilationError(
            f"{title} holds no code after preprocessing: codelets in a file that is a program as well belong behind "
            "#ifdef __POPC__"
        )


def explained(problem: CompilerFailed, words: Sequence[Token]) -> PoplarError:
    """The error, with the places that need the chip's own compiler where the messages point at them."""
    places = []
    for number, word in enumerate(words):
        if word.text.startswith(_BUILTIN) and word.text in problem.messages:
            places.append(f"{word.file}:{word.line}: {word.text} is a builtin of the chip's compiler")
        elif word.text in _ASSEMBLY and _is_instruction(words, number):
            places.append(f"{word.file}:{word.line}: inline assembly for the chip")
    if "designator order" in problem.messages:
        return GraphProgramCompilationError(
            f"{problem.message}\nGCC takes designated initialisers only in the order of the declaration, unlike the "
            "chip's compiler: put them into that order, or name a Clang with TREMULA_CXX."
        )
    assembler = "Error: " in problem.messages or "asm" in problem.messages
    told = list(dict.fromkeys(place for place in places if assembler or _BUILTIN in place))
    if not told:
        return problem
    listed = "\n  ".join(told[:10])
    return GraphProgramCompilationError(
        f"{problem.what} needs the chip itself, so it cannot run here:\n  {listed}\nPut a portable form beside it "
        f"(behind #ifdef __IPU__ ... #else), or write the codelet as a Python class. The compiler said:\n"
        f"{problem.messages.strip()}"
    )


def _is_instruction(words: Sequence[Token], number: int) -> bool:
    """Whether a statement of assembly holds an instruction; empty ones are barriers."""
    following = [each.text for each in words[number + 1 : number + 6]]
    texts = [each for each in following if each.startswith(('"', 'R"'))]
    return any(text.strip('R"() \n') for text in texts)
