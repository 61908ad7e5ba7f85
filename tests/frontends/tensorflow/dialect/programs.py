"""A small Keras program: everything that advised lines can name, and one call of `fit`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python import ipu

from tremula.frontends.tensorflow.dialect.advice_code import BEFORE_MODEL, KerasCode

WIDTH = 6


def functional() -> Any:
    """Two inputs' worth of layers in a row, with a skip around one of them."""
    inputs = tf.keras.Input((WIDTH,), name="data")
    first = tf.keras.layers.Dense(8, activation="relu", name="first")(inputs)
    second = tf.keras.layers.Dense(8, activation="relu", name="second")(first)
    added = tf.keras.layers.Add(name="added")([first, second])
    third = tf.keras.layers.Dense(8, activation="relu", name="third")(added)
    return tf.keras.Model(inputs, tf.keras.layers.Dense(1, name="last")(third))


def sequential() -> Any:
    """Four layers in a row."""
    names = ("first", "second", "third")
    layers = [tf.keras.layers.Dense(8, activation="relu", name=name) for name in names]
    return tf.keras.Sequential([tf.keras.Input((WIDTH,)), *layers, tf.keras.layers.Dense(1, name="last")])


def nested() -> Any:
    """A model inside the model."""
    inner = tf.keras.Input((8,))
    hidden = tf.keras.layers.Dense(8, name="up")(inner)
    encoder = tf.keras.Model(inner, tf.keras.layers.Dense(8, name="down")(hidden), name="encoder")
    inputs = tf.keras.Input((WIDTH,))
    outputs = tf.keras.layers.Dense(1, name="last")(encoder(tf.keras.layers.Dense(8, name="first")(inputs)))
    return tf.keras.Model(inputs, outputs)


@dataclass
class Written:
    """A program before its IPUs are configured; `steps_per_execution` and the others are its variables."""

    make: Callable[[], Any] = functional
    names: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        x = np.random.default_rng(0).random((256, WIDTH), np.float32)
        self.names = {
            "tf": tf,
            "ipu": ipu,
            "config": ipu.config.IPUConfig(),
            "optimizer": tf.keras.optimizers.legacy.SGD(0.01),
            "batch_size": 2,
            "steps_per_execution": 1,
            "dataset": tf.data.Dataset.from_tensor_slices((x, x.sum(1, keepdims=True))),
        }
        self.config.auto_select_ipus = 1
        self.strategy = ipu.ipu_strategy.IPUStrategy()

    @property
    def config(self) -> Any:
        return self.names["config"]

    @property
    def model(self) -> Any:
        if "model" not in self.names:
            with self.strategy.scope():
                self.names["model"] = self.make()
        return self.names["model"]

    def code(self, training: bool = True) -> KerasCode:
        """The dialect of this model."""
        return KerasCode.of(self.model, training)

    def run(self, lines: tuple[str, ...]) -> Written:
        """The lines, as if they stood in the program."""
        first = [line for line in lines if line.endswith(BEFORE_MODEL)]
        rest = [line for line in lines if line not in first]
        for each in (first, rest):
            exec("\n".join(each), self.names)  # noqa: S102 - what is told must run: these tests are about it
            assert self.model
        return self

    def fit(self, replicas: int = 1) -> Any:
        """One epoch of one execution on `replicas` replicas; what `fit` returns."""
        names, config = self.names, self.config
        ipu.config.reset_ipu_configuration()
        config.configure_ipu_system()
        steps = names["steps_per_execution"]
        data = names["dataset"].repeat().batch(names["batch_size"], drop_remainder=True)
        with self.strategy.scope():
            self.model.compile(names["optimizer"], "mse", steps_per_execution=steps)
            return self.model.fit(data, steps_per_epoch=steps * replicas, verbose=0)

    def stages(self) -> dict[str, int]:
        """The stage of each layer, those of nested models too."""

        def found(assignments: Any) -> dict[str, int]:
            stages: dict[str, int] = {}
            for each in assignments:
                if each.is_nested_model:
                    stages |= found(each.pipeline_stage_assignments)
                else:
                    stages[each.layer.name] = each.pipeline_stage
            return stages

        return found(self.model.get_pipeline_stage_assignment())
