"""Advice, applied: the lines that are told run in real Keras programs, which then train; the estimate changes as told.

Told and found differ in how they are made: advice comes from one step that is traced alone, with settings changed by
the study; the figures here come from the whole program that the changed Keras model compiles in `fit`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python import ipu

from tremula.advise.advise import AdviceList, advise
from tremula.estimate.estimate import Estimate
from tremula.frontends.tensorflow.dialect.advice_code import BEFORE_MODEL
from tremula.frontends.tensorflow.keras.programs import Mode
from tremula.frontends.tensorflow.modelling.keras_subject import subject_of_model
from tremula.study.answer import answer
from tremula.study.case import Study
from tremula.study.question import Setting

#: how far the found effect may be from the told one
TOLERANCE = 0.2


@dataclass
class Written:
    """A program: what its lines can name, and one call of `fit`."""

    build: Callable[[], Any]
    shape: tuple[int, ...]
    batch_size: int
    ipus: int = 1
    steps: int = 1
    #: what the program itself says after the model is made
    options: str = ""
    optimizer: str = "SGD"
    names: dict[str, Any] = field(default_factory=dict)

    def start(self) -> Written:
        tf.keras.backend.clear_session()
        tf.keras.mixed_precision.set_global_policy("float32")
        ipu.config.reset_ipu_configuration()
        x = np.random.default_rng(0).random((64, *self.shape), np.float32)
        y = np.zeros((64,), np.int32)
        self.names = {
            "tf": tf,
            "ipu": ipu,
            "config": ipu.config.IPUConfig(),
            "optimizer": getattr(tf.keras.optimizers.legacy, self.optimizer)(0.01),
            "batch_size": self.batch_size,
            "steps_per_execution": self.steps,
            "dataset": tf.data.Dataset.from_tensor_slices((x, y)),
        }
        self.names["config"].auto_select_ipus = self.ipus
        self.strategy = ipu.ipu_strategy.IPUStrategy()
        return self

    def run(self, lines: tuple[str, ...] = ()) -> Written:
        """The program up to `compile`, with lines in it."""
        for each in (
            [line for line in lines if line.endswith(BEFORE_MODEL)],
            [line for line in lines if not line.endswith(BEFORE_MODEL)],
        ):
            if "model" in self.names and self.options:
                exec(self.options, self.names)  # noqa: S102 - the program of this test
                self.options = ""
            exec("\n".join(each), self.names)  # noqa: S102 - what is told must run; the lines are this test's subject
            if "model" not in self.names:
                with self.strategy.scope():
                    self.names["model"] = self.build()
        if self.options:
            exec(self.options, self.names)  # noqa: S102
        self.names["config"].configure_ipu_system()
        return self

    @property
    def model(self) -> Any:
        return self.names["model"]

    @property
    def data(self) -> Any:
        return self.names["dataset"].repeat().batch(self.names["batch_size"], drop_remainder=True)

    def compile(self) -> None:
        loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        with self.strategy.scope():
            self.model.compile(
                self.names["optimizer"], loss, steps_per_execution=self.names["steps_per_execution"]
            )

    def fitted(self) -> Estimate:
        """What the chip model says beside one call of `fit`."""
        self.compile()
        steps = self.names["steps_per_execution"] * self.model._get_replication_factor()
        with self.strategy.scope():
            history = self.model.fit(self.data, steps_per_epoch=steps, verbose=0)
        assert np.isfinite(history.history["loss"][0])
        (modelled,) = self.model._modelled.values()
        found: Estimate = modelled.estimate
        return found


def convolutional() -> Written:
    """Images in, a few convolutions; the host's part is large."""

    def build() -> Any:
        return tf.keras.Sequential([
            tf.keras.Input((32, 32, 3)),
            tf.keras.layers.Conv2D(16, 3, padding="same", activation="relu"),
            tf.keras.layers.Conv2D(16, 3, 2, "same", activation="relu"),
            tf.keras.layers.GlobalAveragePooling2D(),
            tf.keras.layers.Dense(10),
        ])  # fmt: skip

    options = "model.set_gradient_accumulation_options(gradient_accumulation_steps_per_replica=2)"
    return Written(build, (32, 32, 3), 4, steps=2, options=options)


def wide_inputs() -> Written:
    """A perceptron whose inputs are most of the work."""

    def build() -> Any:
        inputs = tf.keras.Input((1024,))
        hidden = tf.keras.layers.Dense(64, activation="relu")(inputs)
        return tf.keras.Model(inputs, tf.keras.layers.Dense(10)(hidden))

    return Written(build, (1024,), 16, steps=4, optimizer="Adam")


def pipelined() -> Written:
    """Two uneven stages of a deep perceptron."""

    def build() -> Any:
        inputs = x = tf.keras.Input((128,))
        with keras.ipu.PipelineStage(0):
            x = tf.keras.layers.Dense(128, activation="relu")(x)
        with keras.ipu.PipelineStage(1):
            for _ in range(5):
                x = tf.keras.layers.Dense(128, activation="relu")(x)
            x = tf.keras.layers.Dense(10)(x)
        return tf.keras.Model(inputs, x)

    options = "model.set_pipelining_options(gradient_accumulation_steps_per_replica=8)"
    return Written(build, (128,), 16, ipus=2, steps=8, options=options)


PROGRAMS = {program.__name__: program for program in (convolutional, wide_inputs, pipelined)}


def advice_for(written: Written) -> tuple[AdviceList, Estimate]:
    """What is advised for a program as it is, and what the chip model says of it."""
    written.start().run().compile()
    model, names = written.model, written.names
    subject = subject_of_model(
        model,
        Mode.FIT,
        written.data.element_spec,
        steps=names["steps_per_execution"],
        replicas=model._get_replication_factor(),
    )
    study = Study(subject)
    about = answer(study, Setting())
    assert about.estimate is not None
    found = advise(study, about, budget_seconds=10.0, search=False, tell=lambda _what, _share: None)
    return found, about.estimate


@pytest.mark.parametrize("name", PROGRAMS)
def test_advice_has_the_effect_that_it_tells(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREMULA_CHIP_MODEL", "compile")
    told, before = advice_for(PROGRAMS[name]())
    assert told.advice, "there is something to improve in each of these programs"
    as_it_is = PROGRAMS[name]().start().run().fitted()
    assert as_it_is.throughput == pytest.approx(before.throughput, rel=0.05)
    wrong = []
    for advice in (*told, *([] if told.together is None else [told.together])):
        found = PROGRAMS[name]().start().run(advice.code).fitted()
        effect = found.throughput / before.throughput
        tile = found.memory.max_tile_bytes / before.memory.max_tile_bytes
        told_tile = advice.after["tile_bytes"].value / advice.before["tile_bytes"].value
        if not _as_told(advice.effect, effect) or not _as_told(told_tile, tile):
            wrong.append(
                f"{advice.title}: x{advice.effect:.3f} told, x{effect:.3f} found; tile x{told_tile:.3f}, x{tile:.3f}"
            )
    tf.keras.mixed_precision.set_global_policy("float32")
    ipu.config.reset_ipu_configuration()
    assert not wrong, "\n".join(wrong)


def _as_told(told: float, found: float) -> bool:
    """The same size within the tolerance; effects of a few per cent have no direction."""
    if abs(told - 1.0) < 0.03:
        return abs(found - 1.0) < 0.1
    return (told > 1.0) == (found > 1.0) and abs(found - told) <= TOLERANCE * told
