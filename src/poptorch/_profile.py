"""Profile files: whether and where the options ask for one, and having it written.

The engine options `autoReport.*` decide, those of POPLAR_ENGINE_OPTIONS before those of the program. A profile
that cannot be written is told and costs the program nothing else.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tremula import log
from tremula.errors import Error
from tremula.settings.environment import env

if TYPE_CHECKING:
    from tremula.device.chip_model import ModelledRun

    from .options import Options

FILE_NAME = "profile.pop"


def engine_options(options: Options) -> dict[str, str]:
    """The engine options that hold: the environment's win."""
    return {**options._Popart.options.get("engineOptions", {}), **env.get("POPLAR_ENGINE_OPTIONS")}


def parts_asked_for(options: Options) -> tuple[bool, bool]:
    """Whether the graph's and the execution's part of a profile are to be written."""
    engine = engine_options(options)

    def asked(*names: str) -> bool:
        values = [engine[name] for name in (*names, "autoReport.all") if name in engine]
        return bool(values) and values[0].lower() in ("true", "1")

    return (
        asked("autoReport.outputGraphProfile"),
        asked("autoReport.outputExecutionProfile", "autoReport.outputExecutionReport"),
    )


def profile_path(options: Options, training: bool) -> Path:
    """Where the profile goes: a folder for each model, named by the user or by what it does."""
    name = options.model_name if options.exists("model_name") else ""
    # a name, not a way out of the folder
    name = name.replace("/", "_").replace("\0", "_").strip(". ") or ("training" if training else "inference")
    return Path(engine_options(options).get("autoReport.directory", ".")).expanduser() / name / FILE_NAME


def chip_model_is_off(options: Options) -> None:
    """Say that there is nothing to write a profile from."""
    if any(parts_asked_for(options)):
        log.no_effect(
            "autoReport", "profiles are made by the chip model, which TREMULA_CHIP_MODEL=off turned off"
        )


def write(options: Options, modelled: ModelledRun, training: bool, label: str) -> str:
    """Write the profile if the options ask for one; its path, or "" where there is none."""
    graph, execution = parts_asked_for(options)
    if not (graph or execution):
        return ""
    # here, for it takes a moment and programs without a profile do without
    from tremula.recording import write_profile

    path = profile_path(options, training)
    started = time.perf_counter()
    try:
        write_profile(
            modelled.estimate,
            path,
            engine_options=engine_options(options),
            run={"model": label, "program": " ".join(sys.argv[:1])},
            graph=graph,
            execution=execution,
        )
    except Error as problem:
        log.layer("tremula").warning("No profile: %s", problem.message)
        return ""
    except Exception as problem:  # a profile must not take the program down with it
        log.layer("tremula").warning(
            "No profile: a fault of the recorder (%s: %s). Numbers do not depend on it; please report it.",
            type(problem).__name__,
            problem,
        )
        return ""
    log.layer("tremula").info(
        "Profile written to %s (modelled, not measured; %.1f s). `tremula view %s` shows it.",
        path,
        time.perf_counter() - started,
        path,
    )
    return str(path)
