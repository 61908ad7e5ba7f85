"""What the host gets from `fit`, `evaluate` and `predict`: metrics of replicas, predictions, logs of callbacks."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

X = np.arange(1, 17, dtype=np.float32)[:, np.newaxis]


def identity_model(**options: Any) -> Any:
    """Gives its input, so that the metric is the mean of it."""
    model = keras.Sequential(
        [keras.Input((1,)), keras.layers.Dense(1, use_bias=False, kernel_initializer="ones", trainable=False)]
    )
    model.compile("sgd", "mae", **options)
    return model


def rows_of(replica: int, replicas: int, batch: int) -> np.ndarray:
    return np.reshape(X, [-1, replicas, batch])[:, replica]


class TestMetricsOfReplicas:
    @pytest.mark.parametrize("replicas", [2, 4])
    @pytest.mark.parametrize(
        ("method", "combine"), [("NONE", lambda v: v[-1]), ("LIST", list), ("SUM", sum), ("MEAN", np.mean)]
    )
    def test_each_replica_has_its_own(self, on_ipus: Any, replicas: int, method: str, combine: Any) -> None:
        with on_ipus(replicas).scope():
            model = identity_model(steps_per_execution=2)
            model.set_replication_options(method)
            found = model.evaluate(X, np.zeros_like(X), batch_size=2, verbose=0)
        each = [float(rows_of(replica, replicas, 2).mean()) for replica in range(replicas)]
        np.testing.assert_allclose(found, combine(each), rtol=1e-6)

    def test_they_begin_anew_in_each_epoch_even_if_those_of_the_first_replica_are_zero(
        self, on_ipus: Any
    ) -> None:
        values = np.reshape([[0.0], [8.0]] * 4, [8, 1]).astype(np.float32)
        with on_ipus(2).scope():
            model = identity_model(steps_per_execution=4)
            model.set_replication_options("LIST")
            found = [model.evaluate(values, np.zeros_like(values), batch_size=1, verbose=0) for _ in range(3)]
        np.testing.assert_allclose(found, [[0, 8]] * 3)

    def test_an_unknown_method_is_refused(self, on_ipus: Any) -> None:
        with on_ipus().scope(), pytest.raises(ValueError, match="NONE, LIST, SUM, MEAN"):
            identity_model().set_replication_options("median")


class TestPredictions:
    @pytest.mark.parametrize("replicas", [1, 2, 4])
    @pytest.mark.parametrize("steps_per_execution", [1, 2])
    @pytest.mark.parametrize("from_dataset", [False, True])
    def test_come_in_the_order_of_the_samples(
        self, on_ipus: Any, replicas: int, steps_per_execution: int, from_dataset: bool
    ) -> None:
        with on_ipus(replicas).scope():
            model = identity_model(steps_per_execution=steps_per_execution)
            if from_dataset:
                found = model.predict(tf.data.Dataset.from_tensor_slices(X).batch(2, drop_remainder=True))
            else:
                found = model.predict(X, batch_size=2, verbose=0)
        np.testing.assert_array_equal(found, X)

    def test_have_the_structure_of_the_outputs(self, on_ipus: Any) -> None:
        with on_ipus(2).scope():
            inputs = keras.Input((1,))
            model = keras.Model(inputs, {"double": inputs * 2, "pair": tf.concat([inputs, inputs], 1)})
            found = model.predict(X, batch_size=4, verbose=0)
        np.testing.assert_array_equal(found["double"], 2 * X)
        np.testing.assert_array_equal(found["pair"], np.concatenate([X, X], 1))

    def test_of_one_batch_need_no_replicas(self, on_ipus: Any) -> None:
        with on_ipus(2).scope():
            model = identity_model()
            np.testing.assert_array_equal(model.predict_on_batch(X[:3]), X[:3])
            assert model.test_on_batch(X[:2], X[:2] + 1) == pytest.approx(1)


class Log(keras.callbacks.Callback):  # type: ignore[misc]
    """Notes what it hears of."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[Any] = []

    def on_test_batch_begin(self, batch: int, logs: Any = None) -> None:
        self.heard.append(("begin", batch))

    def on_test_batch_end(self, batch: int, logs: Any = None) -> None:
        self.heard.append(("end", batch, float(logs["loss"])))


class TestCallbacks:
    def test_hear_of_the_last_step_of_each_execution(self, on_ipus: Any) -> None:
        log = Log()
        with on_ipus().scope():
            model = identity_model(steps_per_execution=4)
            model.evaluate(X, np.zeros_like(X), batch_size=2, callbacks=[log], verbose=0)
        means = [float(X[:8].mean()), float(X.mean())]
        assert log.heard == [("begin", 0), ("end", 3, means[0]), ("begin", 4), ("end", 7, means[1])]

    @pytest.mark.parametrize("replicas", [1, 2])
    def test_that_are_asynchronous_hear_of_each_step_of_each_replica(
        self, on_ipus: Any, replicas: int
    ) -> None:
        log = Log()
        with on_ipus(replicas).scope():
            model = identity_model(steps_per_execution=4)
            model.set_asynchronous_callbacks(True)
            model.evaluate(X, np.zeros_like(X), batch_size=2, callbacks=[log], verbose=0)
        expected = []
        for step in range(8 // replicas):
            for replica in range(replicas):
                mean = float(rows_of(replica, replicas, 2)[: step + 1].mean())
                expected += [("begin", step), ("end", step, pytest.approx(mean))]
        assert log.heard == expected

    def test_that_fail_in_their_thread_stop_the_program(self, on_ipus: Any) -> None:
        class Fails(keras.callbacks.Callback):  # type: ignore[misc]
            def on_predict_batch_end(self, batch: int, logs: Any = None) -> None:
                raise KeyError("no such step")

        with on_ipus().scope():
            model = identity_model(steps_per_execution=4)
            model.set_asynchronous_callbacks(True)
            with pytest.raises(KeyError, match="no such step"):
                model.predict(X, batch_size=4, callbacks=[Fails()], verbose=0)

    def test_can_stop_training_early_and_save_the_best_weights(self, on_ipus: Any, tmp_path: Any) -> None:
        with on_ipus(2).scope():
            model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
            model.compile(keras.optimizers.legacy.SGD(0.0), "mse", steps_per_execution=4)
            stop = keras.callbacks.EarlyStopping("val_loss", patience=1)
            save = keras.callbacks.ModelCheckpoint(str(tmp_path / "best"), save_weights_only=True)
            history = model.fit(
                X, X, batch_size=2, epochs=9, validation_data=(X, X), callbacks=[stop, save], verbose=0
            )
            assert len(history.history["val_loss"]) == 2
            weights = model.get_weights()
            model.set_weights([weight + 1 for weight in weights])
            model.load_weights(str(tmp_path / "best"))
        np.testing.assert_array_equal(model.get_weights()[0], weights[0])


def test_a_step_of_evaluation_may_be_the_programs_own(on_ipus: Any) -> None:
    class Own(keras.Model):  # type: ignore[misc]
        def call(self, inputs: Any) -> Any:
            return inputs

        def test_step(self, data: Any) -> dict[str, Any]:
            return {"largest": tf.reduce_max(data[0])}

    with on_ipus(2).scope():
        model = Own()
        model.compile(steps_per_execution=2)
        found = model.evaluate(X, X, batch_size=4, verbose=0, return_dict=True)
    assert found == {"largest": 16.0}
