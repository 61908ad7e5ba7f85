"""The samples that one call of a model takes, and what a data set leaves over or lacks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tremula.errors import Error

from ._logging import logger
from .options import Options


@dataclass(frozen=True)
class CombinedBatch:
    """The micro-batches of one call, as factors.

    Attributes:
        batch_size: samples of a micro-batch.
        iterations: device iterations.
        replicas: replicas with inputs of their own.
        accumulation: micro-batches per update.
    """

    batch_size: int
    iterations: int
    replicas: int
    accumulation: int

    @classmethod
    def of(cls, batch_size: int, options: Options) -> CombinedBatch:
        """The combined batch of micro-batches of this size."""
        return cls(
            batch_size,
            options.device_iterations,
            options.replication_factor // options.input_group_size,
            options.Training.gradient_accumulation,
        )

    @property
    def micro_batches(self) -> int:
        """Number of micro-batches of a call."""
        return self.iterations * self.replicas * self.accumulation

    @property
    def size(self) -> int:
        """Number of samples of a call."""
        return self.batch_size * self.micro_batches

    def warn_about_remainder(self, elements: int, batch_sampler: Any) -> None:
        """Warn if a data set of this length, or the batches of a sampler, do not fill the last combined batch."""
        advice = (
            "The last batch will be smaller than the batch that the model was compiled for. Use drop_last=True, "
            "use a multiple of the combined batch size, or pad the last batch."
        )
        per_call, count = self.micro_batches, _length_or_none(batch_sampler)
        if batch_sampler is None:
            left = elements % self.size
            found = (
                f"the number of samples ({elements}) is not divisible by the combined batch size ({self.size}): "
                f"samples left over: {left}."
            )
        elif count is None:
            left = per_call
            found = (
                "the batch_sampler has no length: there may be batches left over at the end that do not fill a "
                f"combined batch of {per_call} micro-batches."
            )
        else:
            left = count % per_call
            found = (
                f"the number of batches of the batch_sampler ({count}) is not divisible by the number that a call "
                f"takes ({per_call}): left over: {left} batches of up to {self.batch_size} samples. The combined batch "
                f"size is {self.size}."
            )
        if left:
            logger.warning("drop_last=False and %s %s", found, advice)

    def check_there_is_one(self, elements: int, batch_sampler: Any, *, first_is_needed: bool) -> None:
        """With fewer samples than one call takes nothing would be loaded, and a training loop do nothing.

        Raises:
            Error: the loader cannot work without a first batch (`first_is_needed`); otherwise this is a warning.
        """
        there: int | None = elements
        needed, unit = self.size, "samples"
        if batch_sampler is not None:
            there, needed, unit = _length_or_none(batch_sampler), self.micro_batches, "micro-batches"
        if there is None or there >= needed:
            return
        factors = {
            "batch_size": self.batch_size,
            "Options.deviceIterations": self.iterations,
            "Options.replicationFactor": self.replicas,
            "Options.Training.gradientAccumulation": self.accumulation,
        }
        product = " * ".join(f"{name}({value})" for name, value in factors.items())
        message = (
            f"The data set is smaller than a combined batch: it has {elements} samples"
            f"{'' if batch_sampler is None else f' in {there} micro-batches'}, but one call of the model takes "
            f"{needed} {unit}; {product} = {self.size} samples. Use more samples, or reduce one of these numbers."
        )
        if first_is_needed:
            raise Error(message)
        logger.warning("%s Every epoch of this loader is empty.", message)


def _length_or_none(batch_sampler: Any) -> int | None:
    try:
        return len(batch_sampler)
    except (TypeError, NotImplementedError):
        return None
