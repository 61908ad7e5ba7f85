"""Keras models from functions that users name."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python import ipu

from tremula import ask
from tremula.errors import Error
from tremula.frontends.tensorflow.factory import make, subject_of


class Asked:
    """In place of a subject: what it was made with."""

    def __init__(self, model: Any, **given: Any) -> None:
        self.model = model
        self.__dict__ |= given


@pytest.fixture(autouse=True)
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """Subjects of Keras models are captured elsewhere; here it matters what they are made of."""
    module = types.ModuleType("tremula.frontends.tensorflow.modelling.keras_subject")
    module.subject_of_factory = Asked  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)


def small(batch_size: int | None = None) -> Any:
    inputs = tf.keras.Input((4,), batch_size=batch_size)
    return tf.keras.Model(inputs, tf.keras.layers.Dense(2)(inputs))


def compiled() -> Any:
    model = small()
    model.compile("adam", "mse")
    return model


def asked(factory: Callable[[], Any], **options: Any) -> Any:
    return ask.factory(factory, **options)


def test_a_model_alone_is_asked_about_for_inference() -> None:
    found = asked(small)
    assert (found.name, found.training, found.loss, found.optimizer) == ("small", False, None, None)
    assert found.batch_size == 1
    assert asked(lambda: small(batch_size=16)).batch_size == 16


def test_a_compiled_model_is_trained_with_its_loss_and_optimizer() -> None:
    found = asked(compiled)
    assert (found.training, found.loss) == (True, "mse")
    assert "adam" in type(found.optimizer).__name__.lower()
    assert asked(compiled, training=False).training is False
    assert asked(compiled, optimizer="sgd").optimizer == "sgd"


def test_inputs_are_those_of_one_micro_batch() -> None:
    found = asked(lambda: (small(), np.zeros((8, 4), np.float32)))
    assert (found.batch_size, found.inputs.shape, found.targets) == (8, (8, 4), None)


def test_a_tuple_is_inputs_and_targets() -> None:
    found = asked(lambda: (compiled(), (np.zeros((8, 4)), np.zeros((8, 2))), "sgd"))
    assert (found.inputs.shape, found.targets.shape, found.optimizer) == ((8, 4), (8, 2), "sgd")


def test_the_model_is_made_for_an_ipu() -> None:
    assert asked(small).model.get_pipeline_stage_assignment()


def test_a_factory_may_open_a_scope_itself() -> None:
    strategy = ipu.ipu_strategy.IPUStrategy()

    def scoped() -> Any:
        with strategy.scope():
            return small()

    assert asked(scoped).model.get_pipeline_stage_assignment()


def test_a_factory_that_imports_tensorflow_itself_is_recognised(tmp_path: Path) -> None:
    file = tmp_path / "late.py"
    file.write_text("def make():\n    import importlib\n    tf = importlib.import_module('tensorflow')\n"
                    "    return tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])\n")  # fmt: skip
    found = ask.factory(f"{file}:make")
    assert found.name == "late:make"
    assert found.model.get_pipeline_stage_assignment()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("returned", "options", "message"),
    [
        (lambda: (), {}, "returned 0 things"),
        (lambda: (small(), 1, 2, 3), {}, "returned 4 things"),
        (lambda: 3, {}, "a int in place of a model"),
        (lambda: (small(), (1, 2, 3)), {}, "a tuple of 3"),
        (
            lambda: (small(), [np.zeros((2, 4)), np.zeros((2, 4))]),
            {},
            "takes 1 input, and the factory returned 2",
        ),
        (lambda: (small(), 3.0), {}, "not arrays with the same number of samples"),
        (lambda: tf.keras.Sequential([tf.keras.layers.Dense(1)]), {}, "not built"),
        (small, {"training": True}, "no loss. Call model.compile"),
        (small, {"optimizer": "adam"}, "no loss. Call model.compile"),
    ],
)
def test_what_cannot_be_asked_about_is_told(
    returned: Callable[[], Any], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(Error, match=message):
        subject_of(make(returned), "net", **options)


def test_errors_of_the_factory_are_its_own() -> None:
    def failing() -> Any:
        raise RuntimeError("no such file")

    with pytest.raises(RuntimeError, match="no such file"):
        make(failing)
