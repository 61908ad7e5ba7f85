"""Programs of numpy's on a machine of four virtual IPUs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tremula import log
from tremula.device.chip_model import ModelledRun
from tremula.device.lifecycle import Acquire, Advance, CompileSteps, DeviceProgram
from tremula.device.settings import DeviceSettings, DeviceWords
from tremula.execute.outputs import OutputRule
from tremula.program.loops import Loops
from tremula.schedule.deployment import Deployment

LOOPS = Loops(device_iterations=2)


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four IPUs that nobody else uses, and a log that has said nothing yet."""
    monkeypatch.setenv("TREMULA_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("TREMULA_VIRTUAL_IPUS", "4")
    monkeypatch.setenv("TREMULA_CHIP_MODEL", "auto")
    for name in ("POPTORCH_WAIT_FOR_IPU", "POPLAR_ENGINE_OPTIONS", "TREMULA_OUT_OF_MEMORY"):
        monkeypatch.delenv(name, raising=False)
    log.forget_once()


class Driven:
    """A front end that drives a device: one program, and what happened to it in which order."""

    def __init__(
        self, front_end: Any, layered: Callable[..., Any], ipus: int, waits: bool, settings: dict[str, Any]
    ) -> None:
        self._front_end, self._layered, self._ipus, self._waits = front_end, layered, ipus, waits
        self.events: list[str] = []
        self.host = {"weight": np.full((), 5.0)}
        self.fails: Exception | None = None
        self.device: DeviceProgram[Any] = DeviceProgram(
            DeviceSettings(**{"kind": "numpyModel", "label": "Scale", "seed": 3, **settings}), DeviceWords()
        )

    def steps(self) -> CompileSteps[Any]:
        """What the device asks of the front end."""

        def capture(advance: Advance, acquire: Acquire) -> tuple[Any, list[Any]]:
            self.events.append("capture")
            if self.fails is not None:
                raise self.fails
            acquire(self._ipus)
            self.device.captured(0.25, 3)
            advance(40)
            executable = self._front_end.NumpyExecutable(LOOPS, OutputRule(), waits=self._waits)
            return self._front_end.NumpyProgram(executable), [np.zeros((1, 4))]

        def model(_program: Any) -> ModelledRun:
            self.events.append("model")
            layered = self._layered  # the model must not keep this object, and with it the device
            return ModelledRun(
                lambda: layered(training=False, loops=LOOPS),
                Deployment(),
                replicas=self.device.settings.replicas,
                ops=8,
            )

        return CompileSteps(
            capture=capture,
            model=model,
            load=self.load,
            answer=lambda: self.events.append("answer"),
            announce=lambda _program: self.events.append("announce"),
            identity=lambda: "Scale",
        )

    def load(self) -> None:
        """Copy the host's weight to the device."""
        self.events.append("load")
        self.device.compiled.executable.write_state(self.host)

    def save(self) -> None:
        """Copy the device's weight to the host."""
        self.events.append("save")
        self.host = dict(self.device.compiled.executable.read_state())

    def compile(self, **arguments: Any) -> None:
        """Have the device compile."""
        self.device.compile(self.steps(), **arguments)

    def run(self, batch: Any) -> Any:
        """A call."""
        self.device.about_to_run()
        outputs = self.device.compiled.executable.run([batch])
        self.device.ran([batch], outputs, 0.0)
        return outputs[0]


@pytest.fixture
def driven(numpy_front_end: Any, layered: Callable[..., Any]) -> Callable[..., Driven]:
    """Makes a program that needs `ipus` IPUs per replica, with the given device settings."""

    def make(ipus: int = 1, waits: bool = False, **settings: Any) -> Driven:
        return Driven(numpy_front_end, layered, ipus, waits, settings)

    return make
