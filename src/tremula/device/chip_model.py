"""The chip model beside a running program. Small programs are looked at when they are compiled, large ones on request
(TREMULA_CHIP_MODEL); an error of the model is reported and never stops the program, unless that was asked for.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from dataclasses import dataclass

from tremula import log
from tremula.errors import Error
from tremula.estimate.estimate import Estimate, estimate
from tremula.hardware.system import System
from tremula.machine.modelled_system import modelled_system
from tremula.program.program import Program
from tremula.schedule.deployment import Deployment
from tremula.settings.environment import env

#: ops up to which a program is looked at when it is compiled: about a second
LOOK_AT_ONCE_OPS = 1500


@dataclass(frozen=True)
class TurnTime:
    """Modelled seconds of one turn of the device's loops, in the order in which they pass."""

    #: from the start of a turn to the start of the next
    period: float
    inputs: float
    compute: float
    outputs: float


class ModelledRun:
    """What the chip would do with one compiled program of about `ops` ops; `describe` makes it on first use.

    `at_once` False leaves small programs alone, too, until somebody asks: for front ends whose programs compile in less
    time than a look takes.
    """

    def __init__(
        self,
        describe: Callable[[], Program],
        deployment: Deployment,
        *,
        replicas: int,
        ops: int,
        at_once: bool = True,
    ) -> None:
        self._at_once = at_once
        self._describe = describe
        self._deployment = deployment
        self._replicas = replicas
        self._ops = ops
        self._lock = threading.Lock()

    def look_at_compilation(self, *, allow_out_of_memory: bool = True, profile: str = "") -> None:
        """Report the figures of a compiled program, whether it fits, and its `profile` file if there is one."""
        mode = env.get("TREMULA_CHIP_MODEL")
        strict = env.get("TREMULA_OUT_OF_MEMORY") == "error" or not allow_out_of_memory
        self.system  # noqa: B018 - a name that does not exist is an error at once
        small = self._ops <= LOOK_AT_ONCE_OPS
        if not (strict or mode == "compile" or (mode == "auto" and small and self._at_once)):
            return
        try:
            found = self.estimate
        except Error as problem:
            if strict:
                raise
            log.warn_once(
                f"chip model: {problem.message}",
                f"The chip model cannot estimate this program: {problem.message}",
            )
            return
        for line in found.summary().splitlines():
            log.layer("tremula").info(line)
        self._tell_memory(found, strict=strict, profile=profile)

    def brief(self) -> str:
        """One line about the figures, if they are there; they are not made for it."""
        found = self.known
        if found is None:
            return ""
        low, high = found.time_band.around(found.throughput)
        share = found.memory.max_tile_bytes / found.memory.tile_memory_bytes
        fit = found.memory.fit
        fits = f", fits: {fit.words}" if fit.fits else f": out of memory (fits: {fit.words})"
        return (
            f"modelled for {found.chip.title}: {found.throughput:,.0f} samples/s ({low:,.0f} to {high:,.0f}), "
            f"{share:.0%} of tile memory{fits}"
        )

    @functools.cached_property
    def system(self) -> System:
        """The system that is modelled."""
        return modelled_system(self._replicas * self._deployment.ipus_per_replica)

    @property
    def known(self) -> Estimate | None:
        """All figures if they were computed before, else None."""
        return self.__dict__.get("_made")

    @property
    def estimate(self) -> Estimate:
        """All figures. They are computed on first use."""
        with self._lock:
            return self._made

    @functools.cached_property
    def _made(self) -> Estimate:
        try:
            return estimate(self._describe(), self._deployment, self.system)
        except Error:
            raise
        except Exception as problem:  # the model must not take the program down with it
            raise Error(
                f"an internal error of the chip model ({type(problem).__name__}: {problem}). The results of the "
                "program are not affected. Please report it with the model, or set TREMULA_CHIP_MODEL=off."
            ) from problem

    def _tell_memory(self, found: Estimate, *, strict: bool, profile: str) -> None:
        if found.memory.fits:
            return
        text = found.memory.out_of_memory_text()
        text += "\nFor suggested changes as code, run: tremula estimate run PROGRAM"
        if profile:
            text += f"\nFor the memory of each tile over time, run: tremula view {profile}"
        if strict:
            raise Error(
                f"{text}\nSet TREMULA_OUT_OF_MEMORY=warn to run such programs on the host.",
                type="poplar_graph_memory_allocation_error",
            )
        log.warn_once(
            f"out of memory: {text}",
            f"{text}\nThe program continues, because the host has enough memory. It would fail on hardware. "
            "Set TREMULA_OUT_OF_MEMORY=error to make this an error.",
        )

    def cycles_per_call(self) -> int:
        """Cycles of the device in one call: all but what the host does around it."""
        found = self.estimate
        overhead = found.time.call.overhead_seconds * found.chip.clock_hz
        return max(1, round(found.cycles_per_call - overhead))

    def turn_time(self) -> TurnTime:
        """Seconds of one micro-batch, in parts."""
        found = self.estimate
        call, flat = found.time.call, found.program
        sent, fetched = flat.bytes_of(flat.inputs), flat.bytes_of(flat.outputs)
        streams = call.stream_seconds / found.micro_batches_per_step
        outputs = streams * fetched / max(1, sent + fetched)
        inputs = call.overhead_seconds + call.fill_seconds + streams - outputs
        return TurnTime(
            period=found.seconds_per_step / found.micro_batches_per_step,
            inputs=inputs,
            compute=max(0.0, found.latency_seconds - inputs - outputs),
            outputs=outputs,
        )


def estimate_of(wrapped: object) -> Estimate:
    """All modelled figures of a wrapped model, which has to be compiled."""
    run = getattr(wrapped, "_modelled", None)
    if not isinstance(run, ModelledRun):
        raise Error(
            "There are no modelled figures: the model is not wrapped or not compiled, or "
            "TREMULA_CHIP_MODEL=off is set. Call the wrapped model, or its compile(), first."
        )
    return run.estimate
