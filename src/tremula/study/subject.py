"""A subject of the chip model: a program that a front end captures in any requested size and precision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tremula.distributed.host_run import HostRun, ReadingSpeed
from tremula.program.loops import Loops
from tremula.program.program import Program
from tremula.program.stages import StageSummary
from tremula.program.variant import CapturedVariant, InputType, Variant
from tremula.schedule.deployment import Deployment
from tremula.study.dialect import Dialect


class Subject(Protocol):
    """A model, as its program wraps it."""

    #: for reports
    name: str
    training: bool
    #: loop counts of the program
    loops: Loops
    #: samples in a micro-batch of the program
    micro_batch: int
    #: of most weights: fp32 or fp16
    precision: str
    #: number of weights; tied ones count once
    parameters: int
    #: of one micro-batch
    inputs: Sequence[InputType]
    #: with its constants, as text; empty in inference
    optimizer: str
    #: dtype name of gradient accumulators; None in inference
    accumulator_dtype: str | None

    @property
    def dialect(self) -> Dialect:
        """How changes are written for the users of its front end."""

    def captured(self, variant: Variant) -> CapturedVariant:
        """Where the program of `variant` can be cut."""

    def program(self, variant: Variant, deployment: Deployment) -> Program:
        """The program of `variant` in segments; the caller sets its loop counts."""

    def deployment(self, stages: StageSummary | None) -> Deployment:
        """How the program's settings put these stages on IPUs."""

    def with_dtypes(
        self, sent: Sequence[str | None], accumulators: str | None, precision: str | None
    ) -> Subject:
        """The same model with inputs sent in other dtypes, and other accumulators.

        `sent` is by input (None: its own; empty: all as they are); forward gets the inputs in `precision`.
        """

    def gives_one_tensor(self, module: str) -> bool:
        """Whether the result of the module at this path is likely to be a single tensor."""

    def is_one_product(self, module: str) -> bool:
        """Whether the module at this path is a single matrix product, convolution or lookup."""

    def train_together(self, instance: int, instances: int, steps: int) -> HostRun | None:
        """Train in this process and the others, for real; the result in instance 0."""

    def loader_speed(self, seconds: float) -> ReadingSpeed:
        """How fast the program's data loader can be read on this host."""
