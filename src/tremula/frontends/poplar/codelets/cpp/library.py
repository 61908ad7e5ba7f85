"""Compiled codelets: built once for each content, kept in the user's cache, loaded as a shared library.

The key covers the preprocessed text, so every included file counts, with the flags and the compiler. An entry of
the cache is signed with the user's own key and read once (`tremula.cache`); the bytes that were verified are loaded.
"""

from __future__ import annotations

import contextlib
import ctypes
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tremula.cache import Store, default_root, key_of
from tremula.frontends.poplar.codelets.cpp import advice, compiler, wrapper
from tremula.frontends.poplar.codelets.cpp.compiler import Compiler, CompilerFailed
from tremula.frontends.poplar.codelets.cpp.scan import scan, tokens
from tremula.frontends.poplar.codelets.cpp.sources import Sources
from tremula.frontends.poplar.errors import GraphObjectLoadError

_FORMAT = 1
_NAME = re.compile(r"\[(?:with )?T = (.*?)(?:; std::string = [^\]]*)?\]$")

_Sink = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)


@dataclass(frozen=True)
class MemberFacts:
    """A member of a vertex class, as the compiler sees it."""

    name: str
    kind: str
    direction: str
    type: str
    align: int
    has_size: bool
    extent: int
    bytes: int
    item_bytes: int  #: of a list: bytes of one of its vectors in memory
    offset: int


@dataclass(frozen=True)
class VertexFacts:
    """A vertex class, as the compiler sees it."""

    entry: int
    names: tuple[str, ...]
    base: str
    bytes: int
    code: str  #: yes, no, or assembly
    members: tuple[MemberFacts, ...]


class Library:
    """A loaded library of codelets."""

    def __init__(self, path: Path, title: str) -> None:
        self.title = title
        try:
            self._library = ctypes.CDLL(str(path))
        except OSError as problem:
            missing = "undefined symbol" in str(problem)
            advice_ = ": a function of theirs is declared and has no code in C++" if missing else ""
            raise GraphObjectLoadError(
                f"the compiled codelets of {title} cannot be loaded{advice_} ({problem})"
            ) from None
        pointer, number = ctypes.c_void_p, ctypes.c_int64
        self.bind = self._function("tremula_bind", None, number, pointer, number, pointer)
        self.run = self._function("tremula_run", number, number, pointer, number, pointer)
        #: whether half has 16 bits, or is computed in single precision
        self.accurate_half = bool(self._function("tremula_half_bytes", number)() == 2)
        self._describe = self._function("tremula_describe", ctypes.c_char_p)
        self._failure = self._function("tremula_failure", ctypes.c_char_p)
        self._sink = _Sink(_print)  # kept: the library calls it as long as it is loaded
        self._function("tremula_set_sink", None, _Sink)(self._sink)

    def _function(self, name: str, result: Any, *arguments: Any) -> Callable[..., Any]:
        function = getattr(self._library, name)
        function.restype, function.argtypes = result, list(arguments)
        return function  # type: ignore[no-any-return]

    def failure(self) -> str:
        """Why the last run failed."""
        return bytes(self._failure()).decode(errors="replace")

    def vertices(self) -> list[VertexFacts]:
        """The vertex types in it."""
        found: list[VertexFacts] = []
        members: list[MemberFacts] = []
        entry, head = 0, [""]
        for line in [*bytes(self._describe()).decode().splitlines(), "entry|-1"]:
            kind, _, rest = line.partition("|")
            if kind == "entry":
                if len(head) > 1:
                    found.append(_vertex(entry, head, members))
                entry, head, members = int(rest), [""], []
            elif kind == "vertex":
                head = rest.split("|")
            elif kind == "field":
                members.append(_member(rest.split("|")))
        return found


def _vertex(entry: int, head: list[str], members: list[MemberFacts]) -> VertexFacts:
    # `operator|` in a template argument would be cut: what is behind the names is counted from the end
    spelled, printed = head[0], "|".join(head[1:-3])
    match = _NAME.search(printed)
    names = (spelled, match[1]) if match else (spelled,)
    return VertexFacts(entry, names, head[-3], int(head[-2]), head[-1], tuple(members))


def _member(words: list[str]) -> MemberFacts:
    name, kind, direction, type_, *numbers = words
    align, has_size, extent, size, item, offset = map(int, numbers)
    return MemberFacts(
        name, kind, direction, type_, max(align, 1), bool(has_size), extent, size, item, offset
    )


def _print(text: int, length: int) -> None:
    stream = sys.stdout
    if stream is not None:
        stream.write(ctypes.string_at(text, length).decode(errors="replace"))


@dataclass(frozen=True)
class Prepared:
    """Preprocessed codelets with the table of their vertex types, ready to be compiled."""

    compiler: Compiler
    code: str
    flags: tuple[str, ...]
    title: str

    def key(self, what: str) -> str:
        """What names the result in the cache."""
        return key_of(
            {
                "kind": f"poplar codelets, {what}", "format": _FORMAT, "compiler": self.compiler.identity,
                "flags": list(self.flags), "code": self.code,
            }
        )  # fmt: skip


def prepare(sources: Sources, accurate_half: bool, workers: int) -> Prepared:
    """Preprocess sources and find their vertex types."""
    found = compiler.require(sources.title)
    with tempfile.TemporaryDirectory(prefix="tremula-codelets-") as place:
        folder = Path(place)
        main = sources.write(folder)
        code, defined = _preprocessed(found, sources, main, folder, accurate_half, workers)
        code = code.replace(f"{folder}/", "")
    words = tokens(code)
    advice.check(words, sources.title)
    types = wrapper.candidates(scan(words))
    flags = (*found.flags, *sources.compile_flags)
    return Prepared(found, wrapper.host_code(code) + wrapper.tail(types), (*flags, *defined), sources.title)


def _preprocessed(
    found: Compiler, sources: Sources, main: Sequence[Path], folder: Path, accurate_half: bool, workers: int
) -> tuple[str, tuple[str, ...]]:
    """The preprocessed text. Code that asks for the chip is tried with __IPU__ where it stops without."""
    text = compiler.write(folder / "tremula_main.cpp", wrapper.main_text(main))
    common = [
        "-E", *found.flags, "-D__POPC__=1", f"-DTREMULA_WORKERS={workers}",
        *([] if accurate_half else ["-DTREMULA_HALF_AS_FLOAT"]),
        *sources.flags_in(folder), *(f"-I{each.parent}" for each in main),
        "-isystem", str(wrapper.OWN_HEADERS), "-isystem", str(wrapper.PUBLIC_HEADERS), str(text),
    ]  # fmt: skip
    try:
        return found.run(common, sources.title), ()
    except CompilerFailed as problem:
        if "#error" not in problem.messages:
            raise
        with contextlib.suppress(CompilerFailed):
            return found.run(["-D__IPU__=1", *common], sources.title), ()
        raise


def library_of(prepared: Prepared) -> Library:
    """The library: loaded once by each process, from the cache or compiled."""
    key = prepared.key("library")
    found = _loaded.get(key)
    if found is None:
        with _loadable(_binary(prepared, key)) as path:
            found = _loaded[key] = Library(path, prepared.title)
    return found


_loaded: dict[str, Library] = {}


def _binary(prepared: Prepared, key: str) -> bytes:
    store = Store(default_root())
    entry = store.get(key).entry
    if entry is not None and "library" in entry.blobs:
        return entry.blobs["library"]
    with store.lock(key):
        entry = store.get(key).entry
        if entry is not None and "library" in entry.blobs:
            return entry.blobs["library"]
        binary = build(prepared, compiler.library_flags(prepared.compiler))
        store.put(key, {"name": f"codelets of {prepared.title}"}, {"library": binary})
    return binary


def build(prepared: Prepared, link: Sequence[str], extra: str = "") -> bytes:
    """Compile, and return the bytes of the result."""
    with tempfile.TemporaryDirectory(prefix="tremula-codelets-") as place:
        source = compiler.write(Path(place) / "codelets.ii", prepared.code + extra)
        output = Path(place) / "codelets.so"
        try:
            prepared.compiler.run(
                [*compiler.usable(prepared.flags), *link, str(source), "-o", str(output), "-lm"],
                prepared.title,
            )
        except CompilerFailed as problem:
            raise advice.explained(problem, tokens(prepared.code)) from None
        return output.read_bytes()


@contextlib.contextmanager
def _loadable(binary: bytes) -> Iterator[Path]:
    """A file with these bytes, in a folder that only this user can look into; gone when the library is loaded."""
    with tempfile.TemporaryDirectory(prefix="tremula-codelets-", ignore_cleanup_errors=True) as place:
        path = Path(place) / "codelets.so"
        path.write_bytes(binary)
        path.chmod(0o700)
        yield path
