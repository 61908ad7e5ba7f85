"""The chip model beside an engine: made when somebody asks, told what ran, and asked for profiles that options want."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tremula import log
from tremula.errors import Error
from tremula.frontends.poplar.errors import GraphMemoryAllocationError, PoplarError
from tremula.frontends.poplar.estimate import memory_text
from tremula.frontends.poplar.execute.options import EngineOptions
from tremula.frontends.poplar.execute.runs import ProgramRun
from tremula.settings.environment import env

if TYPE_CHECKING:
    from tremula.frontends.poplar.estimate.model import ChipModel


class Figures:
    """The modelled figures of one engine."""

    def __init__(self, make: Callable[[], ChipModel], options: EngineOptions) -> None:
        self._make = make
        self._options = options
        self._off = env.get("TREMULA_CHIP_MODEL") == "off"
        if self._off and (options.graph_profile or options.execution_profile):
            log.no_effect(
                "autoReport", "profiles are made by the chip model, which TREMULA_CHIP_MODEL=off turned off"
            )

    @functools.cached_property
    def model(self) -> ChipModel:
        """The chip model, made when first asked for."""
        if self._off:
            raise PoplarError(
                "Cycles, memory and profiles are modelled, and TREMULA_CHIP_MODEL=off turns the model off. "
                "Unset it to get them."
            )
        return self._make()

    def look(self) -> None:
        """Look at a program that was just prepared: whether it fits, if that was asked for, and its profile."""
        strict = env.get("TREMULA_OUT_OF_MEMORY") == "error"
        strict |= not self._options.is_on("debug.allowOutOfMemory", default=True)
        problem = None
        if not self._off and (strict or env.get("TREMULA_CHIP_MODEL") == "compile"):
            problem = self._memory_problem(strict=strict)
        written = self._write((), execution=False) if self._options.graph_profile else None
        if problem is None:
            return
        if strict:
            raise GraphMemoryAllocationError(f"{problem} Profile saved to: {written}" if written else problem)
        memory_text.warn(problem)

    def _memory_problem(self, *, strict: bool) -> str | None:
        try:
            return self.model.memory_problem()
        except Exception as problem:
            if strict:
                raise
            log.warn_once("chip model", f"The chip model cannot say what an IPU would do: {_words(problem)}")
            return None

    def ran(self, runs: Sequence[ProgramRun]) -> None:
        """Write the profile again after a run that it is to show."""
        if self._options.execution_profile and len(runs) <= self._options.profiled_runs:
            self._write(runs, execution=True)

    def _write(self, runs: Sequence[ProgramRun], *, execution: bool) -> Path | None:
        """Write the profile that options ask for. A fault is reported, and the program runs on."""
        if self._off:
            return None
        try:
            written = self.model.write_profile(self._options.profile_directory, runs, execution=execution)
        except Exception as problem:
            log.layer("tremula").warning(
                "No profile: %s. The results of the program are not affected. Please report it.",
                _words(problem),
            )
            return None
        log.layer("tremula").info(
            "Profile written to %s (modelled, not measured). `tremula view %s` shows it.", written, written
        )
        return written


def _words(problem: Exception) -> str:
    if isinstance(problem, Error):
        return problem.message
    if isinstance(problem, OSError):
        return str(problem)
    return f"a fault of the chip model itself ({type(problem).__name__}: {problem})"
