"""Checks that a program is consistent, whoever made it: a front end, or a file that anybody may have written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tremula.program.control import Branch, Call, Control, CopyTensor, Execute, Repeat, While, walk
from tremula.program.program import Program
from tremula.program.tiles import TileInterval

#: deepest nesting of a control tree
DEEPEST = 200


class InvalidProgram(Exception):
    """A program that cannot be executed or modelled; the text names the op or tensor and what is wrong."""


def verify(program: Program) -> None:
    """Check numbers, storages, producers, the control tree and tile mappings.

    Raises:
        InvalidProgram: with everything that is wrong, up to a few lines.
    """
    problems = []
    for problem in _problems(program):
        problems.append(problem)
        if len(problems) == 10:
            break
    if problems:
        raise InvalidProgram("; ".join(problems))


def _problems(program: Program) -> Iterator[str]:
    yield from _numbers(program)
    yield from _storages(program)
    trees = [("the program", program.control), *((f"function {n}", c) for n, c in program.functions.items())]
    for where, tree in trees:
        if tree is not None:
            yield from _tree(program, tree, where)
    yield from _recursion(program)
    for number, intervals in program.mappings.items():
        if not 0 <= number < len(program.tensors):
            yield f"a tile mapping is of tensor {number}, which does not exist"
        else:
            yield from _mapping(program.tensors[number].name, program.tensors[number].elements, intervals)
    yield from _vertices(program)


def _numbers(program: Program) -> Iterator[str]:
    ops, tensors = len(program.ops), len(program.tensors)
    for op in program.ops:
        if any(not 0 <= number < tensors for number in (*op.inputs, *op.outputs)):
            yield f"op {op.name} names a tensor that does not exist"
        if op.ipu < 0 or op.stage < 0 or op.execution_phase < 0:
            yield f"op {op.name} has a negative placement"
        if not -1 <= op.owner < tensors:
            yield f"op {op.name} belongs to a parameter that does not exist"
    for tensor in program.tensors:
        if not (
            0 <= tensor.storage < tensors and -1 <= tensor.producer < ops and -1 <= tensor.owner < tensors
        ):
            yield f"tensor {tensor.name} names a tensor or op that does not exist"
        if tensor.bytes < 0 or any(extent < 0 for extent in tensor.shape):
            yield f"tensor {tensor.name} has a negative size"
    lists = (program.inputs, program.outputs, program.trained, program.gradients, program.carried)
    if any(not 0 <= number < tensors for each in lists for number in each):
        yield "the program's inputs, outputs or gradients name a tensor that does not exist"
    if not len(program.trained) == len(program.gradients) == len(program.carried):
        yield "trained parameters, gradients and accumulators differ in number"
    if program.samples < 1 or min(vars(program.loops).values()) < 0 or program.loops.replicas < 1:
        yield "the loops of the program run less than once"


def _storages(program: Program) -> Iterator[str]:
    """A storage is a tensor that lies in its own bytes."""
    tensors = program.tensors
    for tensor in tensors:
        if 0 <= tensor.storage < len(tensors) and tensors[tensor.storage].storage != tensor.storage:
            yield f"tensor {tensor.name} lies in the bytes of a view"


def _tree(program: Program, tree: Control, where: str) -> Iterator[str]:
    ops, tensors = len(program.ops), len(program.tensors)
    for node in walk(tree):
        match node:
            case Execute(op) if not 0 <= op < ops:
                yield f"{where} runs op {op}, which does not exist"
            case CopyTensor(source, target):
                if not (0 <= source < tensors and 0 <= target < tensors):
                    yield f"{where} copies a tensor that does not exist"
                elif program.tensors[source].elements != program.tensors[target].elements:
                    yield (
                        f"{where} copies {program.tensors[source].name} to {program.tensors[target].name}, which has "
                        "another size"
                    )
            case Call(function) if function not in program.functions:
                yield f"{where} calls {function}, which does not exist"
            case Repeat(count, _) if count < 0:
                yield f"{where} repeats something {count} times"
            case While(predicate) | Branch(predicate) if not 0 <= predicate < tensors:
                yield f"{where} decides by tensor {predicate}, which does not exist"


def _recursion(program: Program) -> Iterator[str]:
    """Functions that call themselves, directly or through others."""
    calls = {
        name: {node.function for node in walk(tree) if isinstance(node, Call)}
        for name, tree in program.functions.items()
    }
    done: set[str] = set()

    def find(name: str, path: tuple[str, ...]) -> str | None:
        if name in path:
            return " -> ".join((*path[path.index(name) :], name))
        if name in done or name not in calls:
            return None
        if len(path) > DEEPEST:
            return f"{path[0]} (more than {DEEPEST} calls deep)"
        found = next((f for called in sorted(calls[name]) if (f := find(called, (*path, name)))), None)
        done.add(name)
        return found

    for name in calls:
        if loop := find(name, ()):
            yield f"functions call themselves: {loop}"
            return


def _mapping(name: str, elements: int, intervals: Iterable[TileInterval]) -> Iterator[str]:
    """Every element of a mapped tensor lies on exactly one tile."""
    at = 0
    for interval in sorted(intervals, key=lambda each: each.begin):
        if interval.tile < 0 or interval.begin != at or interval.end <= interval.begin:
            yield f"the tile mapping of {name} has a gap or an overlap at element {min(at, interval.begin)}"
            return
        at = interval.end
    if at != elements:
        yield f"the tile mapping of {name} covers {at} of {elements} elements"


def _vertices(program: Program) -> Iterator[str]:
    for vertex in program.vertices:
        if not 0 <= vertex.op < len(program.ops) or vertex.tile < 0:
            yield f"vertex {vertex.codelet} belongs to op {vertex.op} on tile {vertex.tile}, which do not exist"
        for edge in vertex.edges:
            inside = 0 <= edge.tensor < len(program.tensors)
            if not inside or not 0 <= edge.begin <= edge.end <= program.tensors[edge.tensor].elements:
                yield f"field {edge.field} of vertex {vertex.codelet} is connected to elements that do not exist"
