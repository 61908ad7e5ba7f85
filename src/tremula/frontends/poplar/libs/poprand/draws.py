"""Random numbers: kernels whose numbers follow from a seed, its modifier and the order of the elements.

A counter-based generator (Philox) is keyed with both. The numbers are not those of the device, whose generators are not
public, but have its distributions. Without a seed, the key is the state of the program's generator, which `setSeed`
sets and each draw advances.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.frontends.poplar.libs.calls import computing
from tremula.frontends.poplar.libs.popops.arithmetic import converted
from tremula.frontends.poplar.program.library import Arrays, Kernel

Array = NDArray[Any]

#: attempts at a truncated normal number, after which what is left is cut off
_MOST_ATTEMPTS = 200


def _generator(words: Array, modifier: int) -> np.random.Generator:
    """A generator for a seed of 32-bit words, the last of which may count draws."""
    wide = [int(each) for each in np.asarray(words).reshape(-1)]
    key = wide[0] | wide[1] << 32
    counter = wide[2] if len(wide) > 2 else 0
    second = (modifier & 0xFFFFFFFF) | counter << 32
    return np.random.Generator(np.random.Philox(key=np.array([key, second], dtype=np.uint64)))


def _seeded(inputs: Arrays, outputs: Arrays, attributes: Mapping[str, Any]) -> np.random.Generator:
    """The generator of a call: of the seed in the first input, or of the state in the last output, which advances."""
    if attributes["seeded"]:
        return _generator(inputs[0], attributes["modifier"])
    made = _generator(inputs[0], 0)
    outputs[-1][2] += 1
    return made


def _uniform(random: np.random.Generator, shape: tuple[int, ...], low: float, high: float) -> Array:
    return low + random.random(shape, dtype=np.float32) * np.float64(high - low)


def _truncated(random: np.random.Generator, shape: tuple[int, ...], alpha: float) -> Array:
    found = random.standard_normal(shape, dtype=np.float32).reshape(-1)
    for _ in range(_MOST_ATTEMPTS):
        outside = np.flatnonzero(np.abs(found) > alpha)
        if not len(outside):
            break
        found[outside] = random.standard_normal(len(outside), dtype=np.float32)
    return np.clip(found, -alpha, alpha).reshape(shape)


def _drawn(random: np.random.Generator, kind: str, out: Array, a: Mapping[str, Any]) -> Any:
    shape = out.shape
    integral = out.dtype.kind in "iu"
    match kind:
        case "uniform" if integral:
            return np.asarray(random.integers(int(a["low"]), int(a["high"]), shape, np.int64, endpoint=True))
        case "uniform":
            return np.clip(_uniform(random, shape, a["low"], a["high"]), a["low"], a["high"])
        case "log_uniform":
            base = np.log(a["base"])
            low, high = np.log(a["low"]) / base, np.log(a["high"]) / base
            found = np.exp(_uniform(random, shape, low, high) * base)
            if integral:
                found = np.rint(found)
            return np.clip(found, a["low"], a["high"])
        case "normal":
            return np.asarray(a["mean"] + a["deviation"] * random.standard_normal(shape, dtype=np.float32))
        case "truncated_normal":
            return np.asarray(a["mean"] + a["deviation"] * _truncated(random, shape, a["alpha"]))
    return random.random(shape, dtype=np.float32) < a["probability"]


@computing("poprand.draw")
def draw_kernel(attributes: Mapping[str, Any]) -> Kernel:
    """Inputs: the seed, or the state. Outputs: the numbers, and the state."""
    kind = attributes["kind"]

    def compute(inputs: Arrays, outputs: Arrays) -> None:
        random = _seeded(inputs, outputs, attributes)
        found = np.asarray(_drawn(random, kind, outputs[0], attributes))
        outputs[0][...] = found if found.dtype.kind in "biu" else converted(found, outputs[0].dtype)

    return compute


@computing("poprand.dropout")
def dropout_kernel(attributes: Mapping[str, Any]) -> Kernel:
    """Inputs: the seed or the state, the operand. Outputs: the result, and the state."""
    shape, keep, scale = tuple(attributes["shape"]), attributes["keep"], attributes["scale"]

    def compute(inputs: Arrays, outputs: Arrays) -> None:
        operand = inputs[1]
        if np.broadcast_shapes(shape, operand.shape) != operand.shape:
            raise ValueError(f"a mask of shape {shape} for an operand of shape {operand.shape}")
        random = _seeded(inputs, outputs, attributes)
        mask = random.random(shape, dtype=np.float32) < keep
        outputs[0][...] = np.where(mask, operand * operand.dtype.type(scale), operand.dtype.type(0))

    return compute


@computing("poprand.set_seed")
def set_seed_kernel(attributes: Mapping[str, Any]) -> Kernel:
    """Inputs: the seed. Outputs: the state."""
    modifier = attributes["modifier"] & 0xFFFFFFFF

    def compute(inputs: Arrays, outputs: Arrays) -> None:
        outputs[0][:2] = inputs[0]
        outputs[0][1] ^= np.uint32(modifier * 0x9E3779B1 & 0xFFFFFFFF)
        outputs[0][2] = 0

    return compute
