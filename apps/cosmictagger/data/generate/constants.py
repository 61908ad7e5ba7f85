"""The numbers behind the generated events: detector, particles, charge and noise, each in one place.

Geometry is that of the SBND detector as the public sample file shows it: with these numbers the true positions
in that file come out at the very pixels that it marks as vertices, to within two ticks and one wire. Charge and
noise were set so that the distributions resemble those of that file. All this is a plausible imitation for
learning and testing, not a simulation: no figure of an analysis may rest on it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Detector:
    """The box and its three wire planes. Lengths in cm; x is along the drift, y up, z along the beam."""

    half_drift: float = 200.0  # from the cathode (x = 0) to the wires on either side
    half_height: float = 200.0
    length: float = 500.0
    wires: int = 2048  # of an image; the detector covers 1986, 1986 and 1667 of them, in the middle
    ticks: int = 1280
    wire_pitch: float = 0.3
    ticks_per_cm: float = 3.187  # 2 us per tick and a drift of 0.157 cm/us
    # angles between the wires of a plane and the vertical, in degrees
    wire_angles: tuple[float, float, float] = (-60.0, 60.0, 0.0)
    fiducial_margin: float = 20.0  # neutrinos interact at least this far from the walls
    fiducial_margin_downstream: float = 60.0


@dataclass(frozen=True)
class Particles:
    """Energy loss and scattering in liquid argon. Energies in MeV, lengths in cm."""

    minimum_loss: float = 2.1  # MeV/cm of a fast particle
    # MeV/cm at residual range R is scale * R**-power (ArgoNeuT's parametrisation), but at least the above
    muon_loss: tuple[float, float] = (8.0, 0.37)
    proton_loss: tuple[float, float] = (17.0, 0.42)
    loss_limit: float = 25.0  # the last millimetres are not resolved
    radiation_length: float = 14.0
    photon_gap: float = 18.0  # mean distance to the first pair: 9/7 radiation lengths
    moliere_radius: float = 9.0
    critical_energy: float = 32.0
    shower_segment: float = 2.0  # mean length of the pieces of track that a shower consists of
    scattering: float = 13.6  # MeV, Highland's constant
    delta_rays_per_cm: float = 0.04
    delta_ray_length: float = 0.7
    michel_length: tuple[float, float] = (2.0, 14.0)  # of the electron at the end of a stopped muon
    muon_mass: float = 105.7
    proton_mass: float = 938.3
    pion_mass: float = 139.6


@dataclass(frozen=True)
class Cosmics:
    """Muons from above."""

    mean: float = 2.6  # per event; at least one, which comes in time
    stopping: float = 0.15  # share that stops inside
    momentum: tuple[float, float] = (600.0, 15000.0)  # MeV of those that go through; even in the logarithm
    out_of_time: float = 0.6  # share that came before or after the neutrino, and so seems displaced
    most_displaced: float = 150.0  # cm
    shortest: float = 20.0  # cm of track
    strays: float = 8.0  # short pieces of track per event, from photons and neutrons that came along
    stray_length: float = 5.0  # cm, their mean


@dataclass(frozen=True)
class Beam:
    """Neutrinos and what they make."""

    flavours: tuple[float, float, float] = (0.35, 0.35, 0.30)  # shares of nu_e CC, nu_mu CC and NC
    median_energy: float = 1.0  # GeV; log-normal
    energy_spread: float = 0.6
    least_energy: float = 0.2
    most_energy: float = 4.0
    lepton_share: tuple[float, float] = (5.0, 2.5)  # Beta distribution of the lepton's share of the energy
    neutral_loss: tuple[float, float] = (0.3, 0.7)  # share that an NC neutrino carries away
    most_prongs: int = 6
    least_proton: float = 60.0  # MeV of kinetic energy: 4 cm


@dataclass(frozen=True)
class Readout:
    """From energy to stored charge."""

    charge_per_mev: float = 230.0
    recombination: tuple[float, float] = (0.80, 0.0697)  # Birks: A and k/(rho E) in cm/MeV at 500 V/cm
    landau_width: float = 0.25  # of the energy loss of one step, relative
    landau_limit: float = 6.0
    attenuation_length: float = 1600.0  # cm of drift: 10 ms of electron lifetime
    diffusion: float = 0.006  # ticks^2 per cm of drift
    shaping: float = 0.55  # ticks: the width that electronics add
    wire_spread: float = 0.2  # wires: transverse diffusion and induction
    threshold: float = 5.0
    saturation: float = 2800.0  # the electronics give no more
    noise: float = 1.2  # of pixels with signal
    # share of pixels (inside the detector's part of an image) that noise alone lifts above the threshold
    noise_rates: tuple[float, float, float] = (0.0048, 0.0048, 0.0003)
    noise_excess: float = 0.75  # mean of what such pixels have above it
    # a pixel with less charge from within a tick counts as background: the outermost edge of a track
    least_true: float = 4.0
    step: float = 0.1  # cm between the points of a track; several steps per wire


@dataclass(frozen=True)
class Physics:
    """All of it. `dataclasses.replace` makes variants."""

    detector: Detector = Detector()
    particles: Particles = Particles()
    cosmics: Cosmics = Cosmics()
    beam: Beam = Beam()
    readout: Readout = Readout()
