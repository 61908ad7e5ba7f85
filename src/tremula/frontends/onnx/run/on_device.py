"""A session's program in the life cycle that all front ends share: acquired, looked at, run, counted and given back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

from torch import Tensor

from tremula.device.lifecycle import Acquire, Advance, CompileSteps, DeviceProgram
from tremula.device.settings import DeviceSettings, DeviceWords
from tremula.execute.executable import OptimizerState, Progress, TurnTimes
from tremula.frontends.onnx.run.session import GraphSession

if TYPE_CHECKING:
    from tremula.device.chip_model import ModelledRun
    from tremula.machine.attach import Attachment

WORDS = DeviceWords(
    error_type="popart_exception",
    device_layer="popart:devicex",
    logger="popart:session",
    captured=(
        ("popart:devicex", "Poplar graph initialised"),
        ("popart:devicex", "Starting compilation"),
    ),
    stack="PopART",
    round_up_option="a number of IPUs that is a power of two",
    own_holder="another session of this process; detach its device first",
)
#: of a session whose executable was loaded
LOADED_WORDS = replace(WORDS, captured=())


@dataclass
class _Report:
    """There is no compiled code besides torch's own kernels."""

    cache: str = ""
    compile_seconds: float = 0.0
    speedup: float = 1.0
    why_quick: str = "PopART sessions are run operator by operator"
    calls: int = 0


@dataclass
class SessionExecutable:
    """A session as the device sees it."""

    session: GraphSession
    times: TurnTimes = field(default_factory=TurnTimes)
    waits: bool = False
    report: _Report = field(default_factory=_Report)

    def prepare(self, micro_batch: Sequence[Tensor], progress: Progress | None = None) -> None:
        """There is nothing to compile ahead."""

    def run(self, inputs: Sequence[Tensor]) -> list[Tensor]:
        """Sessions are run with what gives and takes their data; see `OnDevice.run`."""
        raise NotImplementedError("a session is run through OnDevice.run")

    def read_state(self) -> Mapping[str, Tensor]:
        """The weights on the device."""
        return self.session.device

    def write_state(self, values: Mapping[str, Tensor]) -> None:
        """Give the host's copies other values, and send them to the device."""
        for name, value in values.items():
            self.session.write(name, value)
        self.session.weights_from_host()

    def read_optimizer(self) -> OptimizerState[Tensor]:
        """The optimizer's state as the host has it."""
        updater = self.session.updater
        return OptimizerState({} if updater is None else updater.tensors())

    def write_optimizer(self, state: OptimizerState[Tensor]) -> list[str]:
        """Take over an optimizer's state."""
        updater = self.session.updater
        for name, value in state.tensors.items():
            if updater is not None:
                updater.write(name, value)
        return []

    def random_words(self) -> list[int]:
        """The seed."""
        return [self.session.seed]

    def restore_random(self, words: Sequence[int]) -> None:
        """Begin the random numbers anew."""
        self.session.set_seed(int(words[0]))


@dataclass(frozen=True)
class _Loaded:
    """A program that is ready."""

    executable: SessionExecutable


class OnDevice:
    """One session on one device.

    Attributes:
        device: its life cycle.
    """

    def __init__(
        self, settings: DeviceSettings, held: Callable[[], Attachment | None], words: DeviceWords = WORDS
    ) -> None:
        """`held` is what the user holds: a device is chosen before the session is made."""
        self.device: DeviceProgram[_Loaded] = DeviceProgram(settings, words, held=held)

    def compile(self, session: GraphSession, ipus_per_replica: int, model: Callable[[], ModelledRun]) -> None:
        """Prepare a session. `model` describes its program to the chip model."""

        def capture(advance: Advance, acquire: Acquire) -> tuple[_Loaded, list[Tensor]]:
            started = perf_counter()
            acquire(ipus_per_replica)
            session.prepare()
            advance(40)
            self.device.captured(perf_counter() - started, len(session.program.model.graph.nodes))
            return _Loaded(SessionExecutable(session)), []

        self.device.compile(CompileSteps(capture=capture, model=lambda _loaded: model()))

    def run(self, session: GraphSession, data: Any) -> None:
        """One step."""
        started = perf_counter()
        self.device.about_to_run()
        with self.device.whole_call:
            session.run(data)
            self.device.ran(data.given, data.returned, started)
