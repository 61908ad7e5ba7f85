"""N processes that train a Keras model together, beside one process that does the same work alone.

The model is the program's own, with its optimizer and the weights of process 0. Each of the N x A micro-batches of an
update is noise of its own; whole numbers are zeros. Two things are asked. After some steps, do all processes have the
same weights, bit for bit? And is the gradient that N processes with accumulation A sum up that of one with N x A?
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow.compat.v2 as tf
from tensorflow.python.distribute import distribute_lib

from tremula.distributed import arrays
from tremula.distributed.host_run import HostRun, Outcome
from tremula.frontends.tensorflow.keras import training_step
from tremula.frontends.tensorflow.pipeline import accumulate
from tremula.frontends.tensorflow.replicas import context

Array = npt.NDArray[Any]
#: difference of summed gradients, over their size, that sums in another order may make, by type of the weights
TOLERANCES = {"float32": 1e-4, "float16": 2e-2}


def train_together(
    model: Any, specs: Any, accumulation: int, random: bool, instance: int, instances: int, steps: int
) -> HostRun | None:
    """Train in this process and the others; what came of it, in instance 0.

    Args:
        model: a compiled Keras model.
        specs: the types of a micro-batch.
        accumulation: micro-batches of an update, in each process.
        random: whether the model draws random numbers.
        instance, instances: which process this is, and how many there are.
        steps: weight updates, two at least: the first is not timed.
    """
    if instances > 1:
        # each process has initialised the model by itself; training begins with the weights of one of them
        for variable in model.variables:
            variable.assign(arrays.gathered(variable.numpy())[0])
    training = _Training(model, specs)
    start = training.weights()
    batches = [_noise(specs, number) for number in range(instances * accumulation)]
    mine = batches[instance * accumulation : (instance + 1) * accumulation]
    began = 0.0
    for step in range(steps):
        if step == 1:
            began = time.perf_counter()
        training.apply(_summed(training.gradient(mine), instances))
    seconds = (time.perf_counter() - began) / (steps - 1)
    trained = training.weights()
    spread = _spread(trained, instances)
    size = difference = None
    if instances > 1 and not random:
        training.set_weights(start)
        summed = _summed(training.gradient(mine), instances)
        if instance == 0:
            alone = training.gradient(batches)
            size = _length(alone)
            difference = _length([one - other for one, other in zip(summed, alone, strict=True)])
    if instance:
        return None
    first = trained[0].dtype.name if trained else "float32"
    outcome = Outcome(
        seconds_per_step=seconds,
        spread=spread,
        random=random,
        alike=not any(spec.dtype.is_floating for spec in tf.nest.flatten(specs)),
        size=size,
        difference=difference,
        tolerance=TOLERANCES.get(first, max(TOLERANCES.values())),
    )
    samples = next((int(spec.shape[0]) for spec in tf.nest.flatten(specs) if spec.shape.rank), 1)
    return outcome.judged(instances, steps, samples * accumulation * instances, replicas=1)


class _Training:
    """One model's gradients and updates, each as a function that is traced once."""

    def __init__(self, model: Any, specs: Any) -> None:
        self._model, self._specs = model, specs
        self._variables = model.trainable_variables
        self._gradient = tf.function(self._one, autograph=False)
        self._apply = tf.function(self._update, autograph=False)

    def gradient(self, batches: Sequence[Any]) -> list[Array]:
        """The sum over some micro-batches."""
        total: list[Array] = []
        for batch in batches:
            found = [each.numpy() for each in self._gradient(*tf.nest.flatten(batch))]
            total = [one + other for one, other in zip(total, found, strict=True)] if total else found
        return total

    def apply(self, gradients: Sequence[Array]) -> None:
        """One update of the weights."""
        self._apply([tf.constant(each) for each in gradients])

    def weights(self) -> list[Array]:
        """As they are now."""
        return [variable.numpy().copy() for variable in self._variables]

    def set_weights(self, weights: Sequence[Array]) -> None:
        """Replace them."""
        for variable, value in zip(self._variables, weights, strict=True):
            variable.assign(value)

    def _one(self, *flat: Any) -> list[Any]:
        model = self._model
        x, y, weight = training_step.unpacked(tf.nest.pack_sequence_as(self._specs, list(flat)))
        with self._on_one_replica():
            with tf.GradientTape() as tape:
                loss = model.compute_loss(x, y, training_step.forward(model, x, training=True), weight)
            found = tape.gradient(loss, self._variables)
        dense = [accumulate.dense(each) for each in found]
        return [
            tf.zeros(variable.shape, variable.dtype) if each is None else each
            for each, variable in zip(dense, self._variables, strict=True)
        ]

    def _update(self, gradients: list[Any]) -> None:
        with self._on_one_replica():
            self._model.optimizer.apply_gradients(zip(gradients, self._variables, strict=True))

    @contextmanager
    def _on_one_replica(self) -> Iterator[None]:
        """While functions of the model are traced."""
        replica = distribute_lib.ReplicaContext(self._model.distribute_strategy, replica_id_in_sync_group=0)
        with context.program(1, 0, exact=True), replica:
            yield


def _noise(specs: Any, number: int) -> Any:
    generator = np.random.default_rng(number)

    def one(spec: Any) -> Any:
        if not spec.dtype.is_floating:
            return tf.zeros(spec.shape, spec.dtype)
        return tf.constant(generator.random(spec.shape.as_list()), spec.dtype)

    return tf.nest.map_structure(one, specs)


def _summed(gradients: list[Array], instances: int) -> list[Array]:
    return gradients if instances == 1 else arrays.sums(gradients)


def _spread(weights: Sequence[Array], instances: int) -> float:
    """The largest difference between any two processes' weights; 0.0: the same bits."""
    if instances == 1:
        return 0.0
    largest = 0.0
    for weight in weights:
        first, *others = arrays.gathered(weight)
        for other in others:
            if first.tobytes() != other.tobytes():
                largest = max(largest, float(np.max(np.abs(first.astype(np.float64) - other))))
    return largest


def _length(parts: Sequence[Array]) -> float:
    return float(sum(float((part.astype(np.float64) ** 2).sum()) for part in parts) ** 0.5)
