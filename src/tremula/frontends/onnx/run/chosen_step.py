"""Operator by operator first, as one captured graph when a session runs for long and that is faster."""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter, thread_time

import torch
from torch import Tensor

from tremula import log
from tremula.frontends.onnx.run.captured_step import CapturedStep, can_be_captured
from tremula.frontends.onnx.run.program import GraphProgram
from tremula.frontends.onnx.run.step import EagerStep, TurnResult
from tremula.settings import env

#: seconds of turns after which a capture is worth its time
_LONG_SECONDS = 2.0
#: turns of each kind that are timed, of which the fastest counts
_TRIALS = 4


class ChosenStep:
    """Runs a micro-batch in the way that has proved faster on this host."""

    def __init__(self, program: GraphProgram, eager: EagerStep, label: str, *, one_set: bool = False) -> None:
        """`one_set`: all turns have the same weights."""
        self._program = program
        self._keeps_weights = one_set and not program.trained and not program.stores
        self._eager = eager
        self._label = label
        self._seconds = 0.0
        #: who asks for compiled code waits for it
        self._long_seconds = -1.0 if env.get("TREMULA_EXECUTION") == "compiled" else _LONG_SECONDS
        self._fastest: list[float] = []
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

    def _try(
        self, weights: Mapping[str, Tensor], inputs: Mapping[str, Tensor], loss_scale: float
    ) -> TurnResult:
        """Capture, time a few turns, and decide. The session goes on with their results."""
        if self._captured is None:
            self._captured = CapturedStep(
                self._program, self._eager, self._label, keeps_weights=self._keeps_weights
            )
            self._times: list[float] = []
            try:
                return self._captured(weights, inputs, loss_scale)  # the first turn captures
            except Exception as problem:  # the same turn runs operator by operator, too
                log.layer("popart:session").debug("%s is not captured: %s", self._label, problem)
                self._captured, self._decided = None, True
                return self._eager(weights, inputs, loss_scale)
        started = _now()
        found = self._captured(weights, inputs, loss_scale)
        self._times.append(_now() - started)
        if len(self._times) >= _TRIALS:
            self._decided = True
            if self._fastest and min(self._times) > self._fastest[0]:
                self._captured = None
        return found


def _now() -> float:
    """Seconds of processor time where one thread computes, which other programs disturb least, else of the clock."""
    return thread_time() if torch.get_num_threads() == 1 else perf_counter()
