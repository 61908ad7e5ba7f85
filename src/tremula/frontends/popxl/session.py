"""A PopXL program on a (virtual) device: the life of a device program, with the engine's runs in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tremula.device.lifecycle import DeviceProgram
from tremula.device.settings import Connection, DeviceSettings
from tremula.errors import Error
from tremula.execute.allocation import keep_freed_memory
from tremula.frontends.popxl.description import described
from tremula.frontends.popxl.invariants import present_data
from tremula.frontends.popxl.model import Ir
from tremula.frontends.popxl.program import LoadedProgram
from tremula.frontends.sessions.on_device import WORDS, HostExecutable, OnDevice, of_executable

if TYPE_CHECKING:
    from tremula.device.chip_model import ModelledRun

Array = np.ndarray[Any, Any]

_WORDS = replace(
    WORDS,
    logger="popxl",
    captured=(("popart:devicex", "Starting compilation"),),
    stack="PopXL",
    round_up_option="a power of two of IPUs",
    own_holder="another session of this process; leave its `with` block first",
    not_compiled="The session has not been compiled.",
    attached="The session is attached to a device already.",
    detached="The session is not attached to a device.",
)


class PopxlSession:
    """One IR, compiled for a device."""

    def __init__(self, ir: Ir) -> None:
        keep_freed_memory()
        self.ir = ir
        self.on_device: OnDevice | None = None
        self._program: LoadedProgram | None = None
        self._use_model: bool | None = True
        self._ipus = 1
        self._device_id: int | None = None
        self._agreed = not ir.share.several

    def on(self, *, use_model: bool | None, ipus: int, device_id: int | None = None) -> None:
        """Run on an IPU model or on (virtual) IPUs (None: as the machine is set up), so many of them."""
        self._use_model, self._ipus, self._device_id = use_model, ipus, device_id

    @property
    def device(self) -> DeviceProgram[Any]:
        """The life on the device."""
        if self.on_device is None:
            raise Error(_WORDS.not_compiled, type=_WORDS.error_type)
        return self.on_device.device

    @property
    def program(self) -> LoadedProgram:
        """The compiled program."""
        if self._program is None:
            raise Error(_WORDS.not_compiled, type=_WORDS.error_type)
        return self._program

    @property
    def attached(self) -> bool:
        """Whether a device is held."""
        return self.on_device is not None and self.on_device.device.attached

    def compile(self, engine_options: Mapping[str, str], *, kept: bool = False) -> None:
        """Make the program, and have the chip model look at it; the device is free again afterwards.

        `kept` says that there is an executable of it.
        """
        settings = DeviceSettings(
            kind="popxl.Session",
            label="popxl",
            replicas=self.ir.share.local,
            device_id=self._device_id,
            instance=self.ir.share.instance,
            instances=self.ir.share.instances,
            connection=Connection.ON_DEMAND,
            use_model=self._use_model,
            round_up=True,
            engine_options=engine_options,
            front_end="popxl",
        )
        self.on_device = OnDevice(settings, of_executable(_WORDS) if kept else _WORDS)
        ipus = max(1, self._ipus // self.ir.share.local)
        self.on_device.compile(HostExecutable(), self._ready, ipus, self._modelled)
        self.on_device.device.detach()

    def _ready(self) -> int:
        """Load the program; the number of its ops."""
        self._program = LoadedProgram(self.ir)
        return sum(len(graph.ops) for graph in self.ir.reachable())

    def _modelled(self) -> ModelledRun:
        from tremula.frontends.popxl.modelled import modelled_run

        return modelled_run(self.ir)

    def attach(self) -> None:
        """Hold a device."""
        self.device.attach(lambda: None)

    def detach(self) -> None:
        """Give the device back."""
        self.device.detach()

    def load(self) -> None:
        """Copy the host's variables to the device."""
        self.program.load()

    def save(self) -> None:
        """Copy the device's variables to the host."""
        self.program.save()

    def _agree(self) -> None:
        """Before the first run: see that all instances run the same program."""
        if self._agreed:
            return
        exchange = self.program.machine.exchange
        exchange.require_same(described(self.ir))
        exchange.tell_differing(
            "Variables of the PopXL program",
            {each.identifier: present_data(each) for each in self.program.variables},
            "Each replica gets the values that its own instance has: make the same ones on all, with the same seed "
            "for example.",
        )
        self._agreed = True

    def run(self, inputs: Mapping[str, Array], outputs: Mapping[str, Array]) -> None:
        """One run on arrays by stream."""
        self._agree()

        def call() -> tuple[list[Array], list[Array]]:
            self.program.run(inputs, outputs)
            return list(inputs.values()), list(outputs.values())

        if self.on_device is not None and self.attached:
            self.on_device.run(call)
        else:  # the user holds the device
            call()
