"""How often a step runs per call from the host."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Loops:
    """How often the step graph runs per host call: the factors of the combined batch."""

    device_iterations: int = 1
    gradient_accumulation: int = 1
    replicas: int = 1
    input_group_size: int = 1
    consecutive_groups: bool = True

    @property
    def factor(self) -> int:
        """Micro-batches in one combined batch."""
        groups = self.replicas // self.input_group_size
        return self.device_iterations * self.gradient_accumulation * groups
