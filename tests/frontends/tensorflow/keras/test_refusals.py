"""What cannot run on the device is refused before anything has changed, with what to do about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

X, Y = np.ones((24, 3), np.float32), np.ones((24, 1), np.float32)


def model(kind: type = keras.Sequential, **options: Any) -> Any:
    made = kind([keras.Input((3,)), keras.layers.Dense(1)])
    made.compile(**{"optimizer": "sgd", "loss": "mse", **options})
    return made


def generator() -> Any:
    yield X[:4], Y[:4]


class TrainsItself(keras.Sequential):  # type: ignore[misc]
    def train_step(self, data: Any) -> Any:
        return super().train_step(data)


class MakesItself(keras.Sequential):  # type: ignore[misc]
    def make_train_function(self, force: bool = False) -> Any:
        return super().make_train_function(force)


class OwnMinimize(keras.optimizers.legacy.SGD):  # type: ignore[misc]
    def minimize(self, *args: Any, **kwargs: Any) -> Any:
        return super().minimize(*args, **kwargs)


def accumulating(**options: Any) -> Any:
    made = model(**options)
    made.set_gradient_accumulation_options(3)
    return made


#: what is wrong -> (makes a model, trains it, type of the error, part of its text)
WRONG: dict[str, tuple[Callable[[], Any], Callable[[Any], Any], type[BaseException], str]] = {
    "partial batch": (model, lambda m: m.fit(X, Y, batch_size=7), ValueError, "partial batch"),
    "unknown shape": (
        model,
        lambda m: m.fit(tf.data.Dataset.from_tensor_slices((X, Y)).batch(4)),
        ValueError,
        "drop_remainder=True",
    ),
    "generator": (model, lambda m: m.fit(generator()), ValueError, "from_generator"),
    "run eagerly": (
        lambda: model(run_eagerly=True),
        lambda m: m.fit(X, Y),
        RuntimeError,
        "run_eagerly=False",
    ),
    "own train_step": (lambda: model(TrainsItself), lambda m: m.fit(X, Y), RuntimeError, "`train_step`"),
    "own train function": (
        lambda: model(MakesItself),
        lambda m: m.fit(X, Y),
        RuntimeError,
        "enable_keras_extensions=False",
    ),
    "steps that do not divide": (
        lambda: model(steps_per_execution=4),
        lambda m: m.fit(X, Y, batch_size=4),
        ValueError,
        "must be a divisor",
    ),
    "accumulation that does not divide": (
        lambda: accumulating(steps_per_execution=2),
        lambda m: m.fit(X, Y, batch_size=4),
        RuntimeError,
        "not divisible by",
    ),
    "own minimize": (
        lambda: accumulating(optimizer=OwnMinimize(0.1), steps_per_execution=6),
        lambda m: m.fit(X, Y, batch_size=4),
        ValueError,
        "must not override OptimizerV2.minimize",
    ),
    "too little data": (
        model,
        lambda m: m.fit(X, Y, batch_size=4, steps_per_epoch=8, epochs=2),
        ValueError,
        "does not have enough data",
    ),
    "no data": (model, lambda m: m.fit(X[:0], Y[:0]), TypeError, "no data"),
    "wide integers": (
        model,
        lambda m: m.fit(X, np.ones((24, 1), np.int64), batch_size=4),
        tf.errors.FailedPreconditionError,
        "int64",
    ),
    "unknown size": (
        model,
        lambda m: m.fit(tf.data.Dataset.from_tensor_slices((X, Y)).batch(4, True).filter(lambda *_: True)),
        ValueError,
        "steps_per_epoch",
    ),
    "automatic steps": (
        lambda: model(steps_per_execution="auto"),
        lambda m: m.fit(X, Y),
        ValueError,
        "fixed number of steps",
    ),
    "too many replicas": (model, lambda m: m.fit(X[:1], Y[:1], batch_size=1), ValueError, "replicas"),
}


@pytest.mark.parametrize("wrong", sorted(WRONG))
def test_the_error_says_what_to_do_and_where(on_ipus: Any, wrong: str) -> None:
    make, train, kind, text = WRONG[wrong]
    with on_ipus(2 if wrong == "too many replicas" else 1).scope(), pytest.raises(kind) as caught:
        train(make())
    assert text in str(caught.value)
    if "accumulation that" not in wrong:
        assert "test_refusals.py:" in str(caught.value)


def test_a_model_from_outside_the_scope_is_refused_inside(on_ipus: Any) -> None:
    outside = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    with on_ipus().scope(), pytest.raises(ValueError, match=r"inside `with strategy\.scope"):
        outside.compile("sgd", "mse")


def test_steps_take_a_batch_for_each_replica(on_ipus: Any) -> None:
    # 24 batches are 12 steps of two replicas
    with on_ipus(2).scope(), pytest.raises(ValueError, match="does not have enough data"):
        model(steps_per_execution=1).fit(X, Y, batch_size=1, steps_per_epoch=26, verbose=0)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    replicas=st.sampled_from([1, 2, 4]),
    batch=st.integers(1, 30),
    steps_per_execution=st.integers(1, 9),
    accumulation=st.integers(1, 5),
    steps_per_epoch=st.one_of(st.none(), st.integers(0, 40)),
    epochs=st.integers(1, 3),
)
def test_configurations_either_run_or_leave_the_weights_alone(
    on_ipus: Any,
    replicas: int,
    batch: int,
    steps_per_execution: int,
    accumulation: int,
    steps_per_epoch: int | None,
    epochs: int,
) -> None:
    with on_ipus(replicas).scope():
        made = model(steps_per_execution=steps_per_execution)
        made.set_gradient_accumulation_options(accumulation)
        before = made.get_weights()
        problem = ""
        try:
            made.fit(X, Y, batch_size=batch, steps_per_epoch=steps_per_epoch, epochs=epochs, verbose=0)
        except (ValueError, RuntimeError) as error:
            problem = str(error)
    if problem:
        assert len(problem) > 60
        for old, weight in zip(before, made.get_weights(), strict=True):
            np.testing.assert_array_equal(weight, old)
        return
    fits = 24 % batch == 0
    assert fits
    assert any((old != weight).any() for old, weight in zip(before, made.get_weights(), strict=True))


def test_double_precision_becomes_single(on_ipus: Any) -> None:
    with on_ipus().scope():
        found = model().predict(
            tf.data.Dataset.from_tensor_slices(X.astype(np.float64)).batch(4, drop_remainder=True), verbose=0
        )
    assert found.dtype == np.float32


def test_a_model_that_does_not_fit_on_the_ipus_names_how_many_it_needs(on_ipus: Any) -> None:
    with on_ipus(1).scope():
        made = model()
        made.add(keras.layers.Dense(1))
        made.set_pipeline_stage_assignment([0, 1])
        made.set_pipelining_options(gradient_accumulation_steps_per_replica=1)
        with pytest.raises(ValueError, match=r"auto_select_ipus = 2"):
            made.fit(X, Y, batch_size=4)
