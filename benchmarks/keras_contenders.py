"""Small Keras models, and the ways to train them that `speed_tensorflow` compares: `fit` and hand-written loops."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

EPOCHS = 5


@dataclass(frozen=True)
class Row:
    """A model and how it is trained.

    Attributes:
        name: what the table calls it.
        shape: of a sample.
        layers: makes the layers, given `keras.layers`.
        optimizer: its name.
        batch: the batch size.
    """

    name: str
    shape: tuple[int, ...]
    layers: Callable[[Any], list[Any]]
    optimizer: str
    batch: int = 64


def _mnist_cnn(layers: Any) -> list[Any]:
    return [
        layers.Conv2D(32, 3, activation="relu"),
        layers.MaxPooling2D(2),
        layers.Conv2D(64, 3, activation="relu"),
        layers.MaxPooling2D(2),
        layers.Flatten(),
        layers.Dropout(0.5),
        layers.Dense(10, activation="softmax"),
    ]


def _cifar_cnn(layers: Any) -> list[Any]:
    return [
        layers.Conv2D(32, 3, activation="relu", padding="same"),
        layers.Conv2D(32, 3, activation="relu"),
        layers.MaxPooling2D(2),
        layers.Conv2D(64, 3, activation="relu"),
        layers.MaxPooling2D(2),
        layers.Flatten(),
        layers.Dense(128, activation="relu"),
        layers.Dense(10, activation="softmax"),
    ]


def _mlp(layers: Any) -> list[Any]:
    return [layers.Dense(128, activation="relu"), layers.Dense(10, activation="softmax")]


ROWS = (
    Row("mlp", (784,), _mlp, "adam"),
    Row("mnist-cnn", (28, 28, 1), _mnist_cnn, "sgd"),
    Row("cifar-cnn", (32, 32, 3), _cifar_cnn, "adam", batch=32),
)


def contenders(row: Row, steps: int) -> dict[str, Callable[[], Any]]:
    """What trains a model for `EPOCHS` epochs, each call anew: ours, stock `fit`, and loops."""
    import numpy as np
    from tensorflow import keras
    from tensorflow.python import ipu

    generator = np.random.default_rng(0)
    samples = steps * row.batch
    x = generator.random((samples, *row.shape), np.float32)
    y = keras.utils.to_categorical(generator.integers(0, 10, samples), 10)
    configuration = ipu.config.IPUConfig()
    configuration.auto_select_ipus = 1
    configuration.configure_ipu_system()
    found = {"stock fit": _fit(row, steps, x, y)}
    with ipu.ipu_strategy.IPUStrategy().scope():
        found["ours"] = _fit(row, steps, x, y)
    for generation, optimizers in (("new", keras.optimizers), ("legacy", keras.optimizers.legacy)):
        make = {"adam": optimizers.Adam, "sgd": optimizers.SGD}[row.optimizer]
        found[f"dataset, {generation}"] = _loop_over_dataset(_Training(row, steps, make()), x, y)
        found[f"gather, {generation}"] = _loop_with_gather(_Training(row, steps, make()), x, y)
    return found


def _model(row: Row) -> Any:
    from tensorflow import keras

    return keras.Sequential([keras.Input(row.shape), *row.layers(keras.layers)])


def _fit(row: Row, steps: int, x: Any, y: Any) -> Callable[[], Any]:
    model = _model(row)
    model.compile(row.optimizer, "categorical_crossentropy", metrics=["accuracy"], steps_per_execution=steps)
    return lambda: model.fit(x, y, batch_size=row.batch, epochs=EPOCHS, verbose=0)


class _Training:
    """A hand-written training with the metrics of `fit`.

    Attributes:
        epoch: runs all steps; takes a function from the number of a step to its batch, and the order of the steps.
    """

    def __init__(self, row: Row, steps: int, optimizer: Any) -> None:
        import tensorflow as tf
        from tensorflow import keras

        self.row, self.steps = row, steps
        model = _model(row)
        loss_of = keras.losses.CategoricalCrossentropy()
        loss_metric, accuracy = keras.metrics.Mean(), keras.metrics.CategoricalAccuracy()
        if hasattr(optimizer, "build"):
            optimizer.build(model.trainable_variables)

        def step(inputs: Any, labels: Any) -> None:
            with tf.GradientTape() as tape:
                outputs = model(inputs, training=True)
                loss = loss_of(labels, outputs)
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
            loss_metric.update_state(loss)
            accuracy.update_state(labels, outputs)

        @tf.function(autograph=False, reduce_retracing=True)
        def epoch(batch: Callable[[Any], Any], order: Any = None) -> None:
            def body(number: Any) -> Any:
                step(*batch(number if order is None else order[number]))
                return number + 1

            tf.while_loop(lambda number: number < steps, body, [tf.constant(0)], parallel_iterations=1)

        self.epoch = epoch


def _loop_with_gather(training: _Training, x: Any, y: Any) -> Callable[[], Any]:
    """The batches are gathered from the whole data in the loop."""
    import tensorflow as tf

    whole = tf.constant(x), tf.constant(y)
    samples = len(x)

    def gathered(rows: Any) -> Any:
        return tf.gather(whole[0], rows), tf.gather(whole[1], rows)

    def shuffled() -> None:
        for _ in range(EPOCHS):
            order = tf.random.shuffle(tf.range(samples))
            training.epoch(gathered, tf.reshape(order, [training.steps, training.row.batch]))

    return shuffled


def _loop_over_dataset(training: _Training, x: Any, y: Any) -> Callable[[], Any]:
    """The batches come from a dataset."""
    import tensorflow as tf

    data = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(len(x))
    batches = data.batch(training.row.batch, drop_remainder=True)
    iterator = iter(batches.repeat().prefetch(tf.data.AUTOTUNE))

    def taken(_: Any) -> Any:
        return next(iterator)

    return lambda: [training.epoch(taken) for _ in range(EPOCHS)]
