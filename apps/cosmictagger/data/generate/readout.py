"""From points to pixels: drift, wires, electronics, noise and threshold.

All planes see the same points at the same ticks; only the wires differ. A pixel's label comes from the true
charge in it, so the faint edge of a track and the noise count as background, as in the public files.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cosmictagger.data.events import BACKGROUND, COSMIC, NEUTRINO, PLANES
from cosmictagger.data.generate.constants import Physics
from cosmictagger.data.generate.tracks import Points

_TICKS_ASIDE = np.arange(-2, 3)
#: Charge this near to where it was left counts as true; what electronics spread further does not.
_TRUE_ASIDE = 1
_ORDER_BITS = 24


@dataclass(frozen=True)
class Scale:
    """How an image with fewer pixels sees the same detector."""

    wires: int
    ticks: int
    wire: float  # how many wires of the full detector one of these stands for
    tick: float

    @classmethod
    def of(cls, physics: Physics, shape: tuple[int, int]) -> Scale:
        full = physics.detector
        return cls(shape[0], shape[1], full.wires / shape[0], full.ticks / shape[1])

    def step(self, physics: Physics) -> float:
        """Distance of the points of a track: several to a pixel, not more."""
        return physics.readout.step * max(1.0, min(self.wire, self.tick))


def project(physics: Physics, scale: Scale, position: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    """Positions [n, 3] in cm as tick and wire of each plane, not rounded: (ticks, wires 0, wires 1, wires 2)."""
    box = physics.detector
    x, y, z = position.T
    ticks = (box.ticks / 2 + box.ticks_per_cm * x) / scale.tick
    wires = []
    for angle in np.radians(box.wire_angles):
        along = np.cos(angle) * (z - box.length / 2) + np.sin(angle) * y
        wires.append((box.wires / 2 + along / box.wire_pitch) / scale.wire)
    return (ticks, *wires)


def charge_of(
    rng: np.random.Generator, physics: Physics, scale: Scale, points: Points
) -> NDArray[np.float64]:
    """The charge that arrives from each point."""
    settings = physics.readout
    strength, quenching = settings.recombination
    # -ln(z^2) of a normal z has Moyal's distribution, the simplest that looks like Landau's; its mean is 1.27
    moyal = -np.log(np.square(rng.standard_normal(len(points))) + 1e-9) - 1.27
    fluctuation = np.clip(1 + settings.landau_width * moyal, 0.2, settings.landau_limit)
    drift = physics.detector.half_drift - np.abs(points.position[:, 0])
    arriving = np.exp(-np.clip(drift, 0, None) / settings.attenuation_length)
    survives = strength / (1 + quenching * points.density)
    # A pixel of a small image is crossed on a longer way; dividing keeps the charge in the range of full images.
    return settings.charge_per_mev * points.energy * survives * fluctuation * arriving / scale.wire


def read_out(
    rng: np.random.Generator, physics: Physics, scale: Scale, cosmic: Points, neutrino: Points
) -> tuple[list[NDArray[np.int64]], list[NDArray[np.float32]], list[NDArray[np.uint8]]]:
    """Ids, charge and labels of the pixels above threshold, plane by plane."""
    settings = physics.readout
    points = Points.together([cosmic, neutrino])
    charge = charge_of(rng, physics, scale, points)
    ticks, *planes = project(physics, scale, points.position)
    drift = np.clip(physics.detector.half_drift - np.abs(points.position[:, 0]), 0, None)
    width = np.maximum(np.sqrt(settings.shaping**2 + settings.diffusion * drift) / scale.tick, 0.35)
    tick = np.floor(ticks).astype(np.int64)
    aside = (tick - ticks + 0.5)[:, None] + _TICKS_ASIDE
    weights = np.exp(-0.5 * np.square(aside / width[:, None]))
    weights *= (charge / weights.sum(axis=1))[:, None]
    hit_ticks = tick[:, None] + _TICKS_ASIDE
    in_time = (hit_ticks >= 0) & (hit_ticks < scale.ticks)
    # 1 for the true charge of a muon, 1j for that of the neutrino
    owners = np.where(np.arange(len(points)) < len(cosmic), 1.0, 1.0j)
    shares = owners[:, None] * (np.abs(_TICKS_ASIDE) <= _TRUE_ASIDE)
    ids: list[NDArray[np.int64]] = []
    values: list[NDArray[np.float32]] = []
    labels: list[NDArray[np.uint8]] = []
    for plane in range(PLANES):
        spread = rng.standard_normal(len(points)) * (settings.wire_spread / scale.wire)
        wire = np.floor(planes[plane] + spread).astype(np.int64)
        seen = in_time & ((wire >= 0) & (wire < scale.wires))[:, None]
        hit = (wire[:, None] * scale.ticks + hit_ticks)[seen]
        signal = _sum_by_pixel(hit, weights[seen], shares[seen])
        pixels, charges, classes = _with_noise(rng, physics, scale, plane, *signal)
        ids.append(pixels)
        values.append(charges)
        labels.append(classes)
    return ids, values, labels


def _sum_by_pixel(
    hit: NDArray[np.int64], charge: NDArray[np.float64], shares: NDArray[np.complex128]
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.complex128]]:
    """Pixels in order, their charge, and how much of it truly is of muons (real) and the neutrino (imaginary)."""
    if not len(hit):
        return hit, charge, shares
    # Distinct keys: the order, and with it the last bit of every sum, does not depend on the sorting algorithm.
    keys = np.sort((hit << _ORDER_BITS) | np.arange(len(hit)))
    order = keys & ((1 << _ORDER_BITS) - 1)
    pixel = keys >> _ORDER_BITS
    starts = np.flatnonzero(np.r_[True, pixel[1:] != pixel[:-1]])
    charge = charge[order]
    return pixel[starts], np.add.reduceat(charge, starts), np.add.reduceat(charge * shares[order], starts)


def _with_noise(
    rng: np.random.Generator,
    physics: Physics,
    scale: Scale,
    plane: int,
    pixels: NDArray[np.int64],
    total: NDArray[np.float64],
    true: NDArray[np.complex128],
) -> tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.uint8]]:
    settings = physics.readout
    label = np.full(len(pixels), BACKGROUND, np.uint8)
    label[true.real >= settings.least_true] = COSMIC
    label[true.imag >= settings.least_true] = NEUTRINO
    value = np.minimum(total + settings.noise * rng.standard_normal(len(total)), settings.saturation)
    first, last = covered_wires(physics, scale, plane)
    count = rng.poisson(settings.noise_rates[plane] * (last - first) * scale.ticks)
    noisy = np.sort(rng.integers(first * scale.ticks, last * scale.ticks, count))
    noisy = noisy[np.flatnonzero(np.r_[True, noisy[1:] != noisy[:-1]][: len(noisy)])]
    excess = settings.threshold + rng.exponential(settings.noise_excess, len(noisy))
    if len(pixels):
        at = np.minimum(np.searchsorted(pixels, noisy), len(pixels) - 1)
        alone = pixels[at] != noisy
        noisy, excess = noisy[alone], excess[alone]
    everything = np.concatenate([pixels, noisy])
    order = np.argsort(everything)  # all are distinct
    value = np.concatenate([value, excess])[order].astype(np.float32)
    label = np.concatenate([label, np.full(len(noisy), BACKGROUND, np.uint8)])[order]
    keep = value > settings.threshold
    return everything[order][keep], value[keep], label[keep]


def covered_wires(physics: Physics, scale: Scale, plane: int) -> tuple[int, int]:
    """The first wire of an image that the detector reaches, and the one after the last."""
    box = physics.detector
    angle = np.radians(box.wire_angles[plane])
    half = np.cos(angle) * box.length / 2 + abs(np.sin(angle)) * box.half_height
    reach = half / box.wire_pitch
    first = (box.wires / 2 - reach) / scale.wire
    last = (box.wires / 2 + reach) / scale.wire
    return max(0, int(np.floor(first))), min(scale.wires, int(np.ceil(last)))
