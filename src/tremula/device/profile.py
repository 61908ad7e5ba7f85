"""Profile files: the engine options `autoReport.*` (the environment's before the program's) decide whether and where.
A profile that cannot be written is reported, and the program runs on.
"""

from __future__ import annotations

import platform
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tremula import __version__, log
from tremula.device.settings import DeviceSettings, effective_engine_options
from tremula.errors import Error

if TYPE_CHECKING:
    from tremula.device.chip_model import ModelledRun
    from tremula.profile.model import Advice

FILE_NAME = "profile.pop"
#: runs that are recorded at most: they are modelled, and all alike
_MOST_RUNS = 10
_RUNS = 2
#: packages whose versions go beside a profile, of those that the program uses
_PACKAGES = ("torch", "tensorflow", "keras", "numpy")


class ProfileFile:
    """The profile that the engine options of a program ask for, in `path`; `graph` and `execution` are its parts, and
    `problem` is why it was not written.
    """

    def __init__(self, settings: DeviceSettings) -> None:
        self._settings = settings
        self.problem = ""
        self._options = effective_engine_options(settings.engine_options)
        self.graph = self._asked("autoReport.outputGraphProfile")
        self.execution = self._asked("autoReport.outputExecutionProfile", "autoReport.outputExecutionReport")
        # a name, not a path out of the folder
        name = settings.name.replace("/", "_").replace("\0", "_").strip(". ")
        folder = Path(self._options.get("autoReport.directory", ".")).expanduser()
        self.path = folder / (name or ("training" if settings.training else "inference")) / FILE_NAME

    def _asked(self, *names: str) -> bool:
        values = [self._options[name] for name in (*names, "autoReport.all") if name in self._options]
        return bool(values) and values[0].lower() in ("true", "1")

    def refuse_without_chip_model(self) -> None:
        """Report that there is nothing to write a profile from."""
        if self.graph or self.execution:
            self.problem = "profiles need the chip model, but TREMULA_CHIP_MODEL=off is set"
            log.no_effect("autoReport", self.problem)

    def _runs(self) -> int:
        text = self._options.get("autoReport.executionProfileProgramRunCount", "").strip()
        return min(_MOST_RUNS, int(text)) if text.isdecimal() else _RUNS

    def _write_framework(self) -> None:
        """What the program was written with and asked for, beside the profile."""
        from tremula.profile.application import write_framework

        settings = self._settings
        versions = {"tremula": __version__, "python": platform.python_version()}
        for package in _PACKAGES:
            module = sys.modules.get(package)
            if module is not None:
                versions[package] = str(getattr(module, "__version__", ""))
        write_framework(
            self.path.parent,
            {
                "frontEnd": settings.front_end,
                "versions": versions,
                "model": settings.label,
                "kind": "training" if settings.training else "inference",
                "options": {
                    "replicas": settings.replicas,
                    "instance": settings.instance,
                    "instances": settings.instances,
                    "seed": settings.seed,
                },
                "engineOptions": dict(self._options),
            },
        )

    def _advice(self, advise: Callable[[], Sequence[Advice]]) -> Sequence[Advice]:
        try:
            return advise()
        except Exception as problem:  # the profile is worth having without it
            log.layer("tremula").warning("The profile has no advice: %s", problem)
            return ()

    def write(self, modelled: ModelledRun, advise: Callable[[], Sequence[Advice]]) -> str:
        """Write the profile, with what `advise` gives, if one is asked for; its path, or "" where there is none."""
        if not (self.graph or self.execution):
            return ""
        # imported here, because it takes a moment and programs without a profile do not need it
        from tremula.recording import write_profile

        started = time.perf_counter()
        try:
            write_profile(
                modelled.estimate,
                self.path,
                engine_options=self._options,
                run={"model": self._settings.label, "program": " ".join(sys.argv[:1])},
                advice=self._advice(advise),
                graph=self.graph,
                execution=self.execution,
                layer=self._settings.front_end,
                runs=self._runs(),
            )
            self._write_framework()
        except Error as problem:
            self.problem = problem.message
            log.layer("tremula").warning("No profile: %s", problem.message)
            return ""
        except Exception as problem:  # a profile must not take the program down with it
            self.problem = f"an internal error of the recorder ({type(problem).__name__}: {problem})"
            log.layer("tremula").warning(
                "No profile: internal error of the recorder (%s: %s). Results are not affected. Please report it.",
                type(problem).__name__,
                problem,
            )
            return ""
        log.layer("tremula").info(
            "Profile written to %s (modelled, not measured; %.1f s). Show it with `tremula view %s`.",
            self.path,
            time.perf_counter() - started,
            self.path,
        )
        return str(self.path)
