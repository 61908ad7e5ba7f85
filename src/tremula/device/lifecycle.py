"""The life of one program on a (virtual) device, the same for every front end: capture, acquire, compile ahead under
the lock, the chip model's look, attach and load, run and count, detach, destroy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter, perf_counter_ns
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from tremula import log
from tremula.device import counters
from tremula.device.compile_lock import compile_lock
from tremula.device.connection import DeviceConnection, Held
from tremula.device.metering import Array, CallMeter
from tremula.device.modelling import model_program
from tremula.device.progress import CompileProgress, ProgressBar
from tremula.device.random_words import RandomWords
from tremula.device.settings import DeviceSettings, DeviceWords, Line
from tremula.device.tracing import call_ran
from tremula.device.whole_call import WholeCall
from tremula.errors import Error
from tremula.execute.executable import Executable, TurnTimes
from tremula.telemetry import ledger
from tremula.trace import channels
from tremula.trace.names import COMPILE
from tremula.trace.points import Span

if TYPE_CHECKING:
    from tremula.device.chip_model import ModelledRun
    from tremula.profile.model import Advice

#: called with the per cent of a compilation that are done
Advance = Callable[[int], None]
#: called with the IPUs per replica that a program needs, as soon as they are known; may refuse
Acquire = Callable[[int], None]


class Loaded(Protocol):
    """A captured program with what runs it."""

    @property
    def executable(self) -> Executable[Any]:
        """Runs it and holds its state."""


Program = TypeVar("Program", bound=Loaded)


def _nothing(*_arguments: object) -> None:
    pass


@dataclass(frozen=True)
class CompileSteps(Generic[Program]):
    """What the front end does during a compilation.

    Attributes:
        capture: makes the program, calls `Acquire` on the way, and `Advance` up to 40 per cent; also returns one
            micro-batch, whose shapes are compiled for.
        model: describes the program to the chip model.
        load: copies the host's state to the device, which is attached.
        answer: answers a question about the program before anything else is done; may end the process.
        advise: what to change about the program, best first, for its profile.
        announce: writes the front end's own log lines about a compiled program.
        identity: a text that is the same in all processes that compile the same program.
    """

    capture: Callable[[Advance, Acquire], tuple[Program, Sequence[Any]]]
    model: Callable[[Program], ModelledRun]
    load: Callable[[], None] = _nothing
    answer: Callable[[], None] = _nothing
    advise: Callable[[], Sequence[Advice]] = tuple
    announce: Callable[[Program], None] = _nothing
    identity: Callable[[], str] = str


class DeviceProgram(Generic[Program]):
    """One program of a front end, from its compilation to its end.

    Attributes:
        program: what was compiled; None before, and after `destroy`.
        modelled: the chip model's view of it; None also where the chip model is off.
        calls: since it was compiled.
        compile_seconds: of the last compilation.
        ledger: its entry in the record of this run.
    """

    def __init__(
        self,
        settings: DeviceSettings,
        words: DeviceWords,
        progress_bar: ProgressBar | None = None,
        held: Held | None = None,
    ) -> None:
        """`held` gives the device that the user holds, where programs do not choose their own."""
        self.settings = settings
        self.words = words
        self.program: Program | None = None
        self.modelled: ModelledRun | None = None
        self.calls = 0
        self.compile_seconds = 0.0
        self.ledger = ledger.wrapped(settings.kind, settings.label)
        self.random = RandomWords(settings.seed, words.device_layer)
        #: to be entered while a call changes the program's state
        self.whole_call = WholeCall()
        self._progress = CompileProgress(progress_bar)
        self._connection = DeviceConnection(settings, words, held)
        self._meter: CallMeter | None = None
        self._run_began = 0

    @property
    def compiled(self) -> Program:
        """The compiled program."""
        if self.program is None:
            raise self.error(self.words.not_compiled)
        return self.program

    @property
    def attached(self) -> bool:
        """Whether the program is loaded on a device."""
        return self._connection.attached

    def error(self, text: str) -> Error:
        """An error about a call at the wrong time. It is returned, not raised."""
        return Error(text, type=self.words.error_type)

    def compile(self, steps: CompileSteps[Program], *, ahead: bool = False) -> None:
        """Compile and, unless offline, attach and load; with `ahead`, compiled code is in the cache at the end."""
        try:
            with Span(channels.poplar, COMPILE, {"program": self.settings.label}):
                steps.answer()
                self._compile(steps, ahead)
                self._look(steps)
                if not self.settings.offline:
                    self._attach(steps.load)
        except BaseException as problem:
            if isinstance(problem, Exception):  # a program that is stopped has not failed
                self.ledger.failed()
            self._connection.detach()
            raise

    def _compile(self, steps: CompileSteps[Program], ahead: bool) -> None:
        started = perf_counter()
        with self._progress as advance:
            _write(self.words.begins)
            with Span(channels.framework, "capture"):
                program, micro_batch = steps.capture(advance, self._connection.acquire)
            _write(self.words.captured)
            executable = program.executable
            if ahead or executable.waits:
                with (
                    Span(channels.poplar, "compile ahead"),
                    compile_lock(self.settings, steps.identity, self.words.logger),
                ):
                    executable.prepare(micro_batch, lambda share: advance(40 + int(55 * share)))
            steps.announce(program)
            advance(100)
        self.program = program
        self.calls = 0
        self.compile_seconds = perf_counter() - started
        self.ledger.compiled(self.compile_seconds, self._connection.ipus_used)
        self.ledger.follow(executable.report)

    def captured(self, seconds: float, ops: int) -> None:
        """Record that a capture of so many ops took `seconds`."""
        self.ledger.captured(seconds)
        self._say("captured in %.2f s (%d ops)", seconds, ops)

    def _look(self, steps: CompileSteps[Program]) -> None:
        """Have the chip model look at the program, outside the lock; it may refuse one that would not fit."""
        self.modelled = None
        try:
            with Span(channels.poplar, "chip model"):
                self.modelled = model_program(
                    self.settings, lambda: steps.model(self.compiled), steps.advise, self.ledger
                )
        except Error:
            self.program = None
            raise

    def attach(self, load: Callable[[], None]) -> None:
        """Take a device again and put the program and the host's state on it; `load` copies the latter."""
        self.compiled  # noqa: B018 - refuses
        if self.attached:
            raise self.error(self.words.attached)
        self._attach(load)

    def _attach(self, load: Callable[[], None]) -> None:
        self._connection.attach()
        meter = self._connection.meter
        self._meter = None if meter is None else CallMeter(meter, self.settings.label)
        with Span(channels.poplar, "load"):
            load()
            self.random.write(self.compiled.executable)

    def detach(self, save: Callable[[], None] = _nothing) -> None:
        """Give the device back; `save` copies its state to the host first."""
        self.compiled  # noqa: B018 - refuses
        if not self.attached:
            raise self.error(self.words.detached)
        self.random_words  # noqa: B018 - read while the device is there
        with Span(channels.poplar, "save"):
            save()
        self._connection.detach()
        log.layer(self.words.device_layer).debug("Detached from device")

    def destroy(self) -> None:
        """Release the device and the program."""
        self._connection.detach()
        self.program = self.modelled = None

    @property
    def random_words(self) -> list[int] | None:
        """Seed and state of the device's random numbers; before the first run the seed, if one is set."""
        return self.random.read(self.compiled.executable, self.calls)

    @random_words.setter
    def random_words(self, words: Sequence[int]) -> None:
        executable = self.compiled.executable
        self.random.set(words)
        if self.attached:
            self.random.write(executable)

    def about_to_run(self) -> None:
        """Raise the simulated fault of the device if one is due."""
        self._connection.about_to_run()
        if channels.poplar.on:
            self._run_began = perf_counter_ns()

    def ran(self, given: Sequence[Array], returned: Sequence[Array], started: float) -> None:
        """Count a call that took these arrays, returned those, and started then (`perf_counter`)."""
        shape = given[0].shape if given else ()
        samples = shape[0] if len(shape) else 1
        seconds = perf_counter() - started
        if channels.poplar.on and self._run_began:
            call_ran(self.settings.label, self._run_began, self.modelled, round(started * 1e9))
        self.ledger.executed(1, samples, seconds)
        if self._meter is not None:
            self._meter.called(seconds, samples, given, returned, self.modelled)
        if not self.calls:
            self.ledger.first_call(samples, seconds)
            self._say("first call in %.2f s", seconds)
        self.calls += 1
        self.random.forget()
        if self.settings.count_cycles and self.modelled is not None:
            log.layer(self.words.device_layer).info("Total number of IPU cycles: %d", self.cycles())

    def cycles(self) -> int:
        """Modelled cycles of a call: all of its device iterations, without the host's part."""
        if self.modelled is None:
            raise self.error("There are no cycle counts, because TREMULA_CHIP_MODEL=off is set. Unset it.")
        found = self.modelled.estimate
        log.info_once(
            "modelled cycles",
            f"Cycle counts are modelled for {found.chip.title}, not measured; times on hardware were "
            f"{found.time_band}",
        )
        return self.modelled.cycles_per_call()

    def perf_counters(self, inputs: int, outputs: int, returned: int | None) -> dict[str, counters.Ticks]:
        """Times of the transfers of the last call; see `counters.ticks`. `returned` is None if there were none."""
        times = self.compiled.executable.times if returned is not None else TurnTimes()
        returned = returned or 0
        if self.modelled is None:
            return counters.ticks(times, inputs, outputs, returned)
        return counters.modelled_ticks(
            self.modelled.turn_time(), len(times.started), inputs, outputs, returned
        )

    def _say(self, text: str, *values: object) -> None:
        log.layer("tremula").info(f"%s %s: {text}", self.settings.kind, self.settings.label, *values)


def _write(lines: Sequence[Line]) -> None:
    for layer, text in lines:
        log.layer(layer).info(text)
