"""Cycles of compiled codelets, counted by running their vertices once more with counters in their code.

The codelet is compiled for the host without vectorised loops, each basic block adds its instruction slots (`assembly`),
and one vertex of each size is run in a process of its own: with the values of its plain members and of the constants
that it is connected to, ones in its vectors of floating-point numbers and zeros in those of whole numbers. So loops
whose length is a size, a member or a constant are counted exactly; branches on data take the side that such data takes.

How good it is: 4.0 instructions for each element of the dot product of the public tutorials, which takes 4.0 on
hardware; 36 cycles for each turn of an empty loop over a volatile variable on the supervisor, which takes 36. Code that
the chip's compiler vectorises is counted up to twice (float) or four times (half) too high. Where no counter can be had
(not x86-64 with GCC, or the run fails), cycles are guessed: six instructions for each element.
"""

from __future__ import annotations

import platform
import struct
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tremula import log
from tremula.cache import Store, default_root
from tremula.frontends.poplar.codelets.codelet import Base, CycleEstimate, EstimateSource, Kind, Shapes
from tremula.frontends.poplar.codelets.cpp import assembly, compiler, wrapper
from tremula.frontends.poplar.codelets.cpp.library import MemberFacts, Prepared
from tremula.frontends.poplar.codelets.python.grouping import alike
from tremula.frontends.poplar.errors import PoplarError

if TYPE_CHECKING:
    from tremula.frontends.poplar.codelets.cpp.codelet import CppCodelet

_SECONDS = 10
#: sizes that are run; where a batch has more, the others lie between them
_MOST_SIZES = 48
_LARGEST_BYTES = 64 << 20
_START = 4.0
_FLAGS = (
    "-fno-tree-loop-vectorize",
    "-fstrict-aliasing",
    "-ffixed-r15",
    "-ffixed-r14",
    "-fno-PIC",
    "-fno-asynchronous-unwind-tables",
)


def estimate(codelet: CppCodelet, shapes: Shapes) -> CycleEstimate:
    """The cycles of each vertex."""
    if not shapes.count:
        return CycleEstimate(np.zeros(0), EstimateSource.DERIVED)
    kinds, inverse = _kinds(codelet, shapes)
    chosen = _spread(kinds)
    found = _measure(codelet, shapes, [kinds.vertices[each] for each in chosen])
    if found is None:
        elements = np.sum([*shapes.elements.values(), np.zeros(shapes.count)], axis=0)
        return CycleEstimate(20.0 + 6.0 * elements, EstimateSource.GUESSED)
    slowest, _, operations = found.T
    cycles = _START + _between(kinds, chosen, slowest)[inverse]
    if (
        codelet.base is not Base.VERTEX
    ):  # an instruction of one worker, or of the supervisor, comes every sixth cycle
        cycles = cycles * shapes.workers
    known = all(name in shapes.scalars for name in _whole_scalars(codelet))
    source = EstimateSource.DERIVED if known else EstimateSource.STATIC
    return CycleEstimate(cycles, source, _between(kinds, chosen, operations)[inverse])


# -- kinds of vertices ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Kinds:
    """Vertices that differ in sizes, members or constants: one of each, and how large it is."""

    vertices: list[int]
    elements: NDArray[np.float64]


def _kinds(codelet: CppCodelet, shapes: Shapes) -> tuple[_Kinds, NDArray[np.int64]]:
    columns = [*shapes.elements.values(), *shapes.lists.values()]
    for values in (*shapes.state.values(), *shapes.scalars.values()):
        flat = np.ascontiguousarray(values).reshape(shapes.count, -1)
        columns += [flat[:, place] for place in range(flat.shape[1]) if flat.shape[1] <= 16]
    if not columns:
        return _Kinds([0], np.zeros(1)), np.zeros(shapes.count, dtype=np.int64)
    first, inverse = alike(columns)
    sizes = np.sum([*shapes.elements.values(), np.zeros(shapes.count)], axis=0)
    return _Kinds(first.tolist(), np.asarray(sizes[first], dtype=np.float64)), inverse


def _spread(kinds: _Kinds) -> list[int]:
    """Some of the kinds, from the smallest to the largest."""
    order = np.argsort(kinds.elements, kind="stable")
    if len(order) <= _MOST_SIZES:
        return [int(each) for each in order]
    places = np.unique(np.linspace(0, len(order) - 1, _MOST_SIZES).astype(np.int64))
    return [int(order[place]) for place in places]


def _between(kinds: _Kinds, chosen: Sequence[int], found: NDArray[np.float64]) -> NDArray[np.float64]:
    """A figure for each kind: its own, or one between those of the next smaller and the next larger."""
    made = np.interp(kinds.elements, kinds.elements[list(chosen)], found)
    made[list(chosen)] = found
    return made


def _whole_scalars(codelet: CppCodelet) -> list[str]:
    """Fields of one element that may say how often a loop runs."""
    return [
        each.name
        for each in codelet.fields.values()
        if each.kind is Kind.SCALAR
        and each.direction.reads
        and each.type is not None
        and each.type.is_integral
    ]


# -- running ----------------------------------------------------------------------------------------------------------


def _measure(codelet: CppCodelet, shapes: Shapes, vertices: Sequence[int]) -> NDArray[np.float64] | None:
    """Slots of the slowest worker, of all, and operations, for each of the vertices."""
    try:
        program = _program(codelet.prepared)
    except PoplarError as problem:
        log.info_once(
            f"no counters {codelet.prepared.title}",
            f"The cycles of {codelet.name} are guessed: {problem.message}",
        )
        return None
    if program is None:
        return None
    requests = [_request(codelet, shapes, each) for each in vertices]
    if sum(map(len, requests)) > _LARGEST_BYTES:
        return None
    text = struct.pack("<q", len(requests)) + b"".join(requests)
    with tempfile.TemporaryDirectory(prefix="tremula-counting-", ignore_cleanup_errors=True) as place:
        path = Path(place) / "counting"
        path.write_bytes(program)
        path.chmod(0o700)
        try:
            done = subprocess.run(
                [str(path)],
                input=text,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                timeout=_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
    if done.returncode or len(done.stdout) != 24 * len(requests):
        return None
    return np.frombuffer(done.stdout, dtype=np.int64).reshape(-1, 3).astype(np.float64)


def _program(prepared: Prepared) -> bytes | None:
    """The counting program, from the cache or compiled; None where there can be none."""
    if (
        platform.machine() not in ("x86_64", "AMD64")
        or not prepared.compiler.is_gcc
        or platform.system() != "Linux"
    ):
        return None
    store = Store(default_root())
    key = prepared.key(f"counting program {assembly.VERSION} {' '.join(_FLAGS)}")
    entry = store.get(key).entry
    if entry is None or "program" not in entry.blobs:
        program = _build(prepared)
        store.put(key, {"name": f"cycle counts of {prepared.title}"}, {"program": program})
        return program
    return entry.blobs["program"]


def _build(prepared: Prepared) -> bytes:
    with tempfile.TemporaryDirectory(prefix="tremula-counting-") as place:
        folder = Path(place)
        main = (wrapper.OWN_HEADERS / "tremula_counting.hpp").read_text(encoding="utf-8")
        source = compiler.write(folder / "counting.ii", prepared.code + main)
        left_out = ("-fPIC", compiler.HALF_FLAG)
        flags = [each for each in prepared.flags if each not in left_out and not each.startswith("-g")]
        text, output = folder / "counting.s", folder / "counting"
        prepared.compiler.run([*flags, *_FLAGS, "-S", str(source), "-o", str(text)], prepared.title)
        text.write_text(assembly.counted(text.read_text(encoding="utf-8")), encoding="utf-8")
        prepared.compiler.run(["-no-pie", str(text), "-o", str(output), "-lm"], prepared.title)
        return output.read_bytes()


@dataclass
class _Buffer:
    """The memory of one vertex."""

    data: bytearray = field(default_factory=bytearray)

    def add(self, values: NDArray[Any]) -> int:
        """Where the values lie."""
        self.data += b"\0" * (-len(self.data) % 16)
        place = len(self.data)
        self.data += values.tobytes()
        return place


def _request(codelet: CppCodelet, shapes: Shapes, vertex: int) -> bytes:
    """One vertex, as the program reads it."""
    buffer = _Buffer()
    members = b"".join(_member(codelet, each, shapes, vertex, buffer) for each in codelet.facts.members)
    head = struct.pack(
        "<4q", codelet.facts.entry, codelet.facts.bytes, len(codelet.facts.members), len(buffer.data)
    )
    return head + bytes(buffer.data) + members


def _member(codelet: CppCodelet, member: MemberFacts, shapes: Shapes, vertex: int, buffer: _Buffer) -> bytes:
    if member.kind == "state":
        values = shapes.state.get(member.name)
        data = b"" if values is None else np.ascontiguousarray(values[vertex]).tobytes()
        return struct.pack("<3q", 0, 0, len(data) if len(data) == member.bytes else -1) + (
            data if len(data) == member.bytes else b""
        )
    sizes = _sizes(member, shapes, vertex)
    offsets = [buffer.add(_filled(codelet, member, size, shapes, vertex)) for size in sizes]
    return struct.pack("<3q", len(sizes), member.item_bytes, -1) + struct.pack(
        f"<{2 * len(sizes)}q", *offsets, *sizes
    )


def _sizes(member: MemberFacts, shapes: Shapes, vertex: int) -> list[int]:
    if member.kind == "scalar":
        return [1]
    elements = int(shapes.elements.get(member.name, np.zeros(shapes.count, dtype=np.int64))[vertex])
    lists = shapes.lists.get(member.name)
    if lists is None:
        return [elements]
    count = int(lists[vertex])
    return [elements // count + (place < elements % count) for place in range(count)]


def _filled(codelet: CppCodelet, member: MemberFacts, size: int, shapes: Shapes, vertex: int) -> NDArray[Any]:
    type_ = codelet.fields[member.name].type
    dtype = np.dtype(np.uint8) if type_ is None else type_.storage(codelet.accurate_half)
    known = shapes.scalars.get(member.name)
    if member.kind == "scalar" and known is not None:
        return np.asarray([known[vertex]]).astype(dtype)
    return np.full(size, 1 if dtype.kind == "f" or member.kind == "scalar" else 0, dtype=dtype)
