"""A torch model that can be asked about: captured on fake tensors, in other sizes, precisions and cuts than its own.

One capture in which every module call is a segment (capture/segments.py) serves all layouts over IPUs; another
micro-batch or precision needs another capture. The model itself is never changed.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from tremula.distributed.host_run import HostRun, ReadingSpeed
from tremula.errors import Error
from tremula.frontends.torch.assembly import capture_program
from tremula.frontends.torch.capture.placement import PlacementRule
from tremula.frontends.torch.capture.segments import Segments
from tremula.frontends.torch.capture.step import Flatten
from tremula.frontends.torch.capture.support import unknown_ops
from tremula.frontends.torch.data import current_loader
from tremula.frontends.torch.dialect.advice_code import TorchCode
from tremula.frontends.torch.dtypes import device_dtype
from tremula.frontends.torch.graphs.program import TorchProgram
from tremula.frontends.torch.optimize.spec import OptimizerSpec
from tremula.frontends.torch.rules.program import program_of
from tremula.frontends.torch.settings import SessionSettings
from tremula.program.program import Program
from tremula.program.stages import StageSummary
from tremula.program.variant import CapturedVariant, InputType, Variant
from tremula.schedule.deployment import Deployment

#: types of weights and activations that a variant may have
DTYPES = {"fp32": torch.float32, "fp16": torch.float16}
#: micro-batches per step and call while capturing: enough for any pipeline; the true numbers are set afterwards
_MANY = 4096
#: modules that give more than one tensor
_SEVERAL_RESULTS = (torch.nn.RNNBase, torch.nn.MultiheadAttention)
#: modules that hold one planned op and give its result
_ONE_PRODUCT = (torch.nn.Linear, torch.nn.modules.conv._ConvNd, torch.nn.Embedding, torch.nn.Bilinear)


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
    #: advice in the words of the program's users
    dialect: type[TorchCode] = TorchCode


class TorchSubject:
    """A model, with the captures that were made of it."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.name = parts.name
        self.training = parts.settings.training
        self.loops = parts.settings.loops
        self.micro_batch = next((int(each.shape[0]) for each in parts.inputs if each.dim()), 1)
        self.precision = _precision(parts.module)
        self.parameters = sum(parameter.numel() for parameter in parts.module.parameters())
        self.inputs: Sequence[InputType] = [
            InputType(tuple(each.shape), dtype_name(each.dtype), each.numel() * each.element_size())
            for each in parts.inputs
        ]
        self.optimizer = "" if parts.spec is None else repr(parts.spec)
        self.accumulator_dtype = (
            None if parts.spec is None or parts.spec.accum_type is None else dtype_name(parts.spec.accum_type)
        )
        self.dialect = parts.dialect(parts.module)
        self._modules = dict(parts.module.named_modules())
        self._known: dict[Variant, tuple[CapturedVariant, TorchProgram]] = {}
        self._programs: dict[tuple[object, ...], Program] = {}

    def deployment(self, stages: StageSummary | None) -> Deployment:
        """How the program's options put these stages on IPUs."""
        return self.parts.deployment(stages)

    def captured(self, variant: Variant) -> CapturedVariant:
        """The program of `variant`, captured once."""
        return self._captured(variant)[0]

    def program(self, variant: Variant, deployment: Deployment) -> Program:
        """The program of `variant` in segments; loop counts are the caller's to set."""
        key = (self._own_size(variant), deployment.partials, *sorted(deployment.proportions.items()))
        if key not in self._programs:
            samples = variant.micro_batch or self.micro_batch
            self._programs[key] = program_of(self._captured(variant)[1], deployment.lowering, samples)
        return self._programs[key]

    def with_dtypes(
        self, sent: Sequence[str | None], accumulators: str | None, precision: str | None
    ) -> TorchSubject:
        """The same model with inputs and accumulators of other types, by name."""
        parts = self.parts
        if accumulators is not None:
            if parts.spec is None:
                raise Error("Inference has no gradient accumulators.")
            dtype = getattr(torch, accumulators)
            # half accumulators switch the mean to a running one, as the shim does for the same optimizer
            running = parts.settings.mean_reduction and dtype is torch.float16
            settings = replace(parts.settings, running_mean=running)
            parts = replace(parts, spec=replace(parts.spec, accum_type=dtype), settings=settings)
        if any(sent):
            wanted = [
                DTYPES[precision] if precision is not None and each.is_floating_point() else each.dtype
                for each in parts.inputs
            ]
            call = parts.call

            def cast(values: list[torch.Tensor]) -> Any:
                pairs = zip(values, sent, wanted, strict=True)
                return call([value if name is None else value.to(dtype) for value, name, dtype in pairs])

            inputs = [
                each if name is None else torch.empty(each.shape, dtype=getattr(torch, name), device="meta")
                for each, name in zip(parts.inputs, sent, strict=True)
            ]
            parts = replace(parts, inputs=inputs, call=cast)
        return TorchSubject(parts)

    def gives_one_tensor(self, module: str) -> bool:
        """Whether the result of a module is likely to be a single tensor: all but known exceptions."""
        found = self._modules.get(module)
        return found is not None and not isinstance(found, _SEVERAL_RESULTS)

    def is_one_product(self, module: str) -> bool:
        """Whether a module holds one planned op and gives its result."""
        return isinstance(self._modules.get(module), _ONE_PRODUCT)

    def train_together(self, instance: int, instances: int, steps: int) -> HostRun | None:
        """Train in this process and the others, for real; the result in instance 0."""
        from tremula.frontends.torch.measured.equivalence import train_together

        return train_together(self, instance, instances, steps)

    def loader_speed(self, seconds: float) -> ReadingSpeed:
        """How fast the loader that the program goes over can be read on this host."""
        loader = current_loader.current()
        if loader is None:
            raise Error("the program goes over no poptorch.DataLoader")
        try:
            speed = current_loader.measure_speed(loader, seconds)
        except Exception as problem:  # the loader and its data are the user's
            raise Error(f"the program's loader could not be read on its own: {problem}") from problem
        if speed is None:
            raise Error("the program's loader has too few batches to time")
        return speed

    def _own_size(self, variant: Variant) -> Variant:
        return replace(variant, micro_batch=None) if variant.micro_batch == self.micro_batch else variant

    def _captured(self, variant: Variant) -> tuple[CapturedVariant, TorchProgram]:
        variant = self._own_size(variant)
        if variant not in self._known:
            self._known[variant] = self._capture(variant)
        return self._known[variant]

    def _capture(self, variant: Variant) -> tuple[CapturedVariant, TorchProgram]:
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
            changed = [f"micro-batch {variant.micro_batch}"] if variant.micro_batch else []
            changed += [variant.precision] if variant.precision else []
            why = problem.message if isinstance(problem, Error) else f"{type(problem).__name__}: {problem}"
            raise Error(f"forward does not run with {' and '.join(changed)}: {why}") from problem
        captured = CapturedVariant(
            cuts=() if variant.own_blocks else tuple(segments.cuts(program)),
            stages=segments.stages(),
            own=() if variant.own_blocks else tuple(segments.own(program)),
            unknown=tuple(unknown_ops(program)),
        )
        return captured, program

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


def _precision(module: torch.nn.Module) -> str:
    """The precision of most of the weights."""
    sizes: dict[torch.dtype, int] = {}
    for parameter in module.parameters():
        if parameter.is_floating_point():
            sizes[parameter.dtype] = sizes.get(parameter.dtype, 0) + parameter.numel()
    most = max(sizes, key=sizes.__getitem__, default=torch.float32)
    return "fp16" if most is torch.float16 else "fp32"


def dtype_name(dtype: torch.dtype) -> str:
    """The name of a type without its package: float32, int8 ..."""
    return str(dtype).removeprefix("torch.")
