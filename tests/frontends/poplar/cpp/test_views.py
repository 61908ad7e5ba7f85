"""The views that C++ keeps are those of Python: random operations, applied by both."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import poplar
from poplar import FLOAT, Graph, Target, Tensor
from tremula.frontends.poplar.errors import PoplarError

pytestmark = pytest.mark.timeout(600)  # the libraries are compiled before


class Driver:
    """The C++ program that applies operations."""

    def __init__(self, kit: Any) -> None:
        self.process = subprocess.Popen(
            [kit.program("views")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=kit.environment,
        )
        self.graph = Graph(Target.createIPUTarget(1, "ipu2"))

    def say(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def answer(self, line: str) -> str:
        self.say(line)
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()


@pytest.fixture(scope="module")
def driver(kit: Any) -> Iterator[Driver]:
    made = Driver(kit)
    yield made
    made.process.communicate(timeout=30)
    assert made.process.returncode == 0


def described(tensor: Tensor) -> str:
    regions = " ".join(
        f"{each.var}:{each.interval.begin()}-{each.interval.end()}" for each in tensor.getVarRegions()
    )
    stretches = " ".join(f"{each.begin()}-{each.end()}" for each in tensor.getContiguousRegions())
    facts = "".join(
        str(int(each))
        for each in (tensor.containsAliases(), tensor.isContiguous(), tensor.containsConstant())
    )
    shape = "".join(f"{length} " for length in tensor.shape)
    return " ".join(f"{shape}| {regions} | {stretches} | {facts}".split())


def applied(graph: Graph, stack: list[Tensor], name: str, numbers: list[int]) -> Tensor:
    if name == "variable":
        return graph.addVariable(FLOAT, numbers)
    if name == "constant":
        return graph.addConstant(FLOAT, numbers, 1.0)
    if name == "concat":
        return poplar.concat(stack[-numbers[0] :], numbers[1])
    top = stack[-1]
    match name:
        case "slice":
            return top.slice(*numbers)
        case "at":
            return top[numbers[0]]
        case "reshape":
            return top.reshape(numbers)
        case "flatten":
            return top.flatten()
        case "shuffle":
            return top.dimShuffle(numbers)
        case "roll":
            return top.dimRoll(*numbers)
        case "transpose":
            return top.transpose()
        case "broadcast":
            return top.broadcast(*numbers)
        case "upsample":
            return top.upsample(*numbers)
        case "sample":
            return top.subSample(*numbers)
        case "reverse":
            return top.reverse(*numbers)
        case "squeeze":
            return top.squeeze(numbers)
        case _:
            return top.expand(numbers)


def outcome(graph: Graph, stack: list[Tensor], name: str, numbers: list[int]) -> str:
    """What Python says: the tensor, which is put on the stack, or the class of the error."""
    try:
        stack.append(applied(graph, stack, name, numbers))
    except PoplarError as problem:
        return problem.type_name
    return described(stack[-1])


_SHAPES = st.lists(st.integers(0, 5), min_size=0, max_size=4)
_OPERATIONS = [
    "slice", "at", "reshape", "flatten", "shuffle", "roll", "transpose", "broadcast", "upsample", "sample",
    "reverse", "squeeze", "expand", "concat", "choose", "wrong",
]  # fmt: skip


def factors(count: int, draw: Any) -> list[int]:
    """A random shape with so many elements."""
    shape = []
    while count > 1:
        length = draw(st.sampled_from([each for each in range(1, count + 1) if count % each == 0]))
        shape.append(length)
        count //= length
    return shape


def numbers_for(name: str, stack: list[Tensor], draw: Any) -> tuple[str, list[int]]:
    """Numbers that fit the top of the stack, for most operations."""
    shape = list(stack[-1].shape)
    rank = len(shape)
    dimension = draw(st.integers(0, max(rank - 1, 0)))
    length = shape[dimension] if rank else 0
    match name:
        case "slice":
            begin = draw(st.integers(0, length))
            return name, [begin, draw(st.integers(begin, length)), dimension]
        case "at":
            return name, [draw(st.integers(0, max(shape[0] - 1, 0) if rank else 0))]
        case "reshape":
            elements = stack[-1].numElements()
            return name, factors(elements, draw) if elements else shape[::-1]
        case "shuffle":
            return name, draw(st.permutations(range(rank)))
        case "roll":
            return name, [dimension, draw(st.integers(0, max(rank - 1, 0)))]
        case "broadcast" | "upsample" | "sample":
            return name, [draw(st.integers(1, 3)), dimension]
        case "reverse":
            return name, [dimension]
        case "squeeze":
            return name, [number for number, each in enumerate(shape) if each == 1 and draw(st.booleans())]
        case "expand":
            return name, sorted(draw(st.lists(st.integers(0, rank), max_size=2)))
        case "concat":
            same = 1
            while same < min(3, len(stack)) and fits(stack[-same - 1], stack[-1], dimension):
                same += 1
            return name, [same, dimension]
        case "wrong":
            return draw(
                st.sampled_from([
                    ("slice", [1, 99, dimension]), ("at", [77]), ("reshape", [3, 77]), ("shuffle", [0, 0]),
                    ("broadcast", [2, 9]), ("sample", [0, dimension]), ("squeeze", [8]), ("expand", [9]),
                ])
            )  # fmt: skip
        case _:
            return name, []


def fits(first: Tensor, second: Tensor, dimension: int) -> bool:
    return len(first.shape) == len(second.shape) and all(
        a == b
        for place, (a, b) in enumerate(zip(first.shape, second.shape, strict=True))
        if place != dimension
    )


@settings(max_examples=120)
@given(st.data())
def test_random_views_name_the_same_elements(driver: Driver, data: st.DataObject) -> None:
    driver.say("clear")
    stack: list[Tensor] = []

    def both(name: str, numbers: list[int]) -> None:
        line = " ".join([name, *map(str, numbers)])
        answer = " ".join(driver.answer(line).split())
        expected = outcome(driver.graph, stack, name, numbers)
        assert answer == expected, line

    both("variable", data.draw(_SHAPES))
    both(data.draw(st.sampled_from(["variable", "constant"])), data.draw(_SHAPES))
    for _ in range(data.draw(st.integers(1, 12))):
        name = data.draw(st.sampled_from(_OPERATIONS))
        if name == "choose":
            place = data.draw(st.integers(0, len(stack) - 1))
            stack.append(stack[place])
            assert " ".join(driver.answer(f"choose {place}").split()) == described(stack[-1])
            continue
        name, numbers = numbers_for(name, stack, data.draw)
        if stack[-1].numElements() * (numbers or [1])[0] > 4000:
            continue
        both(name, list(numbers))
