"""What crosses the detector: cosmic muons from above, and one neutrino with its prongs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cosmictagger.data.events import Truth
from cosmictagger.data.generate.constants import Physics
from cosmictagger.data.generate.tracks import (
    Array,
    Points,
    delta_rays,
    random_directions,
    range_of,
    segments,
    shower,
    tilted,
    track,
)

_BEAM = np.array([0.0, 0.0, 1.0])


def inside(physics: Physics, points: Points) -> Points:
    """The points in the detector."""
    box = physics.detector
    x, y, z = points.position.T
    return points.where(
        (np.abs(x) < box.half_drift) & (np.abs(y) < box.half_height) & (z > 0) & (z < box.length)
    )


def cosmics(rng: np.random.Generator, physics: Physics, count: int, step: float) -> Points:
    """The points of `count` muons, displaced along the drift if they came at another time."""
    found = [_cosmic(rng, physics, step, in_time=number == 0) for number in range(count)]
    if count:
        found.append(_strays(rng, physics, step))
    return Points.together(found)


def _cosmic(rng: np.random.Generator, physics: Physics, step: float, in_time: bool) -> Points:
    box, settings, argon = physics.detector, physics.cosmics, physics.particles
    corner = np.array([box.half_drift, box.half_height, box.length / 2])
    centre = np.array([0.0, 0.0, box.length / 2])
    for _ in range(16):
        within = centre + rng.uniform(-1, 1, 3) * corner
        # the flux through a horizontal area falls with the third power of the cosine
        cosine = rng.uniform(0, 1) ** 0.25
        down = tilted(rng, np.array([0.0, -1.0, 0.0]), cosine)
        with np.errstate(divide="ignore"):
            walls = np.sort((np.array([[-1.0], [1.0]]) * corner - (within - centre)) / down, axis=0)
        enter, leave = walls[0].max(), walls[1].min()
        if leave - enter > settings.shortest:
            break
    start = within + enter * down
    stops = rng.uniform() < settings.stopping
    length = -enter if stops else leave - enter
    loss = argon.muon_loss if stops else None
    least, most = settings.momentum
    momentum = 1000.0 if stops else float(np.exp(rng.uniform(np.log(least), np.log(most))))
    main = track(rng, argon, start, down, max(length, 1.0), step, momentum, loss)
    parts = [main, delta_rays(rng, argon, main, step)]
    if stops:
        ends = rng.uniform(*argon.michel_length)
        parts.append(segments(argon, main.position[-1:], random_directions(rng, 1), np.array([ends]), step))
    points = inside(physics, Points.together(parts))
    if not in_time and rng.uniform() < settings.out_of_time:
        # Either half of the detector drifts to its own wires, so the halves of a track move apart.
        shift = rng.uniform(-settings.most_displaced, settings.most_displaced)
        points.position[:, 0] += np.sign(points.position[:, 0]) * shift
    return points


def _strays(rng: np.random.Generator, physics: Physics, step: float) -> Points:
    box, settings = physics.detector, physics.cosmics
    count = rng.poisson(settings.strays)
    corner = np.array([box.half_drift, box.half_height, box.length / 2])
    starts = rng.uniform(-1, 1, (count, 3)) * corner + np.array([0.0, 0.0, box.length / 2])
    lengths = rng.exponential(settings.stray_length, count) + step
    headings = random_directions(rng, count)
    return inside(physics, segments(physics.particles, starts, headings, lengths, step))


@dataclass(frozen=True)
class Interaction:
    """A neutrino's interaction: the truth and the points."""

    truth: Truth
    points: Points


def neutrino(rng: np.random.Generator, physics: Physics, step: float) -> Interaction:
    """A neutrino of random flavour, current and energy, at a random place in the fiducial volume."""
    box, beam, argon = physics.detector, physics.beam, physics.particles
    shares = np.array(beam.flavours) / sum(beam.flavours)
    kind = int(rng.choice(3, p=shares))
    tries = beam.median_energy * np.exp(beam.energy_spread * rng.standard_normal(64))
    allowed = tries[(tries >= beam.least_energy) & (tries <= beam.most_energy)]
    energy = float(allowed[0]) if len(allowed) else beam.median_energy
    margin = box.fiducial_margin
    vertex = np.array(
        [
            rng.uniform(margin - box.half_drift, box.half_drift - margin),
            rng.uniform(margin - box.half_height, box.half_height - margin),
            rng.uniform(margin, box.length - box.fiducial_margin_downstream),
        ]
    )
    available = energy * 1000  # MeV
    parts: list[Points] = []
    if kind == 2:
        pdg = 14 if rng.uniform() < 0.7 else 12
        available *= 1 - rng.uniform(*beam.neutral_loss)
    else:
        pdg = (12, 14)[kind]
        share = rng.beta(*beam.lepton_share)
        lepton = max(share * available, 50.0)
        available -= lepton
        heading = tilted(rng, _BEAM, max(-0.5, 1 - rng.exponential(0.25)))
        if kind == 0:
            parts.append(shower(rng, argon, vertex, heading, lepton, step, 1))
        else:
            kinetic = max(lepton - argon.muon_mass, 20.0)
            parts.append(
                _stopping(rng, physics, vertex, heading, kinetic, argon.muon_loss, argon.muon_mass, step)
            )
    parts += _hadrons(rng, physics, vertex, available, step, beam.most_prongs - len(parts), 2 - len(parts))
    points = inside(physics, Points.together(parts))
    place = (float(vertex[0]), float(vertex[1]), float(vertex[2]))
    return Interaction(Truth(pdg, int(kind == 2), energy, place), points)


def _hadrons(
    rng: np.random.Generator,
    physics: Physics,
    vertex: Array,
    available: float,
    step: float,
    most: int,
    least: int,
) -> list[Points]:
    """Protons, charged pions and the photons of neutral ones, as far as the energy goes."""
    argon, beam = physics.particles, physics.beam
    parts: list[Points] = []
    count = int(np.clip(1 + rng.poisson(available / 500), least, most))
    shares = rng.dirichlet(np.ones(count)) * available
    for number in range(count):
        if len(parts) >= most:
            break
        heading = tilted(rng, _BEAM, max(-1.0, 1 - rng.exponential(0.7)))
        energy = float(shares[number])
        chance = rng.uniform()
        if number and energy > 2 * argon.pion_mass and chance < 0.3 and len(parts) + 2 <= most:
            for photon in (energy * 0.6, energy * 0.4):
                away = tilted(rng, heading, rng.uniform(0.6, 0.99))
                begin = vertex + away * rng.exponential(argon.photon_gap)
                parts.append(shower(rng, argon, begin, away, photon, step, 2))
        elif number and energy > 1.5 * argon.pion_mass and chance < 0.6:
            kinetic = energy - argon.pion_mass
            parts.append(
                _stopping(rng, physics, vertex, heading, kinetic, argon.muon_loss, argon.pion_mass, step)
            )
        else:
            kinetic = min(max(energy, beam.least_proton), 500.0)
            parts.append(
                _stopping(rng, physics, vertex, heading, kinetic, argon.proton_loss, argon.proton_mass, step)
            )
    return parts


def _stopping(
    rng: np.random.Generator,
    physics: Physics,
    start: Array,
    heading: Array,
    kinetic: float,
    loss: tuple[float, float],
    mass: float,
    step: float,
) -> Points:
    """A track that loses all of its energy."""
    length = range_of(kinetic, loss, physics.particles.minimum_loss)
    momentum = float(np.sqrt(kinetic**2 + 2 * kinetic * mass))
    main = track(rng, physics.particles, start, heading, length, step, momentum, loss)
    return Points.together([main, delta_rays(rng, physics.particles, main, step)])
