"""What the chip model says of a program that is about to run: figures for the log, whether it fits, and its profile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tremula.device.profile import ProfileFile
from tremula.device.settings import DeviceSettings, allows_out_of_memory
from tremula.settings.environment import env
from tremula.telemetry.run_record import Entry

if TYPE_CHECKING:
    from tremula.device.chip_model import ModelledRun
    from tremula.profile.model import Advice


def model_program(
    settings: DeviceSettings,
    model: Callable[[], ModelledRun],
    advise: Callable[[], Sequence[Advice]],
    entry: Entry,
) -> ModelledRun | None:
    """Have the chip model look at a program, unless it is off.

    Args:
        settings: of the program.
        model: describes the program to the chip model.
        advise: what to change about it, best first, for its profile.
        entry: its entry in the record of this run.

    Raises:
        Error: it would not fit on the chip, and that was asked to be an error.
    """
    profile = ProfileFile(settings)
    if env.get("TREMULA_CHIP_MODEL") == "off":
        profile.refuse_without_chip_model()
        entry.unprofiled(profile.problem)
        return None
    try:
        modelled = model()
        modelled.look_at_compilation(
            allow_out_of_memory=allows_out_of_memory(settings.engine_options),
            profile=profile.write(modelled, advise),
        )
    finally:
        entry.unprofiled(profile.problem)
    entry.foreseen(modelled.brief())
    return modelled
