"""Random tensors and dropout, with the names of C++.

Numbers follow from the seed, its modifier and the shape: the same call gives the same numbers again. They are not those
of the device, but have the same distributions. `docs/poplar-libs.md` lists the functions.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NoReturn

from poplar import Graph, Tensor, Type
from poplar._tensor import as_tensor
from poplar.program import Sequence as Program
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.libs.arguments import Arguments
from tremula.frontends.poplar.libs.errors import PoplibsError
from tremula.frontends.poplar.libs.poprand import calls
from tremula.frontends.poplar.types import INT


def addCodelets(graph: Graph) -> None:
    """Add the library's codelets to a graph. This does nothing, because functions need no codelets here."""


def _program(function: str, prog: Program, debug: Any, options: Any) -> tuple[Program, str]:
    taken = Arguments(function, [prog], debug, options)
    return taken.program(), taken.end()[0]


def setSeed(
    graph: Graph, masterSeed: Tensor, seedModifier: int, prog: Program, debug: Any = "", options: Any = None
) -> None:
    """Set the seed of the generator for draws without a seed."""
    program, name = _program("poprand::setSeed", prog, debug, options)
    calls.set_seed(graph, masterSeed, seedModifier, program, name)


def uniform(
    graph: Graph,
    seed: Tensor | None,
    seedModifier: int,
    reference: Tensor,
    outType: Type,
    minVal: float,
    maxVal: float,
    prog: Program,
    debug: Any = "",
    options: Any = None,
) -> Tensor:
    """Uniform numbers between both bounds. Integers include the bounds."""
    function = "poprand::uniform"
    program, name = _program(function, prog, debug, options)
    calls.check_range(function, outType, float(minVal), float(maxVal))
    low, high = (math.ceil(minVal), math.floor(maxVal)) if outType is INT else (float(minVal), float(maxVal))
    return as_tensor(
        calls.draw(
            graph,
            function,
            "uniform",
            seed,
            seedModifier,
            reference,
            outType,
            program,
            name,
            low=low,
            high=high,
        )
    )


def logUniform(
    graph: Graph,
    seed: Tensor | None,
    seedModifier: int,
    reference: Tensor,
    outType: Type,
    minVal: float,
    maxVal: float,
    prog: Program,
    *arguments: Any,
    debug: Any = "",
    options: Any = None,
) -> Tensor:
    """`logUniform(graph, seed, seedModifier, reference, outType, minVal, maxVal, prog, base=e)`: numbers whose
    logarithm is spread evenly."""
    function = "poprand::logUniform"
    taken = Arguments(function, [prog, *arguments], debug, options)
    program = taken.program()
    base = taken.number("base") if taken.next_is_number() else math.e
    name = taken.end()[0]
    low, high = float(minVal), float(maxVal)
    if low < 1 or high <= low or base <= 0 or base == 1:
        raise PoplibsError(f"{function}: bounds of {low} and {high} and a base of {base} are not possible")
    calls.check_range(function, outType, low, high)
    if outType is INT:
        low, high = math.ceil(low), math.floor(high)
    return as_tensor(calls.draw(
        graph, function, "log_uniform", seed, seedModifier, reference, outType, program, name,
        low=low, high=high, base=base,
    ))  # fmt: skip


def bernoulli(
    graph: Graph,
    seed: Tensor | None,
    seedModifier: int,
    reference: Tensor,
    outType: Type,
    prob: float,
    prog: Program,
    debug: Any = "",
    options: Any = None,
) -> Tensor:
    """Ones with this probability, otherwise zeros."""
    function = "poprand::bernoulli"
    program, name = _program(function, prog, debug, options)
    if not 0 <= prob <= 1:
        raise PoplibsError(f"{function}: {prob} is not a probability")
    return as_tensor(calls.draw(
        graph, function, "bernoulli", seed, seedModifier, reference, outType, program, name, probability=float(prob)
    ))  # fmt: skip


def normal(
    graph: Graph,
    seed: Tensor | None,
    seedModifier: int,
    reference: Tensor,
    outType: Type,
    mean: float,
    stdDev: float,
    prog: Program,
    debug: Any = "",
    options: Any = None,
) -> Tensor:
    """Normal numbers."""
    function = "poprand::normal"
    program, name = _program(function, prog, debug, options)
    return as_tensor(calls.draw(
        graph, function, "normal", seed, seedModifier, reference, outType, program, name,
        mean=float(mean), deviation=float(stdDev),
    ))  # fmt: skip


def truncatedNormal(
    graph: Graph,
    seed: Tensor | None,
    seedModifier: int,
    reference: Tensor,
    outType: Type,
    mean: float,
    stdDev: float,
    alpha: float,
    prog: Program,
    debug: Any = "",
    options: Any = None,
) -> Tensor:
    """Normal numbers at most `alpha` standard deviations from the mean."""
    function = "poprand::truncatedNormal"
    program, name = _program(function, prog, debug, options)
    if not alpha > 0:
        raise PoplibsError(f"{function}: numbers within {alpha} standard deviations are not possible")
    return as_tensor(calls.draw(
        graph, function, "truncated_normal", seed, seedModifier, reference, outType, program, name,
        mean=float(mean), deviation=float(stdDev), alpha=float(alpha),
    ))  # fmt: skip


def dropout(
    graph: Graph,
    seed: Tensor | None,
    seedModifier: int,
    input: Tensor,
    reference: Tensor,
    keepProbability: float,
    scale: float,
    *arguments: Any,
    debug: Any = "",
    options: Any = None,
) -> Tensor:
    """`dropout(graph, seed, seedModifier, input, reference, keepProbability, scale, [outputClonesRef,] prog)`: elements
    are kept with this probability and scaled, or become zero. The same seed and modifier give the same mask."""
    function = "poprand::dropout"
    taken = Arguments(function, arguments, debug, options)
    of_reference = taken.maybe(bool)
    program = taken.program()
    name = taken.end()[0]
    if isinstance(reference, View) and tuple(reference.shape) != tuple(input.shape):
        raise PoplibsError(
            f"{function}: input of shape {list(input.shape)} and reference of shape {list(reference.shape)} differ; "
            "use shapedDropout"
        )
    return as_tensor(calls.dropout(
        graph, function, seed, seedModifier, input, reference, keepProbability, scale, program, name,
        like=input if of_reference is False else reference,
    ))  # fmt: skip


def shapedDropout(
    graph: Graph,
    seed: Tensor | None,
    seedModifier: int,
    input: Tensor,
    reference: Tensor,
    keepProbability: float,
    scale: float,
    prog: Program,
    debug: Any = "",
    options: Any = None,
) -> Tensor:
    """Dropout with a mask of the shape of `reference`, which is repeated over the input."""
    function = "poprand::shapedDropout"
    program, name = _program(function, prog, debug, options)
    return as_tensor(
        calls.dropout(
            graph, function, seed, seedModifier, input, reference, keepProbability, scale, program, name
        )
    )


if not TYPE_CHECKING:  # a misspelt name is a mistake that type checkers find

    def __getattr__(name: str) -> NoReturn:
        raise AttributeError(f"poprand has no {name!r}; docs/poplar-libs.md lists what is available")


__all__ = [
    "addCodelets", "bernoulli", "dropout", "logUniform", "normal", "setSeed", "shapedDropout", "truncatedNormal",
    "uniform",
]  # fmt: skip
