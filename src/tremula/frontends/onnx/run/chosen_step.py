"""Operator by operator first, as one captured graph when a session runs for long and that is faster."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from time import perf_counter, thread_time

import torch
from torch import Tensor

from tremula import log
from tremula.execute.settings import ExecutionSettings
from tremula.frontends.onnx.run.captured_step import CapturedStep, can_be_captured
from tremula.frontends.onnx.run.program import GraphProgram
from tremula.frontends.onnx.run.step import EagerStep, TurnResult
from tremula.frontends.onnx.run.updating import Updater
from tremula.settings import env

#: seconds of turns after which a capture is worth its time
_LONG_SECONDS = 2.0
#: turns of each kind that are timed, of which the fastest counts
_TRIALS = 4
#: a captured graph that may be compiled yet may take so much longer meanwhile
_ALLOWED = 1.25


class ChosenStep:
    """Runs a micro-batch in the way that has proved faster on this host."""

    def __init__(
        self,
        program: GraphProgram,
        eager: EagerStep,
        generator: torch.Generator,
        execution: ExecutionSettings,
        *,
        one_set: bool = False,
        updater: Updater | None = None,
    ) -> None:
        """`one_set`: all turns have the same weights. With `updater` every turn ends with an update of the weights. The
        captured graph contains it, and gives no gradients.
        """
        self._program = program
        self._keeps_weights = one_set and not program.trained and not program.stores
        self._eager = eager
        self._generator = generator
        self._execution = execution
        self._updater = updater if program.trained else None
        self._seconds = 0.0
        #: who asks for compiled code waits for it
        self._long_seconds = -1.0 if env.get("TREMULA_EXECUTION") == "compiled" else _LONG_SECONDS
        self._fastest: list[float] = []
        self._fastest_update = float("inf")
        self._captured: CapturedStep | None = None
        self._decided = not can_be_captured(program)

    def __call__(
        self, weights: Mapping[str, Tensor], inputs: Mapping[str, Tensor], loss_scale: float
    ) -> TurnResult:
        if self._decided:
            step = self._eager if self._captured is None else self._captured
            return step(weights, inputs, loss_scale)
        if self._seconds > self._long_seconds:
            return self._try(weights, inputs, loss_scale)
        started = _now()
        found = self._eager(weights, inputs, loss_scale)
        taken = _now() - started
        self._seconds += taken
        self._fastest = sorted([*self._fastest, taken])[:1]
        return found

    @property
    def settled(self) -> bool:
        """Whether turns will go on as they run now; else something is to be tried, or a compiler is at work."""
        return self._decided and (self._captured is None or self._captured.settled)

    @property
    def form(self) -> str:
        """How turns run now, in words."""
        return "operator by operator" if self._captured is None else f"captured, {self._captured.form}"

    @contextlib.contextmanager
    def updating(self) -> Iterator[None]:
        """Weights are updated inside, after a turn that was run operator by operator."""
        started = _now()
        yield
        if not self._decided:
            self._fastest_update = min(self._fastest_update, _now() - started)

    def _try(
        self, weights: Mapping[str, Tensor], inputs: Mapping[str, Tensor], loss_scale: float
    ) -> TurnResult:
        """Capture, time a few turns, and decide. The session goes on with their results."""
        if self._captured is None:
            self._captured = CapturedStep(
                self._program,
                self._eager,
                self._generator,
                self._execution,
                keeps_weights=self._keeps_weights,
                updater=self._updater,
            )
            self._times: list[float] = []
            try:
                return self._captured(weights, inputs, loss_scale)  # the first turn captures
            except Exception as problem:  # the same turn runs operator by operator, too
                log.layer("popart:session").debug("%s is not captured: %s", self._execution.label, problem)
                self._captured, self._decided = None, True
                return self._eager(weights, inputs, loss_scale)
        started = _now()
        found = self._captured(weights, inputs, loss_scale)
        self._times.append(_now() - started)
        if len(self._times) >= _TRIALS:
            self._decided = True
            allowed = 1.0 if self._captured.settled else _ALLOWED
            if self._fastest and min(self._times) > allowed * self._seconds_by_operators():
                self._captured = None
        return found

    def _seconds_by_operators(self) -> float:
        """Of a turn that is run operator by operator, with what the captured graph does besides."""
        return self._fastest[0] + (0.0 if self._updater is None else self._fastest_update)


def _now() -> float:
    """Seconds of processor time where one thread computes, which other programs disturb least, else of the clock."""
    return thread_time() if torch.get_num_threads() == 1 else perf_counter()
