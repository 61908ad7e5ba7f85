"""Random tensors and dropout as calls."""

from __future__ import annotations

import math
from collections.abc import Sequence
from weakref import WeakKeyDictionary

import numpy as np

from tremula.frontends.poplar.graph.graph import Contents, Graph
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.libs import calls, outputs
from tremula.frontends.poplar.libs.calls import work_type
from tremula.frontends.poplar.libs.errors import PoplibsError
from tremula.frontends.poplar.libs.popops.mapping import broadcast_shape
from tremula.frontends.poplar.libs.poprand import draws as draws  # registers the kernels
from tremula.frontends.poplar.lines import user_line
from tremula.frontends.poplar.program.programs import Sequence_
from tremula.frontends.poplar.types import FLOAT, HALF, INT, UNSIGNED_INT, Type
from tremula.program import work

#: the key of the generator of a program that sets none
_FIRST_STATE = (0x9E3779B9, 0x7F4A7C15, 0)

_STATES: WeakKeyDictionary[Contents, View] = WeakKeyDictionary()

_WORK_KINDS = {"log_uniform": "uniform"}


def _state(graph: Graph) -> View:
    """The state of the generator of a graph's programs."""
    found = _STATES.get(graph.contents)
    if found is None:
        found = _STATES[graph.contents] = graph.add_variable(UNSIGNED_INT, (3,), "poprand/state")
        outputs.assign_tile(graph, found, 0)
        graph.set_initial_value(found, np.array(_FIRST_STATE, dtype=np.uint32))
    return found


def _check_seed(seed: View, function: str) -> None:
    if seed.type is not UNSIGNED_INT or tuple(seed.shape) != (2,):
        raise PoplibsError(
            f"{function}: a seed is two unsigned integers, not of shape {list(seed.shape)} and type {seed.type} "
            f"({user_line()})"
        )


def _key(graph: Graph, seed: View | None, function: str) -> tuple[View, list[View]]:
    """What a draw reads, and what it writes beside its result."""
    if seed is not None:
        _check_seed(seed, function)
        return seed, []
    state = _state(graph)
    return state, [state]


def draw(
    graph: Graph,
    function: str,
    kind: str,
    seed: View | None,
    modifier: int,
    reference: View,
    type: Type,
    program: Sequence_,
    name: str,
    **parameters: float,
) -> View:
    """A tensor of random numbers, on the tiles of `reference`."""
    if type not in (FLOAT, HALF, INT):
        raise PoplibsError(f"{function}: random numbers are float, half or int, not {type} ({user_line()})")
    if kind in ("normal", "truncated_normal") and type is INT:
        raise PoplibsError(f"{function}: normal numbers are float or half, not {type} ({user_line()})")
    key, written = _key(graph, seed, function)
    out = like_reference(graph, reference, type, name)
    attributes = {"kind": kind, "seeded": seed is not None, "modifier": int(modifier), **parameters}
    works: list[work.Work] = [work.Random(_WORK_KINDS.get(kind, kind), out.elements, work_type(type))]
    if kind == "log_uniform":
        works.append(work.Elementwise("exp", out.elements, work_type(type), in_place=True))
    calls.add_call(program, "poprand.draw", [key], [out, *written], attributes, works, name or function)
    return out


def like_reference(graph: Graph, reference: View, type: Type, name: str) -> View:
    """A tensor on the tiles of another one."""
    if reference.has_aliases():
        return outputs.linear(graph, type, tuple(reference.shape), name)
    return outputs.like(graph, reference, type, name)


def check_range(function: str, type: Type, low: float, high: float) -> None:
    """Raise unless numbers between both bounds exist in the type."""
    if not (math.isfinite(low) and math.isfinite(high) and low <= high):
        raise PoplibsError(f"{function}: there is no number between {low} and {high} ({user_line()})")
    if type is INT and (low < -(1 << 31) or high >= 1 << 31 or math.ceil(low) > math.floor(high)):
        raise PoplibsError(f"{function}: no integers of 32 bits go from {low} to {high} ({user_line()})")


def dropout(
    graph: Graph,
    function: str,
    seed: View | None,
    modifier: int,
    operand: View,
    reference: View,
    keep: float,
    scale: float,
    program: Sequence_,
    name: str,
    *,
    like: View | None = None,
) -> View:
    """The operand with elements set to zero; the mask has the shape of `reference`."""
    if not operand.type.is_floating:
        raise PoplibsError(f"{function}: the operand is float or half, not {operand.type} ({user_line()})")
    if not 0 <= keep <= 1:
        raise PoplibsError(f"{function}: {keep} is not a probability ({user_line()})")
    if broadcast_shape([operand, reference]) != tuple(operand.shape):
        raise PoplibsError(
            f"{function}: a mask of shape {list(reference.shape)} does not fit a tensor of shape "
            f"{list(operand.shape)} ({user_line()})"
        )
    key, written = _key(graph, seed, function)
    out = like_reference(graph, operand if like is None else like, operand.type, name)
    attributes = {
        "seeded": seed is not None,
        "modifier": int(modifier),
        "keep": float(keep),
        "scale": float(scale),
        "shape": list(reference.shape),
    }
    kind = work_type(operand.type)
    works = _dropout_works(reference.elements, operand.elements, kind)
    calls.add_call(
        program, "poprand.dropout", [key, operand], [out, *written], attributes, works, name or function
    )
    return out


def _dropout_works(masked: int, elements: int, kind: str) -> Sequence[work.Work]:
    if masked == elements:
        return [work.Random("dropout", elements, kind)]
    return [
        work.Random("bernoulli", masked, kind),
        work.Elementwise("mul", elements, kind, 2, broadcast_elements=masked),
    ]


def set_seed(graph: Graph, seed: View, modifier: int, program: Sequence_, name: str) -> None:
    """Set the state of the generator."""
    _check_seed(seed, "poprand::setSeed")
    state = _state(graph)
    works = [work.Copy(2, "uint32", 2)]
    calls.add_call(
        program, "poprand.set_seed", [seed], [state], {"modifier": int(modifier)}, works, name or "setSeed"
    )
