"""A PopXL program on a (virtual) device: the life of a device program, with the engine's runs in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from tremula.device.lifecycle import Acquire, Advance, CompileSteps, DeviceProgram
from tremula.device.settings import Connection, DeviceSettings, DeviceWords
from tremula.errors import Error
from tremula.execute.allocation import keep_freed_memory
from tremula.execute.executable import OptimizerState, TurnTimes
from tremula.frontends.popxl.description import described
from tremula.frontends.popxl.invariants import present_data
from tremula.frontends.popxl.model import Ir
from tremula.frontends.popxl.program import LoadedProgram

if TYPE_CHECKING:
    from tremula.device.chip_model import ModelledRun

Array = np.ndarray[Any, Any]

WORDS = DeviceWords(
    error_type="popart_exception",
    device_layer="popart:devicex",
    logger="popxl",
    stack="PopXL",
    round_up_option="a power of two of IPUs",
    own_holder="another session of this process; leave its `with` block first",
    not_compiled="The session has not been compiled.",
    attached="The session is attached to a device already.",
    detached="The session is not attached to a device.",
)


@dataclass
class _Report:
    """Nothing is compiled to machine code."""

    cache: str = ""
    compile_seconds: float = 0.0
    speedup: float = 1.0
    why_quick: str = ""
    calls: int = 0


@dataclass
class _Executable:
    """What the device's life asks of a program. Its state is moved by the program itself."""

    times: TurnTimes = field(default_factory=TurnTimes)
    report: _Report = field(default_factory=_Report)
    waits: bool = False

    def prepare(self, micro_batch: Sequence[Array], progress: object = None) -> None:
        """Nothing is compiled ahead."""

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        """Runs go through the session."""
        raise NotImplementedError("runs go through the session")

    def read_state(self) -> Mapping[str, Array]:
        """State is read by the session."""
        return {}

    def write_state(self, values: Mapping[str, Array]) -> None:
        """State is written by the session."""

    def read_optimizer(self) -> OptimizerState[Array]:
        """An optimizer is part of the program's own graphs."""
        return OptimizerState()

    def write_optimizer(self, state: OptimizerState[Array]) -> list[str]:
        """An optimizer is part of the program's own graphs."""
        return []

    def random_words(self) -> list[int]:
        """Random numbers come from seeds that the program keeps itself."""
        return [0]

    def restore_random(self, words: Sequence[int]) -> None:
        """Random numbers come from seeds that the program keeps itself."""


@dataclass
class Loaded:
    """A compiled program with what the device's life asks of it."""

    program: LoadedProgram
    executable: _Executable = field(default_factory=_Executable)


class PopxlSession:
    """One IR, compiled for a device."""

    def __init__(self, ir: Ir) -> None:
        keep_freed_memory()
        self.ir = ir
        self._device: DeviceProgram[Loaded] | None = None
        self._use_model: bool | None = True
        self._ipus = 1
        self._device_id: int | None = None
        self._agreed = not ir.share.several

    def on(self, *, use_model: bool | None, ipus: int, device_id: int | None = None) -> None:
        """Run on an IPU model or on (virtual) IPUs (None: as the machine is set up), so many of them."""
        self._use_model, self._ipus, self._device_id = use_model, ipus, device_id

    @property
    def device(self) -> DeviceProgram[Loaded]:
        """The life on the device."""
        if self._device is None:
            raise Error(WORDS.not_compiled, type=WORDS.error_type)
        return self._device

    @property
    def program(self) -> LoadedProgram:
        """The compiled program."""
        return self.device.compiled.program

    @property
    def attached(self) -> bool:
        """Whether a device is held."""
        return self._device is not None and self._device.attached

    def compile(self) -> None:
        """Make the program, and have the chip model look at it; the device is free again afterwards."""
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
            front_end="popxl",
        )
        self._device = DeviceProgram(settings, WORDS)
        self._device.compile(CompileSteps(capture=self._capture, model=self._modelled))
        self._device.detach()

    def _capture(self, advance: Advance, acquire: Acquire) -> tuple[Loaded, list[Array]]:
        started = perf_counter()
        acquire(max(1, self._ipus // self.ir.share.local))
        loaded = Loaded(LoadedProgram(self.ir))
        advance(40)
        self.device.captured(perf_counter() - started, sum(len(graph.ops) for graph in self.ir.reachable()))
        return loaded, []

    def _modelled(self, loaded: Loaded) -> ModelledRun:
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
        device = self.device
        self._agree()
        if device.attached:
            device.about_to_run()
        started = perf_counter()
        self.program.run(inputs, outputs)
        if device.attached:
            device.ran(list(inputs.values()), list(outputs.values()), started)
