"""The requirements of a program for its device, and the texts of its front end, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from tremula.settings.environment import env


class Connection(Enum):
    """When a program attaches to its device."""

    #: as soon as it is known what it needs
    ALWAYS = "always"
    #: when it is compiled
    ON_DEMAND = "on demand"
    #: never: it is compiled for a device that this machine need not have
    NEVER = "never"


@dataclass(frozen=True)
class DeviceSettings:
    """How one program is compiled for, and put on, a device.

    Attributes:
        kind: what the user made it with; for the log and the ledger.
        label: what the program is called in the log, the ledger and the counters.
        name: what the user calls it: the folder of its profile; by default what it does.
        use_model: whether it runs on an IPU model; None: as the machine is set up.
        round_up: whether more IPUs may be taken than it uses, where hardware hands out powers of two only.
        count_cycles: whether each run logs its modelled cycles.
        cache_folder: where the user wants compiled code to be kept.
        instance: index of this process among the `instances` that run the program together.
        engine_options: Poplar's, as the program has set them.
        seed: of the random numbers, if the program has set one.
        front_end: what the program was written with, by the name of its package.
    """

    kind: str
    label: str
    training: bool = False
    name: str = ""
    replicas: int = 1
    connection: Connection = Connection.ALWAYS
    device_id: int | None = None
    use_model: bool | None = None
    round_up: bool = False
    count_cycles: bool = False
    cache_folder: str | None = None
    instance: int = 0
    instances: int = 1
    engine_options: Mapping[str, str] = field(default_factory=dict)
    seed: int | None = None
    front_end: str = ""

    @property
    def offline(self) -> bool:
        """Whether the program is only compiled."""
        return self.connection is Connection.NEVER


def effective_engine_options(own: Mapping[str, str]) -> dict[str, str]:
    """The engine options that hold: those of the environment replace the program's `own`."""
    return {**own, **env.get("POPLAR_ENGINE_OPTIONS")}


def allows_out_of_memory(own: Mapping[str, str]) -> bool:
    """Whether a program that does not fit on the chip may be compiled."""
    return str(effective_engine_options(own).get("debug.allowOutOfMemory", "true")).lower() != "false"


#: a layer of the log and a line for it
Line = tuple[str, str]


@dataclass(frozen=True)
class DeviceWords:
    """The texts and log layers by which users of a front end recognise what its device does.

    Attributes:
        error_type: `type` of errors about calls at the wrong time.
        device_layer: the log layer of devices and transfers.
        logger: the name of the front end's own logger.
        begins: lines when a compilation begins.
        captured: lines when the program has been captured.
        stack: what the emulated stack is called.
        round_up_option: how users allow more IPUs than a program needs.
        own_holder: said of a device that another program of the same process holds.
    """

    error_type: str = "tremula_error"
    device_layer: str = "tremula"
    logger: str = "tremula"
    begins: tuple[Line, ...] = ()
    captured: tuple[Line, ...] = ()
    stack: str = "the stack"
    round_up_option: str = "the option for it"
    own_holder: str = "another program of this process; detach that one first"
    not_compiled: str = "The program has not been compiled or has been destroyed."
    attached: str = "The device is already attached."
    detached: str = "The device is not attached."
    offline: str = "The program was compiled for a device that is never attached."
    cycles_need_hardware: str = (
        "Cycles are counted on IPU hardware only, and this program runs on an IPU model."
    )
