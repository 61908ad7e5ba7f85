"""A session's program in the life cycle that all front ends share: acquired, looked at, run, counted and given back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

from tremula.device.lifecycle import Acquire, Advance, CompileSteps, DeviceProgram
from tremula.device.settings import DeviceSettings, DeviceWords
from tremula.execute.executable import OptimizerState, Progress, TurnTimes

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


def of_executable(words: DeviceWords) -> DeviceWords:
    """The words of a session whose executable was loaded: nothing is compiled."""
    return replace(words, captured=())


@dataclass
class _Report:
    """There is no compiled code besides torch's own kernels."""

    why_quick: str
    cache: str = ""
    compile_seconds: float = 0.0
    speedup: float = 1.0
    calls: int = 0


@dataclass
class HostExecutable:
    """What the device's life asks of a program that the session itself runs, with the state that it moves itself."""

    report: _Report = field(default_factory=lambda: _Report("the program is run operator by operator"))
    times: TurnTimes = field(default_factory=TurnTimes)
    waits: bool = False

    def prepare(self, micro_batch: Sequence[Any], progress: Progress | None = None) -> None:
        """There is nothing to compile ahead."""

    def run(self, inputs: Sequence[Any]) -> list[Any]:
        """Sessions are run with what gives and takes their data; see `OnDevice.run`."""
        raise NotImplementedError("a session is run through OnDevice.run")

    def read_state(self) -> Mapping[str, Any]:
        """State is read by the session."""
        return {}

    def write_state(self, values: Mapping[str, Any]) -> None:
        """State is written by the session."""

    def read_optimizer(self) -> OptimizerState[Any]:
        """The session's program has its own."""
        return OptimizerState()

    def write_optimizer(self, state: OptimizerState[Any]) -> list[str]:
        """The session's program has its own."""
        return []

    def random_words(self) -> list[int]:
        """The program keeps its seeds itself."""
        return [0]

    def restore_random(self, words: Sequence[int]) -> None:
        """The program keeps its seeds itself."""


@dataclass(frozen=True)
class _Loaded:
    """A program that is ready."""

    executable: HostExecutable


class OnDevice:
    """One session on one device.

    Attributes:
        device: its life cycle.
    """

    def __init__(
        self,
        settings: DeviceSettings,
        words: DeviceWords,
        held: Callable[[], Attachment | None] | None = None,
    ) -> None:
        """`held` gives what the user holds, where a device is chosen before the session is made."""
        self.device: DeviceProgram[_Loaded] = DeviceProgram(settings, words, held=held)

    def compile(
        self,
        executable: HostExecutable,
        prepare: Callable[[], int],
        ipus_per_replica: int,
        model: Callable[[], ModelledRun],
    ) -> None:
        """Make a program ready.

        Args:
            executable: the program, as the device sees it.
            prepare: does it, and gives the number of ops.
            ipus_per_replica: so many are taken for each.
            model: describes the program to the chip model.
        """

        def capture(advance: Advance, acquire: Acquire) -> tuple[_Loaded, list[Any]]:
            started = perf_counter()
            acquire(ipus_per_replica)
            ops = prepare()
            advance(40)
            self.device.captured(perf_counter() - started, ops)
            return _Loaded(executable), []

        self.device.compile(CompileSteps(capture=capture, model=lambda _loaded: model()))

    def run(self, call: Callable[[], tuple[Sequence[Any], Sequence[Any]]]) -> None:
        """One run: `call` gives the arrays that it took and returned."""
        started = perf_counter()
        self.device.about_to_run()
        with self.device.whole_call:
            given, returned = call()
            self.device.ran(given, returned, started)
