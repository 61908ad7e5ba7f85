"""Where particles leave energy: points in the detector, from tracks that bend and showers that spread.

All work is on whole arrays. Points carry the energy that was left there and how dense the track was, on which
the charge depends.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cosmictagger.data.generate.constants import Particles

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Points:
    """Deposits: positions [n, 3] in cm, energies in MeV, and MeV/cm of the track that left them."""

    position: Array
    energy: Array
    density: Array

    def __len__(self) -> int:
        return len(self.energy)

    def where(self, keep: NDArray[np.bool_]) -> Points:
        """Only the points for which `keep` is true."""
        return Points(self.position[keep], self.energy[keep], self.density[keep])

    @staticmethod
    def together(parts: list[Points]) -> Points:
        """All points of several."""
        if not parts:
            return Points(np.zeros((0, 3)), np.zeros(0), np.zeros(0))
        return Points(
            np.concatenate([part.position for part in parts]),
            np.concatenate([part.energy for part in parts]),
            np.concatenate([part.density for part in parts]),
        )


def across(direction: Array) -> tuple[Array, Array]:
    """Two unit vectors at right angles to a direction and to each other."""
    helper = np.array([1.0, 0.0, 0.0]) if abs(direction[0]) < 0.7 else np.array([0.0, 1.0, 0.0])
    one = np.cross(direction, helper)
    one /= np.linalg.norm(one)
    return one, np.cross(direction, one)


def tilted(rng: np.random.Generator, axis: Array, cosine: float) -> Array:
    """A direction with the given cosine to an axis, turned at random around it."""
    one, other = across(axis)
    turn = rng.uniform(0, 2 * np.pi)
    sine = np.sqrt(max(0.0, 1 - cosine**2))
    found: Array = cosine * axis + sine * (np.cos(turn) * one + np.sin(turn) * other)
    return found


def range_of(kinetic: float, loss: tuple[float, float], least: float) -> float:
    """The length of a track in cm: the integral of the energy loss over the residual range."""
    scale, power = loss
    # From this residual range on, the loss is the least one.
    knee = (scale / least) ** (1 / power)
    at_knee = scale / (1 - power) * knee ** (1 - power)
    if kinetic <= at_knee:
        return float((kinetic * (1 - power) / scale) ** (1 / (1 - power)))
    return float(knee + (kinetic - at_knee) / least)


def track(
    rng: np.random.Generator,
    constants: Particles,
    start: Array,
    direction: Array,
    length: float,
    step: float,
    momentum: float,
    loss: tuple[float, float] | None = None,
) -> Points:
    """A track that scatters on its way.

    Args:
        rng: where chance comes from.
        constants: of argon.
        start: where it begins.
        direction: of its beginning, of length 1.
        length: of the track, in cm.
        step: distance of its points.
        momentum: in MeV, for scattering.
        loss: scale and power of the energy loss towards the end; None if the particle does not stop.
    """
    count = max(2, round(length / step))
    kick = constants.scattering / momentum * np.sqrt(step / constants.radiation_length)
    one, other = across(direction)
    bend = np.cumsum(rng.standard_normal((count, 2)) * kick, axis=0)
    steps = direction + bend[:, :1] * one + bend[:, 1:] * other
    steps *= step / np.sqrt((steps * steps).sum(axis=1, keepdims=True))
    density = np.full(count, constants.minimum_loss)
    if loss is not None:
        scale, power = loss
        rest = (count - np.arange(count) - 0.5) * step
        density = np.clip(scale * rest**-power, constants.minimum_loss, constants.loss_limit)
    return Points(start + np.cumsum(steps, axis=0), density * step, density)


def segments(constants: Particles, starts: Array, directions: Array, lengths: Array, step: float) -> Points:
    """Many short straight tracks at once."""
    counts = np.maximum(1, np.rint(lengths / step)).astype(np.int64)
    owner = np.repeat(np.arange(len(counts)), counts)
    first = np.cumsum(counts) - counts
    along = (np.arange(len(owner)) - first[owner] + 0.5) * step
    density = np.full(len(owner), constants.minimum_loss)
    return Points(starts[owner] + directions[owner] * along[:, None], density * step, density)


def random_directions(rng: np.random.Generator, count: int) -> Array:
    """Directions at random, evenly over the sphere."""
    found = rng.standard_normal((count, 3))
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    return found


def delta_rays(rng: np.random.Generator, constants: Particles, main: Points, step: float) -> Points:
    """Electrons knocked out along a track: short stubs."""
    count = rng.poisson(constants.delta_rays_per_cm * len(main) * step)
    if not count:
        return Points.together([])
    starts = main.position[rng.integers(0, len(main), count)]
    lengths = 0.3 + rng.exponential(constants.delta_ray_length, count)
    return segments(constants, starts, random_directions(rng, count), lengths, step)


def shower(
    rng: np.random.Generator,
    constants: Particles,
    start: Array,
    direction: Array,
    energy: float,
    step: float,
    pairs: int,
) -> Points:
    """An electromagnetic shower: a short trunk, then pieces of track that spread like a cone.

    Args:
        rng: where chance comes from.
        constants: of argon.
        start: where it begins.
        direction: its axis.
        energy: in MeV.
        step: distance of the points.
        pairs: 1 for an electron, 2 for a photon, whose trunk is twice as dense.
    """
    one, other = across(direction)
    trunk = min(energy / constants.minimum_loss / pairs, rng.uniform(3.0, 9.0))
    stem = segments(constants, start[None], direction[None], np.array([trunk]), step)
    stem = Points(stem.position, stem.energy * pairs, stem.density * pairs)
    left = energy - trunk * constants.minimum_loss * pairs
    if left <= constants.minimum_loss:
        return stem
    count = max(1, int(left / constants.minimum_loss / constants.shower_segment))
    # The profile of a shower is a gamma distribution of the depth, its maximum at ln(E / critical energy).
    shape = 1.5 + 0.5 * np.log(max(1.0, energy / constants.critical_energy))
    depth = rng.gamma(shape, constants.radiation_length / 0.5 / 1.6, count)
    spread = rng.exponential(0.12 * constants.moliere_radius, count) * (
        0.2 + depth / (2 * constants.radiation_length)
    )
    turn = rng.uniform(0, 2 * np.pi, count)
    sideways = np.cos(turn)[:, None] * one + np.sin(turn)[:, None] * other
    starts = start + depth[:, None] * direction + spread[:, None] * sideways
    heading = direction + 0.35 * random_directions(rng, count) + 0.25 * sideways
    heading /= np.linalg.norm(heading, axis=1, keepdims=True)
    lengths = rng.exponential(constants.shower_segment, count) + step
    return Points.together([stem, segments(constants, starts, heading, lengths, step)])
