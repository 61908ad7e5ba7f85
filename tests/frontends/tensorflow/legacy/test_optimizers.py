"""Programs for Keras 2.6 get its optimizers under an IPUStrategy, and only there."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python import ipu

OLD = keras.optimizers.legacy.Optimizer
KINDS = ("SGD", "Adam", "RMSprop", "Adagrad", "Adadelta", "Adamax", "Nadam", "Ftrl")


@pytest.fixture
def scope() -> Any:
    with ipu.ipu_strategy.IPUStrategy().scope():
        yield


@pytest.mark.parametrize("kind", KINDS)
def test_under_the_strategy_optimizers_are_those_of_keras_2_6(scope: None, kind: str) -> None:
    assert isinstance(getattr(keras.optimizers, kind)(0.1), OLD)


@pytest.mark.parametrize("kind", KINDS)
def test_elsewhere_they_are_those_of_today(kind: str) -> None:
    made = getattr(keras.optimizers, kind)(0.1)
    assert isinstance(made, getattr(keras.optimizers, kind))
    assert not isinstance(made, OLD)


def test_arguments_of_the_old_kind_are_accepted(scope: None) -> None:
    made = keras.optimizers.SGD(0.5, decay=0.1, momentum=0.9)
    assert float(made.lr) == 0.5
    assert made._initial_decay == 0.1


def test_arguments_of_the_new_kind_keep_the_new_kind(scope: None) -> None:
    made = keras.optimizers.SGD(0.5, weight_decay=0.1)
    assert isinstance(made, keras.optimizers.SGD)
    assert made.weight_decay == 0.1


def test_kinds_that_keras_2_6_did_not_have_stay(scope: None) -> None:
    assert isinstance(keras.optimizers.AdamW(0.5), keras.optimizers.AdamW)


class _Halving(keras.optimizers.Optimizer):  # type: ignore[misc]
    """Written for OptimizerV2: half of the gradient at the first step of a variable, less and less later."""

    def __init__(self, learning_rate: float = 0.1, name: str = "halving", **kwargs: Any) -> None:
        super().__init__(name, **kwargs)
        self._set_hyper("learning_rate", learning_rate)

    def _create_slots(self, var_list: Any) -> None:
        for variable in var_list:
            self.add_slot(variable, "part", "ones")

    def _resource_apply_dense(self, grad: Any, var: Any, apply_state: Any = None) -> Any:
        part = self.get_slot(var, "part")
        part = part.assign(part / 2)
        return var.assign_sub(part * grad * self._get_hyper("learning_rate", var.dtype))

    def get_config(self) -> Any:
        return {**super().get_config(), "learning_rate": self._serialize_hyperparameter("learning_rate")}


def test_a_class_written_for_the_old_base_gets_it() -> None:
    optimizer = _Halving(1.0)
    assert isinstance(optimizer, OLD)
    variable = tf.Variable([8.0])
    for expected in ([6.0], [5.0], [4.5]):
        optimizer.apply_gradients([(tf.constant([4.0]), variable)])
        np.testing.assert_allclose(variable, expected)


def test_a_class_written_for_the_new_base_keeps_it() -> None:
    class New(keras.optimizers.Optimizer):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__("new")
            self._learning_rate = self._build_learning_rate(1.0)

        def build(self, var_list: Any) -> None:
            super().build(var_list)
            self._built = True

        def update_step(self, gradient: Any, variable: Any) -> None:
            variable.assign_sub(gradient)

    variable = tf.Variable([8.0])
    New().apply_gradients([(tf.constant([4.0]), variable)])
    np.testing.assert_allclose(variable, [4.0])
