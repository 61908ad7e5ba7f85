"""Names and modules of TensorFlow 2.6 and Keras 2.6 are found where they were."""

from __future__ import annotations

import importlib

import pytest
import tensorflow as tf
from tensorflow.python import ipu  # noqa: F401

from tremula.frontends.tensorflow.legacy import moved_modules, moved_names


@pytest.mark.parametrize("place", moved_names.MOVED, ids=".".join)
def test_a_moved_name_is_in_its_old_module(place: tuple[str, str]) -> None:
    module, name = place
    assert getattr(importlib.import_module(module), name) is not None


@pytest.mark.parametrize("old", moved_modules.MOVED)
def test_a_moved_module_is_importable_under_its_old_name(old: str) -> None:
    if old != "tensorflow.keras.ipu":
        importlib.import_module(old)


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("keras.optimizer_v2.gradient_descent", "SGD"),
        ("keras.optimizer_v2.adam", "Adam"),
        ("keras.optimizer_v2.rmsprop", "RMSprop"),
        ("keras.optimizer_v2.optimizer_v2", "OptimizerV2"),
        ("keras.optimizer_v2.learning_rate_schedule", "ExponentialDecay"),
        ("keras.testing_utils", "run_v2_only"),
        ("keras.keras_parameterized", "TestCase"),
        ("keras.combinations", "generate"),
        ("keras.engine.base_layer", "Layer"),
        ("keras.engine.training", "Model"),
        ("keras.mixed_precision.policy", "set_policy"),
        ("keras.saving.save", "load_model"),
        ("keras.layers.wrappers", "TimeDistributed"),
        ("tensorflow.python.training.tracking.util", "Checkpoint"),
        ("tensorflow.python.training.tracking.data_structures", "ListWrapper"),
        ("tensorflow.python.distribute.distribution_strategy_context", "get_strategy"),
        ("tensorflow.python.keras.datasets.mnist", "load_data"),
    ],
)
def test_programs_find_what_they_import(module: str, name: str) -> None:
    assert hasattr(importlib.import_module(module), name)


def test_an_old_module_is_the_new_one_and_not_a_copy() -> None:
    assert importlib.import_module("keras.engine.training").Model is tf.keras.Model


def test_modules_are_attributes_of_keras_without_an_import() -> None:
    import keras
    import tensorflow.keras as from_tensorflow

    for package in (keras, tf.keras, from_tensorflow, tf.compat.v1.keras):
        assert package.ipu.__name__ == "keras.ipu"
    assert issubclass(keras.optimizer_v2.gradient_descent.SGD, keras.optimizers.legacy.Optimizer)
    assert (
        keras.optimizer_v2.learning_rate_schedule.ExponentialDecay
        is keras.optimizers.schedules.ExponentialDecay
    )


def test_an_unknown_attribute_is_still_an_error() -> None:
    import keras

    with pytest.raises(AttributeError, match="no attribute 'nowhere'"):
        keras.nowhere
    with pytest.raises(AttributeError, match="no attribute 'nowhere'"):
        keras.optimizer_v2.nowhere
