"""Adds counters to the assembly of a codelet: what each basic block would take on a worker of the chip.

Every instruction of the host's compiler (x86-64, optimised, loops not vectorised) is mapped to instruction slots of the
chip: loads, stores and arithmetic take one, moves between registers and the movement of pointers none, because the
chip's loads and stores move theirs. A loop of one block needs no compare and branch: the chip repeats it in hardware.
Division, square root and mathematical functions take what the chip's elementwise library functions take.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from tremula.frontends.poplar.codelets.python import functions

#: part of the name of counting programs in the cache: raise it when the figures change
VERSION = 2

_LABEL = re.compile(r"^(\.?[A-Za-z_][\w.$@]*):")
_INSTRUCTION = re.compile(r"^\t([a-z][\w.]*)(?:[ \t]+(.*))?$")
_REGISTER = re.compile(r"%([a-z]\w*)")
_JUMP = re.compile(r"^j[a-z]+$")
_SHUFFLES = ("shuf", "unpck", "movhl", "movlh", "pshuf", "blend", "insert", "extract", "punpck")
_FREE = {
    "nop",
    "nopl",
    "nopw",
    "endbr64",
    "cltq",
    "cltd",
    "cqto",
    "cwtl",
    "cwtd",
    "leave",
    "ud2",
    "rep",
    "vzeroupper",
    "data16",
}
_EXPENSIVE = {"divss": 5, "divsd": 5, "divps": 5, "sqrtss": 5, "sqrtsd": 5, "sqrtps": 5}
_WHOLE_DIVISIONS = ("idiv", "div")
_REAL = re.compile(r"^(add|sub|mul|div|min|max|sqrt|u?comi|and|andn|or|xor|cvt\w*|rcp|rsqrt)(ss|sd|ps|pd)?$")
_CONVERSION = re.compile(r"^cvt")
_MOVES = re.compile(r"^(mov(?!hl|lh)\w*|lddqu)$")
_CALLED = {
    **{f"{name}{suffix}": function.slots for name, function in functions.TABLE.items() for suffix in ("f", "")},
    "powf": 156, "pow": 156, "memcpy": 20, "memset": 20, "memmove": 20, "cbrtf": 20, "fmaf": 1, "roundf": 2,
    "nearbyintf": 1, "rintf": 1, "fmaxf": 1, "fminf": 1, "lgammaf": 200, "tgammaf": 200, "erfcf": 41,
}  # fmt: skip
_CALL = 2


@dataclass
class _Block:
    """A run of instructions: where it begins, its labels, and the labels that it jumps to."""

    line: int
    labels: set[str]
    slots: float = 0.0
    operations: int = 0
    #: of compares, jumps and counting, which a loop in hardware does not need
    control: float = 0.0
    jumps: frozenset[str] = frozenset()
    calls: bool = False
    #: registers that were loaded, and whether a compare uses one: then the chip cannot count the turns in hardware
    loaded: set[str] = field(default_factory=set)
    by_data: bool = False


def counted(text: str) -> str:
    """The assembly with counters: slots in r15, floating-point operations in r14."""
    lines = text.splitlines()
    before: dict[int, str] = {}
    for block in _blocks(lines):
        repeated = bool(block.jumps & block.labels) and not (block.calls or block.by_data)
        slots = round(block.slots + (0 if repeated else block.control))
        added = f"\tleaq\t{slots}(%r15), %r15\n" if slots else ""
        added += f"\tleaq\t{block.operations}(%r14), %r14\n" if block.operations else ""
        if added:
            before[block.line] = added
    return "\n".join(before.get(number, "") + line for number, line in enumerate(lines)) + "\n"


def _blocks(lines: list[str]) -> Iterator[_Block]:
    block: _Block | None = None
    labels: set[str] = set()
    code = False
    for number, line in enumerate(lines):
        if line.startswith(("\t.text", "\t.section")):
            code = ".text" in line
        label = _LABEL.match(line)
        if label is not None:
            if block is not None:
                yield block
                block = None
                labels = set()
            labels.add(label[1])
            continue
        found = _INSTRUCTION.match(line.split("#")[0].rstrip())
        if not code or found is None:
            continue
        if block is None:
            block, labels = _Block(number, labels), set()
        if _add(block, found[1], found[2] or ""):
            yield block
            block = None
    if block is not None:
        yield block


def _add(block: _Block, name: str, operands: str) -> bool:
    """Count one instruction; true if it ends the block."""
    if _JUMP.match(name) or name in ("ret", "call"):
        if name == "call":
            block.calls = True
            target = operands.split("@")[0].lstrip("*")
            block.slots += _CALL + _CALLED.get(target, 0)
            return False
        if name == "jmp" and not operands.startswith("*"):
            # a call at the end of a function
            block.slots += _CALLED.get(operands.split("@")[0], 0)
        block.jumps = frozenset({operands})
        block.control += 1
        return True
    slots, control, operations = _cost(name, operands)
    _follow(block, name, operands)
    block.slots += slots
    block.control += control
    block.operations += operations
    return False


def _follow(block: _Block, name: str, operands: str) -> None:
    """Note which registers hold what was loaded, and compares that depend on it."""
    parts = [_REGISTER.sub(_whole_register, each) for each in _operands(operands)]
    if not parts:
        return
    from_data = any(_is_memory(each) for each in parts[:-1]) or any(each in block.loaded for each in parts)
    if name.startswith(("cmp", "test", "ucomi", "comi")):
        block.by_data |= from_data or _is_memory(parts[-1])
    elif parts[-1].startswith("%") and (from_data or not name.startswith("mov")):
        if from_data:
            block.loaded.add(parts[-1])
    elif parts[-1].startswith("%"):
        block.loaded.discard(parts[-1])


def _whole_register(match: re.Match[str]) -> str:
    """One name for the parts of a register."""
    name = match[1]
    if name.startswith("xmm"):
        return f"%{name}"
    return f"%{name.lstrip('re').rstrip('dwbl') if not name[1:2].isdigit() else name.rstrip('dwb')}"


def _cost(name: str, operands: str) -> tuple[float, float, int]:
    """Slots, slots of loop control, and floating-point operations."""
    parts = _operands(operands)
    if name in _FREE or not parts or name.startswith(_SHUFFLES):
        return 0, 0, 0
    reads = any(_is_memory(each) for each in parts[:-1]) or (len(parts) == 1 and _is_memory(parts[0]))
    writes = _is_memory(parts[-1])
    if _MOVES.match(name):
        wide = name.startswith(("movup", "movap", "movdq", "lddqu"))
        return (2 if wide else 1) * (reads or writes), 0, 0
    if name.startswith(("cmp", "test", "ucomi", "comi")):
        compares = name.startswith(("ucomi", "comi"))
        return float(reads or writes) + compares, float(not compares), int(compares)
    if name.startswith("lea"):
        return 0 if parts[-1].startswith("%r") and not name.endswith("l") else 1, 0, 0
    if name.startswith(("push", "pop", "set", "cmov")):
        return 1 + reads, 0, 0
    real = _REAL.match(name)
    if real is not None and "%xmm" in operands:
        if parts[0] == parts[-1] and name.startswith(("xor", "pxor")):
            return 0, 0, 0
        lanes = 2 if name.endswith(("ps", "pd")) else 1
        counts = not name.startswith(("and", "or", "xor")) and not _CONVERSION.match(name)
        return _EXPENSIVE.get(name, 1) + reads, 0, lanes if counts else 0
    return _whole(name, parts, reads, writes)


def _whole(name: str, parts: list[str], reads: bool, writes: bool) -> tuple[float, float, int]:
    """Arithmetic of whole numbers; pointers, which are wider here than on the chip, move for nothing."""
    if name.startswith(("xor", "pxor", "sub")) and len(parts) == 2 and parts[0] == parts[1]:
        return 0, 0, 0
    if name.rstrip("lqwb") in _WHOLE_DIVISIONS:
        return 30 + reads, 0, 0
    memory = reads + 2 * writes
    pointer = name.endswith("q") and parts[0].startswith("$") and not writes
    counter = name in ("addl", "subl", "incl", "decl") and parts[0].startswith(("$", "%")) and not memory
    counter = counter and (len(parts) == 1 or parts[0].startswith("$"))
    if pointer:
        return memory, 0, 0
    return memory + (0 if counter else 1), float(counter), 0


def _operands(text: str) -> list[str]:
    """Operands, with the commas of addresses left in."""
    found, depth, current = [], 0, ""
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            found.append(current.strip())
            current = ""
        else:
            current += letter
    return [*found, current.strip()] if current.strip() else found


def _is_memory(operand: str) -> bool:
    """Whether an operand is in memory; constants of the code are in registers by then."""
    return "(" in operand and "(%rip)" not in operand
