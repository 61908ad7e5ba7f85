"""Machines joined to a system: how many, how cabled, with how many hosts.

Machines of one rack (one IPU-Link domain) form one ladder of IPUs, whose ends are joined in a torus;
racks reach each other through the gateways of their machines only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tremula.hardware.chip import Chip
from tremula.hardware.machine import Machine

TOPOLOGIES = ("mesh", "torus")


@dataclass(frozen=True, kw_only=True)
class System:
    """A set of IPUs that one program can use. IPUs count from the bottom of the first rack."""

    name: str
    title: str
    date: str  #: when the file was last checked against its sources, year-month-day
    machine: Machine
    based_on: str = ""
    machines: int
    machines_per_rack: int  #: machines whose IPUs are joined by IPU-Links
    topology: str  #: mesh, or torus: the top of the ladder is cabled to its bottom
    hosts: int

    @property
    def chip(self) -> Chip:
        """The chip of every machine."""
        return self.machine.chip

    @property
    def ipus(self) -> int:
        """All IPUs."""
        return self.machines * self.machine.ipus

    @property
    def racks(self) -> int:
        """Racks, which are IPU-Link domains."""
        return -(-self.machines // self.machines_per_rack)

    @property
    def ipus_per_rack(self) -> int:
        """IPUs that reach each other without a gateway."""
        return min(self.machines, self.machines_per_rack) * self.machine.ipus

    @property
    def wraps(self) -> bool:
        """Whether the ladder of a rack is closed to a ring."""
        return self.topology == "torus" and self.ipus_per_rack > self.machine.ipus

    def link_bytes_per_second(self, kind: str) -> float:
        """Rate of all links of one kind at one IPU (pair, cross, up, down) or one machine (gateway).

        0 where the system has no such link.
        """
        machine = self.machine
        if kind == "gateway":
            return (machine.gateway_links or 0) * (machine.gateway_link_bytes_per_second or 0.0)
        links = {
            "pair": machine.pair_links,
            "cross": machine.cross_links,
            "up": machine.rail_links,
            "down": machine.rail_links,
        }
        return links[kind] * machine.link_bytes_per_second

    def with_chip(self, chip: Chip) -> System:
        """The same system with another chip in every machine."""
        return replace(self, machine=replace(self.machine, chip=chip))

    def with_machines(self, machines: int) -> System:
        """As many such machines, cabled like this system."""
        name = f"{machines} x {self.machine.name}"
        return replace(self, machines=machines, name=name, title=f"{machines} x {self.machine.title}")
