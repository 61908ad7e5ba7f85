"""The layout of a run: instances over hosts, replicas over instances, and IPU-Link domains."""

from __future__ import annotations

from dataclasses import dataclass

from tremula.launch.hosts import Host

#: most IPUs that are linked directly
IPUS_PER_LINK_DOMAIN = 64


@dataclass(frozen=True)
class Instance:
    """One host process of the run."""

    index: int  #: its number among all, which is its rank
    host: int  #: the number of its host
    local_index: int  #: its number on that host
    first_replica: int  #: its first replica
    replicas: int  #: how many it has


@dataclass(frozen=True)
class Layout:
    """A run whose numbers divide evenly."""

    hosts: tuple[Host, ...]
    num_instances: int
    num_replicas: int
    ipus_per_replica: int
    link_domains: int

    @property
    def instances_per_host(self) -> int:
        """Instances on each host."""
        return self.num_instances // len(self.hosts)

    @property
    def replicas_per_instance(self) -> int:
        """Replicas of each instance."""
        return self.num_replicas // self.num_instances

    @property
    def ipus_per_instance(self) -> int:
        """IPUs of each instance."""
        return self.replicas_per_instance * self.ipus_per_replica

    @property
    def ipus_per_host(self) -> int:
        """IPUs of the device that a host needs: devices have powers of two, and each instance has one inside."""
        return rounded_up(self.instances_per_host * self.ipus_of_child)

    @property
    def ipus_of_child(self) -> int:
        """IPUs of the device of each instance."""
        return rounded_up(self.ipus_per_instance)

    @property
    def instances(self) -> list[Instance]:
        """All instances, in the order of their ranks: host after host."""
        each, replicas = self.instances_per_host, self.replicas_per_instance
        return [
            Instance(index, index // each, index % each, index * replicas, replicas)
            for index in range(self.num_instances)
        ]


def rounded_up(ipus: int) -> int:
    """The next power of two."""
    return 1 << (ipus - 1).bit_length()


def default_link_domains(ipus: int) -> int:
    """The number of link domains for this many IPUs."""
    return max(1, ipus // IPUS_PER_LINK_DOMAIN)
