"""`IPULoggingTensorHook`: which values of a program are written, and when."""

from __future__ import annotations

import logging
from typing import Any

import pytest
import tensorflow as tf
from tensorflow.python import ipu

Hook = ipu.ipu_session_run_hooks.IPULoggingTensorHook


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What goes to TensorFlow's log at INFO."""
    written: list[str] = []
    logger = tf.get_logger()
    handler = logging.Handler()
    handler.emit = lambda record: written.append(record.getMessage())  # type: ignore[method-assign]
    monkeypatch.setattr(logger, "handlers", [handler])
    monkeypatch.setattr(logger, "propagate", False)
    level = logger.level
    logger.setLevel(logging.INFO)
    yield written
    logger.setLevel(level)


def run_counter(hook: Any, runs: int, per_run: int = 1) -> None:
    """Run a program that counts, and logs the count `per_run` times in each run."""
    with tf.Graph().as_default():

        def step() -> Any:
            count = tf.compat.v1.get_variable("count", initializer=0, use_resource=True)
            return hook.log({"count": count.assign_add(1, read_value=True)})

        with ipu.scopes.ipu_scope("/device:IPU:0"):
            program = ipu.ipu_compiler.compile(
                step if per_run == 1 else lambda: ipu.loops.repeat(per_run, step)
            )
        with tf.compat.v1.train.MonitoredTrainingSession(hooks=[hook]) as session:
            for _ in range(runs):
                session.run(program)


def counts(lines: list[str]) -> list[str]:
    return [line.partition(" (")[0] for line in lines if line.startswith("count")]


def test_the_first_of_every_n_runs_is_written(lines: list[str]) -> None:
    run_counter(Hook(every_n_iter=2), 5)
    assert counts(lines) == ["count = 1", "count = 3", "count = 5"]


def test_the_last_values_or_all_since_the_last_time_are_written(lines: list[str]) -> None:
    run_counter(Hook(every_n_iter=2), 3, per_run=2)
    run_counter(Hook(every_n_iter=2, logging_mode=Hook.LoggingMode.ALL), 3, per_run=2)
    assert counts(lines) == ["count = 2", "count = 6", "count = [1 2]", "count = [3 4 5 6]"]


def test_at_the_end_what_was_not_written_yet_is_written(lines: list[str]) -> None:
    run_counter(Hook(at_end=True), 3)
    run_counter(Hook(every_n_iter=2, at_end=True), 4)
    run_counter(Hook(every_n_iter=2, at_end=True), 3)  # the third run was written
    assert counts(lines) == [
        "count = 3",
        *("count = 1", "count = 3", "count = 4"),
        *("count = 1", "count = 3"),
    ]


def test_a_formatter_makes_the_line(lines: list[str]) -> None:
    run_counter(Hook(at_end=True, formatter=lambda values: f"counted to {values['count']}"), 2)
    assert "counted to 2" in lines


def test_the_same_hook_serves_one_session_after_the_other(lines: list[str]) -> None:
    hook = Hook(every_n_iter=10)
    run_counter(hook, 2)
    run_counter(hook, 2)
    assert counts(lines) == ["count = 1", "count = 1"]


def test_a_model_of_an_estimator_logs_every_loop(regression: Any, config: Any, lines: list[str]) -> None:
    hook = Hook(every_n_iter=1)

    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        spec = regression.model_fn()(features, labels, mode)
        logged = hook.log({"logged loss": spec.loss})
        return spec._replace(train_op=tf.group(spec.train_op, logged), training_hooks=[hook])

    ipu.ipu_estimator.IPUEstimator(model_fn, config=config(2)).train(regression.input_fn(), steps=4)
    _, losses = regression.trained(4)
    written = [float(line.split()[3]) for line in lines if line.startswith("logged loss")]
    assert written == [pytest.approx(losses[1], rel=1e-5), pytest.approx(losses[3], rel=1e-5)]


def test_arguments_are_checked() -> None:
    with pytest.raises(ValueError, match="Cannot provide both"):
        Hook(every_n_iter=1, every_n_secs=1)
    with pytest.raises(ValueError, match="Either every_n_iter, every_n_secs or at_end"):
        Hook()
    with pytest.raises(TypeError, match=r"Expected `tf.Tensor`, got <class 'float'>"):
        Hook(at_end=True).log([1.0])
    with pytest.raises(RuntimeError, match="Did you forget to call the log function"):
        Hook(at_end=True).begin()
    with tf.Graph().as_default():
        hook = Hook(at_end=True)
        hook.log(tf.constant(1.0))
        with pytest.raises(RuntimeError, match="more than once"):
            hook.log(tf.constant(1.0))
