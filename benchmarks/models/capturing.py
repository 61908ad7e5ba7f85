"""From a model's name to a captured program: nothing is computed, and no memory is taken for weights.

Modules are built on the meta device. Pipeline stages and checkpoints are put on from outside, by the names of
submodules: an entry `layers.3` opens the next stage on the next IPU, `head@0` opens it on IPU 0. Programs are
kept by what they were captured from, so that cases that differ in replicas, accumulation or chip share one.
"""

from __future__ import annotations

import contextlib
import re
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import nn
from torch.utils import _pytree as pytree

from tremula.frontends.torch.assembly import capture_program
from tremula.frontends.torch.capture.context import annotated
from tremula.frontends.torch.capture.placement import PlacementRule, SingleIpu
from tremula.frontends.torch.capture.segments import Segments
from tremula.frontends.torch.capture.stages import AutoStages, check
from tremula.frontends.torch.dialect.advice_code import TorchCode
from tremula.frontends.torch.graphs.program import TorchProgram
from tremula.frontends.torch.ops.vendor_schemas import identity_loss
from tremula.frontends.torch.optimize.named import named_spec
from tremula.frontends.torch.optimize.spec import OptimizerSpec
from tremula.frontends.torch.rules.program import program_of
from tremula.frontends.torch.settings import SessionSettings
from tremula.program.loops import Loops
from tremula.program.stages import Mode
from tremula.schedule.deployment import Deployment
from tremula.study.split.segmented import Segmented

from . import build

DTYPES = {"fp32": torch.float32, "fp16": torch.float16}
_REDUCTION_NONE = 2


@dataclass(frozen=True)
class Recipe:
    """What a program is captured from; equal recipes share one capture."""

    model: str
    arguments: tuple[tuple[str, Any], ...] = ()
    dtype: str = "fp32"
    batch: int = 1
    training: bool = False
    optimizer: str = "sgd"
    #: types of the optimizer's state and of gradient accumulators
    state_dtype: str = "fp32"
    accumulator_dtype: str = "fp32"
    #: submodules at which a stage begins
    stages: tuple[str, ...] = ()
    pipelined: bool = True
    #: submodules whose results are kept instead of being computed again
    checkpoints: tuple[str, ...] = ()
    #: whether gradients are accumulated or reduced before the update
    accumulates: bool = True


@dataclass(frozen=True)
class Capture:
    """A program, the rule that placed its ops, and how long the capture took."""

    program: TorchProgram
    rule: PlacementRule
    seconds: float

    def with_loops(self, loops: Loops) -> TorchProgram:
        """The same program run so many times.

        Raises:
            tremula.errors.Error: a pipeline gets too few micro-batches.
        """
        check(self.rule, self.program.training, loops.gradient_accumulation, loops.device_iterations)
        return replace(self.program, loops=loops)


_known: dict[Recipe, Capture] = {}


def captured(recipe: Recipe) -> Capture:
    """The program of `recipe`, captured once."""
    if recipe not in _known:
        _known[recipe] = _capture(recipe)
    return _known[recipe]


def seconds_of_all() -> float:
    """Time that the captures took that are kept now."""
    return sum(capture.seconds for capture in _known.values())


def forget() -> None:
    """Let the next capture of each recipe be a new one."""
    _known.clear()


def captured_in_segments(recipe: Recipe) -> tuple[TorchProgram, Segments]:
    """The program of `recipe` without its stages, ready to be cut anywhere, and the rule that knows where."""
    segments = Segments()
    return _capture(replace(recipe, stages=()), segments).program, segments


def _capture(recipe: Recipe, segments: Segments | None = None) -> Capture:
    began = time.perf_counter()
    with torch.device("meta"):
        module = build(recipe.model, dict(recipe.arguments))
    module = module.to(DTYPES[recipe.dtype]).train(recipe.training)
    sample: dict[str, torch.Tensor] = module.sample(recipe.batch, recipe.training)
    rule = segments or _rule(recipe)
    following = segments.following(module) if segments is not None else contextlib.nullcontext()
    # enough micro-batches for any pipeline: with_loops sets and checks the true numbers
    many = 1 if not recipe.accumulates and recipe.training else 64
    settings = SessionSettings(
        training=recipe.training,
        loops=Loops(gradient_accumulation=many if recipe.training else 1, device_iterations=64),
        rule=rule,
    )
    spec = optimizer_spec(module, recipe) if recipe.training else None

    def call(inputs: list[torch.Tensor]) -> Any:
        result = module(*inputs)
        if not recipe.training:
            return result
        return result[0], identity_loss(result[1], _REDUCTION_NONE)

    with following, _annotated_from_outside(module, recipe, rule), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = capture_program(
            settings, spec, module, call, list(sample.values()), list(sample), _tensors
        ).program
    return Capture(program, rule, time.perf_counter() - began)


def optimizer_spec(module: nn.Module, recipe: Recipe) -> OptimizerSpec:
    """The optimizer called `recipe.optimizer` over all parameters of `module`."""
    return named_spec(
        recipe.optimizer,
        (name for name, _ in module.named_parameters()),
        accumulator=DTYPES[recipe.accumulator_dtype],
        first_order=DTYPES[recipe.state_dtype],
    )


def stage_entries(stages: tuple[str, ...]) -> list[tuple[str, int]]:
    """Submodules and the IPUs of the stages that they begin."""
    entries = []
    last = 0
    for entry in stages:
        name, _, ipu = entry.partition("@")
        last = int(ipu) if ipu else last + 1
        entries.append((name, last))
    return entries


def _rule(recipe: Recipe) -> PlacementRule:
    if not recipe.stages:
        return SingleIpu()
    return AutoStages(Mode.PIPELINED if recipe.pipelined else Mode.SHARDED, same_as_ipu=False)


@contextlib.contextmanager
def _annotated_from_outside(module: nn.Module, recipe: Recipe, rule: PlacementRule) -> Iterator[None]:
    """While inside, calling a submodule that begins a stage opens it; checkpoints are marked."""
    modules = dict(module.named_modules())
    handles = []
    for name, ipu in stage_entries(recipe.stages):
        owner = _submodule(modules, name, recipe.model)

        def begin(_module: Any, _inputs: Any, name: str = name, ipu: int = ipu) -> None:
            rule.begin(name, ipu)

        handles.append(owner.register_forward_pre_hook(begin))
    for name in matching(recipe.checkpoints, modules):
        owner = _submodule(modules, name, recipe.model)

        def keep(_module: Any, _inputs: Any, result: torch.Tensor) -> torch.Tensor:
            return annotated(result, kind="recomputation_checkpoint")

        handles.append(owner.register_forward_hook(keep))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def matching(patterns: Sequence[str], names: Iterable[str]) -> list[str]:
    """`patterns` with each `layers.*` replaced by the names that it stands for: one part of a path per star."""
    known = list(names)
    found: list[str] = []
    for pattern in patterns:
        if "*" not in pattern:
            found.append(pattern)
            continue
        part = re.compile(re.escape(pattern).replace(r"\*", "[^./]+"))
        found += [name for name in known if part.fullmatch(name)] or [pattern]
    return found


def _submodule(modules: Mapping[str, nn.Module], name: str, model: str) -> nn.Module:
    if name not in modules:
        near = [each for each in modules if each and each.split(".")[0] == name.split(".")[0]]
        shown = ", ".join((near or [each for each in modules if each])[:12])
        raise ValueError(
            f"model {model} has no submodule {name!r} to begin a stage or keep; there are {shown} ..."
        )
    return modules[name]


def _tensors(result: Any) -> list[torch.Tensor]:
    return [leaf for leaf in pytree.tree_leaves(result) if isinstance(leaf, torch.Tensor)]


def segmented(program: TorchProgram, segments: Segments, deployment: Deployment, samples: int) -> Segmented:
    """A program of `captured_in_segments`, ready to be split."""
    cuts = tuple(segments.cuts(program))
    return Segmented(program_of(program, deployment.lowering, samples), cuts, TorchCode())
