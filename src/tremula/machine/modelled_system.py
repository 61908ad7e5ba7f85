"""The system that figures are given for when a program runs, unless another one is named."""

from __future__ import annotations

from tremula.hardware.catalogue import chip_of_version, smallest_system, target
from tremula.hardware.system import System
from tremula.machine import systems
from tremula.settings.environment import env

#: tiles of the small IPU model
_SMALL_TILES = 4


def modelled_system(ipus: int) -> System:
    """The system that figures are given for: this machine's, or a larger one of its chip.

    A machine without IPUs has the chip that POPTORCH_IPU_MODEL_VERSION names.
    """
    name = env.get("TREMULA_SYSTEM")
    machine = None if systems.model_only() else systems.current()
    if machine is not None and machine.hardware.ipus >= ipus and (name or not _version_is_set()):
        return machine.hardware
    if name:
        return target(name, ipus)
    if machine is not None and not _version_is_set():
        return smallest_system(machine.hardware.chip, ipus)
    chip = chip_of_version(env.get("POPTORCH_IPU_MODEL_VERSION"))
    if env.get("POPTORCH_SMALL_IPU_MODEL") and not env.get("POPTORCH_IPU_MODEL"):
        chip = chip.with_tiles(_SMALL_TILES)
    return smallest_system(chip, ipus)


def _version_is_set() -> bool:
    return env.is_set("POPTORCH_IPU_MODEL_VERSION")
