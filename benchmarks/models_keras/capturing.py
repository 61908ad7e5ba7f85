"""From a model's name to the program that the chip model reads, by way of Keras. Nothing is computed.

A recipe is the one of the torch version (models/capturing.py). The program is asked for as anyone's would be, by a
factory; stages and checkpoints are put on afterwards, by the names of layers.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import tensorflow as tf

from tremula import ask
from tremula.module_paths import first_parts, parts
from tremula.program.loops import Loops
from tremula.program.program import Program
from tremula.program.variant import CapturedVariant, Variant
from tremula.schedule.deployment import Deployment
from tremula.schedule.relayout import Relayout
from tremula.study.case import checkpoint_tensors
from tremula.study.subject import Subject

from ..models.capturing import Recipe, matching, stage_entries
from . import build
from .optimizers import optimizer

DTYPES = {"fp32": "float32", "fp16": "float16"}


@dataclass(frozen=True)
class Capture:
    """A program in segments, the stage of each segment and the IPU of each stage, and how long the capture took."""

    recipe: Recipe
    #: its model has no weights any more: it can be modelled, not run
    subject: Subject
    stage_of: tuple[int, ...]
    ipu_of_stage: tuple[int, ...]
    seconds: float

    @property
    def ipus(self) -> int:
        """IPUs of one replica."""
        return max(self.ipu_of_stage) + 1

    def check(self, loops: Loops) -> None:
        """Refuse a pipeline that gets too few micro-batches.

        Raises:
            ValueError: saying how many it needs.
        """
        if not self.recipe.stages or not self.recipe.pipelined:
            return
        training = self.recipe.training
        needed = self.subject.dialect.micro_batches(1, len(self.ipu_of_stage), training)
        given = loops.gradient_accumulation if training else loops.device_iterations
        if given < needed:
            raise ValueError(
                f"a pipeline of {len(self.ipu_of_stage)} stages needs {needed} micro-batches and gets {given}"
            )

    def program(self, deployment: Deployment) -> Program:
        """What the chip model reads, laid over the IPUs; the caller sets its loop counts."""
        found = self.subject.program(Variant(), deployment)
        return Relayout(found, deployment.proportions).over(self.stage_of, self.ipu_of_stage)

    def checkpoints(self, program: Program) -> frozenset[str]:
        """The tensors that the recipe keeps."""
        modules = {
            first_parts(op.module, n) for op in program.ops for n in range(1, len(parts(op.module)) + 1)
        }
        return checkpoint_tensors(program, matching(self.recipe.checkpoints, sorted(modules)))


_known: dict[Recipe, Capture] = {}


def captured(recipe: Recipe) -> Capture:
    """The program of `recipe`, captured once; what only counts for the torch version is left out."""
    key = replace(recipe, accumulates=True)
    if key not in _known:
        _known[key] = _capture(key)
    return _known[key]


def _capture(recipe: Recipe) -> Capture:
    began = time.perf_counter()
    policy = tf.keras.mixed_precision.global_policy()
    tf.keras.mixed_precision.set_global_policy(DTYPES[recipe.dtype])
    made: list[tf.keras.Model] = []
    try:
        subject = ask.factory(_factory(recipe, made), training=recipe.training)
    finally:
        tf.keras.mixed_precision.set_global_policy(policy)
        tf.keras.backend.clear_session()
    if recipe.training:
        subject = subject.with_dtypes((), DTYPES[recipe.accumulator_dtype], None)
    stage_of, ipu_of_stage = _stages(subject.captured(Variant()), recipe)
    for model in made:
        _free(model)
    return Capture(recipe, subject, stage_of, ipu_of_stage, time.perf_counter() - began)


def _factory(recipe: Recipe, made: list[tf.keras.Model]) -> Any:
    """A function that makes the compiled model, as a user would write it, and notes it in `made`."""

    def factory() -> Any:
        network = build(recipe.model, recipe.batch, dict(recipe.arguments))
        if recipe.training:
            weights, state = DTYPES[recipe.dtype], DTYPES[recipe.state_dtype]
            network.model.compile(optimizer(recipe.optimizer, weights, state), network.loss)
        made.append(network.model)
        return network.model

    factory.__name__ = f"{recipe.model} in Keras"
    return factory


def _free(model: tf.keras.Model) -> None:
    """Let go of the values of a model's weights and of its optimizer's state: a large model has gigabytes of them."""
    state = model.optimizer.variables() if model.optimizer is not None else ()
    for variable in (*model.variables, *state):
        empty = tf.zeros([0], variable.dtype)  # the op below takes any shape, `assign` does not
        tf.raw_ops.AssignVariableOp(resource=variable.handle, value=empty, validate_shape=False)


def _stages(found: CapturedVariant, recipe: Recipe) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Stage of each segment and IPU of each stage."""
    entries = stage_entries(recipe.stages)
    begins = [_segment(found, name, recipe.model) for name, _ in entries]
    if begins != sorted(set(begins)):
        raise ValueError(f"the stages {', '.join(recipe.stages)} of {recipe.model} are not in its order")
    stage_of = tuple(sum(begin <= segment for begin in begins) for segment in range(len(found.own)))
    return stage_of, (0, *(ipu for _, ipu in entries))


def _segment(found: CapturedVariant, name: str, model: str) -> int:
    """The first segment of the layers that belong to `name`."""
    for cut in found.cuts:
        if cut.module == name or cut.module.startswith((f"{name}.", f"{name}/")):
            return cut.segment
    modules: Sequence[str] = [cut.module for cut in found.cuts]
    raise ValueError(
        f"the Keras version of model {model} has no layer {name!r} to begin a stage at; there are "
        f"{', '.join(modules[:12])} ..."
    )
