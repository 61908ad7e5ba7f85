"""The learning rate in the course of training: scaled with the global batch, warmed up, then lowered in steps."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Schedule:
    """Learning rate by time in epochs.

    Attributes:
        base_rate: the rate for a global batch of `base_batch`.
        base_batch: global batch that the base rate is for; 0 means that the rate is not scaled.
        global_batch: samples of one update over all replicas and instances.
        warmup: epochs in which the rate rises linearly to its full value.
        decay_epochs: when the rate is lowered.
        decay_factors: share of the full rate from each of those epochs on.
    """

    base_rate: float
    base_batch: int = 0
    global_batch: int = 1
    warmup: float = 0.0
    decay_epochs: tuple[float, ...] = ()
    decay_factors: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if len(self.decay_epochs) != len(self.decay_factors):
            raise ValueError(
                f"train.decay_epochs has {len(self.decay_epochs)} entries and train.decay_factors "
                f"{len(self.decay_factors)}; each epoch needs its factor."
            )
        if list(self.decay_epochs) != sorted(self.decay_epochs):
            raise ValueError(f"train.decay_epochs={list(self.decay_epochs)} must ascend.")

    @property
    def full_rate(self) -> float:
        """The rate after the warm-up: linear in the global batch."""
        return self.base_rate * (self.global_batch / self.base_batch if self.base_batch else 1)

    def rate(self, epoch: float) -> float:
        """The rate at a time in epochs; that of an update is asked for at its end, so that the first is not zero."""
        factor = min(1.0, epoch / self.warmup) if self.warmup else 1.0
        for begin, lower in zip(self.decay_epochs, self.decay_factors, strict=True):
            if epoch > begin:
                factor = lower
        return self.full_rate * factor
