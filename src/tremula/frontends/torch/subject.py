"""A model that can be asked about: captured when needed, in other sizes, precisions and cuts than its own.

Everything runs on fake tensors, so nothing is computed and no memory is taken for weights. One capture in
which every module call is a segment (capture/segments.py) serves all layouts over IPUs; another micro-batch or
precision needs another capture. The model itself is never changed.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from tremula.errors import Error
from tremula.frontends.torch.assembly import capture_program
from tremula.frontends.torch.capture.placement import PlacementRule
from tremula.frontends.torch.capture.segments import Cut, Segments
from tremula.frontends.torch.capture.stages import StageSummary
from tremula.frontends.torch.capture.step import Flatten
from tremula.frontends.torch.capture.support import UnknownOp, unknown_ops
from tremula.frontends.torch.dtypes import device_dtype
from tremula.frontends.torch.graphs.program import TorchProgram
from tremula.frontends.torch.optimize.spec import OptimizerSpec
from tremula.frontends.torch.rules.program import program_of
from tremula.frontends.torch.settings import SessionSettings
from tremula.program.loops import Loops
from tremula.program.op import Placement
from tremula.program.program import Program
from tremula.schedule.deployment import Deployment

#: types of weights and activations that a variant may have
DTYPES = {"fp32": torch.float32, "fp16": torch.float16}
#: micro-batches per step and call while capturing: enough for any pipeline; the true numbers are set afterwards
_MANY = 4096


@dataclass(frozen=True)
class Variant:
    """What a capture depends on; by default the program as it is."""

    #: samples; None: as the program has it
    micro_batch: int | None = None
    #: fp32 or fp16; None: as the program has it
    precision: str | None = None
    #: captured with the program's own blocks, and not in segments: phases cannot be laid out afterwards
    own_blocks: bool = False


@dataclass(frozen=True)
class Parts:
    """A model and how its program wraps it, in plain values."""

    name: str
    module: torch.nn.Module
    #: runs forward on the tensors of one micro-batch
    call: Callable[[list[torch.Tensor]], Any]
    #: one micro-batch in device dtypes; only shapes and dtypes are used
    inputs: Sequence[torch.Tensor]
    input_names: Sequence[str]
    flatten: Flatten
    settings: SessionSettings
    spec: OptimizerSpec | None
    #: how the program lies on IPUs, by the stages that it has
    deployment: Callable[[StageSummary | None], Deployment]
    #: the placement rule of the program's own blocks, anew for each capture
    rule: Callable[[], PlacementRule]
    #: what has to be in force around a capture
    around: Callable[[], contextlib.AbstractContextManager[Any]] = contextlib.nullcontext


@dataclass(frozen=True)
class CapturedVariant:
    """A program in segments, and where it can be cut."""

    program: TorchProgram
    cuts: tuple[Cut, ...]
    #: what the program's own blocks said
    stages: StageSummary | None
    #: where the program's own blocks put each segment
    own: tuple[Placement, ...]
    unknown: tuple[UnknownOp, ...]
    flats: dict[tuple[str, tuple[tuple[int, float], ...]], Program] = field(default_factory=dict, repr=False)


class Subject:
    """A model, with the captures that were made of it."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self._known: dict[Variant, CapturedVariant] = {}

    @property
    def name(self) -> str:
        """The model's name."""
        return self.parts.name

    @property
    def training(self) -> bool:
        """Whether it is trained."""
        return self.parts.settings.training

    @property
    def loops(self) -> Loops:
        """Loop counts as the program has them."""
        return self.parts.settings.loops

    @property
    def micro_batch(self) -> int:
        """Samples in a micro-batch of the program's own."""
        first = next((tensor for tensor in self.parts.inputs if tensor.dim()), None)
        return int(first.shape[0]) if first is not None else 1

    @property
    def precision(self) -> str:
        """The precision of most of the weights."""
        sizes: dict[torch.dtype, int] = {}
        for parameter in self.parts.module.parameters():
            if parameter.is_floating_point():
                sizes[parameter.dtype] = sizes.get(parameter.dtype, 0) + parameter.numel()
        most = max(sizes, key=sizes.__getitem__, default=torch.float32)
        return "fp16" if most is torch.float16 else "fp32"

    @property
    def parameters(self) -> int:
        """Numbers of the model, tied ones counted once."""
        return sum(parameter.numel() for parameter in self.parts.module.parameters())

    def captured(self, variant: Variant) -> CapturedVariant:
        """The program of `variant`, captured once.

        Raises:
            Error: forward does not run like this; the text says what was changed.
        """
        if variant.micro_batch == self.micro_batch:
            variant = replace(variant, micro_batch=None)
        if variant not in self._known:
            self._known[variant] = self._capture(variant)
        return self._known[variant]

    def flat(self, variant: Variant, deployment: Deployment) -> Program:
        """The program of `variant` in segments, as flat lists; loop counts are the caller's to set."""
        captured = self.captured(variant)
        key = (deployment.partials, tuple(sorted(deployment.proportions.items())))
        if key not in captured.flats:
            samples = variant.micro_batch or self.micro_batch
            captured.flats[key] = program_of(captured.program, deployment.lowering, samples)
        return captured.flats[key]

    def _capture(self, variant: Variant) -> CapturedVariant:
        parts = self.parts
        dtype_of, inputs = self._in_precision(variant), self._in_size(variant)
        rule = parts.rule()
        segments = Segments(rule)
        training = self.training
        loops = replace(
            self.loops,
            # gradients are accumulated; with one micro-batch per step that is left out afterwards
            gradient_accumulation=_MANY if training else 1,
            device_iterations=_MANY,
            replicas=1,
            input_group_size=1,
        )
        placed = rule if variant.own_blocks else segments
        settings = replace(parts.settings, rule=placed, loops=loops)
        try:
            with parts.around(), segments.following(parts.module), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                program = capture_program(
                    settings,
                    parts.spec,
                    parts.module,
                    parts.call,
                    inputs,
                    parts.input_names,
                    parts.flatten,
                    dtype_of=dtype_of,
                ).program
        except Exception as problem:  # forward is the user's: another size may be anything to it
            if variant.micro_batch is None and variant.precision is None:
                raise
            asked = [f"micro-batch {variant.micro_batch}"] if variant.micro_batch else []
            asked += [variant.precision] if variant.precision else []
            told = problem.message if isinstance(problem, Error) else f"{type(problem).__name__}: {problem}"
            raise Error(f"forward does not run with {' and '.join(asked)}: {told}") from problem
        return CapturedVariant(
            program=program,
            cuts=() if variant.own_blocks else tuple(segments.cuts(program)),
            stages=segments.stages(),
            own=() if variant.own_blocks else tuple(segments.own(program)),
            unknown=tuple(unknown_ops(program)),
        )

    def _in_precision(self, variant: Variant) -> Callable[[torch.dtype], torch.dtype]:
        if variant.precision is None:
            return device_dtype
        wanted = DTYPES[variant.precision]

        def dtype_of(dtype: torch.dtype) -> torch.dtype:
            dtype = device_dtype(dtype)
            return wanted if dtype.is_floating_point else dtype

        return dtype_of

    def _in_size(self, variant: Variant) -> list[torch.Tensor]:
        """The inputs with another number of samples, on the meta device; those without a batch stay as they are."""
        dtype_of = self._in_precision(variant)
        now, wanted = self.micro_batch, variant.micro_batch or self.micro_batch
        inputs = []
        for tensor in self.parts.inputs:
            shape = list(tensor.shape)
            if shape and shape[0] == now:
                shape[0] = wanted
            inputs.append(torch.empty(shape, dtype=dtype_of(tensor.dtype), device="meta"))
        return inputs
