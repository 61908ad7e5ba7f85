"""A program that runs on numpy alone: what the device needs of a front end, in its smallest form."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tremula.execute.executable import Executable, OptimizerState, Progress, TurnTimes
from tremula.execute.outputs import OutputRule
from tremula.program.loops import Loops

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass
class Report:
    """Figures about compiled code, of which there is none."""

    cache: str = ""
    compile_seconds: float = 0.0
    speedup: float = 0.0
    why_quick: str = "numpy"
    calls: int = 0


class NumpyExecutable:
    """Adds noise to its input and multiplies it with a weight, which it then makes one larger."""

    def __init__(self, loops: Loops, rule: OutputRule, *, seed: int = 0, waits: bool = False) -> None:
        self.times = TurnTimes()
        self.waits = waits
        self.report = Report()
        self.prepared: list[tuple[int, ...]] = []
        self._loops, self._rule = loops, rule
        self._state = {"weight": np.ones(())}
        self._optimizer = {"step": np.zeros(())}
        self._random = [seed, 0]

    def prepare(self, micro_batch: Sequence[Array], progress: Progress | None = None) -> None:
        """Nothing to compile."""
        self.prepared = [array.shape for array in micro_batch]
        if progress is not None:
            progress(1.0)

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        """One host call."""
        loops, times, returned = self._loops, TurnTimes(), []
        micro_batches = iter(np.split(inputs[0], loops.factor))
        for iteration in range(loops.device_iterations):
            for accumulation in range(loops.gradient_accumulation):
                for _ in range(loops.replicas):
                    times.started.append(time.perf_counter())
                    out = (next(micro_batches) + self._noise()) * self._state["weight"]
                    times.ended.append(time.perf_counter())
                    if self._rule.returns(loops, iteration, accumulation):
                        returned.append(out)
        self._state["weight"] = self._state["weight"] + 1
        self._optimizer["step"] = self._optimizer["step"] + 1
        self.times = times
        return [np.concatenate(returned)]

    def _noise(self) -> float:
        self._random[1] += 1
        return float(np.random.default_rng(self._random).standard_normal())

    def read_state(self) -> Mapping[str, Array]:
        """The weight."""
        return self._state

    def write_state(self, values: Mapping[str, Array]) -> None:
        """Copy the weight."""
        self._state.update({name: np.array(value) for name, value in values.items()})

    def read_optimizer(self) -> OptimizerState[Array]:
        """How many steps there were."""
        return OptimizerState(dict(self._optimizer))

    def write_optimizer(self, state: OptimizerState[Array]) -> list[str]:
        """Take over the number of steps."""
        self._optimizer.update(state.tensors)
        return sorted(self._optimizer.keys() - state.tensors.keys())

    def random_words(self) -> list[int]:
        """The seed and how many numbers were drawn."""
        return list(self._random)

    def restore_random(self, words: Sequence[int]) -> None:
        """Go on from `words`; a seed alone starts anew."""
        self._random = [words[0], words[1] if len(words) > 1 else 0]


@dataclass
class NumpyProgram:
    """A captured program."""

    runs: NumpyExecutable
    #: what the host has
    host: dict[str, Array] = field(default_factory=lambda: {"weight": np.ones(())})

    @property
    def executable(self) -> Executable[Array]:
        """What runs it."""
        return self.runs
