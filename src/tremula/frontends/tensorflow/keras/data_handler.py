"""The data of `fit`, `evaluate` and `predict` on the device: how many steps it makes, and what cannot be fed.

A device program has fixed shapes and a fixed number of steps, so data has to be full batches of known shapes. Batches
go round the replicas: with R replicas, step s takes batches s * R to s * R + R - 1, and what is left over is dropped.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator
from typing import Any

import tensorflow.compat.v2 as tf

from tremula import log
from tremula.frontends.tensorflow.keras.array_adapter import ArrayAdapter
from tremula.frontends.tensorflow.keras.array_feed import ArrayFeed
from tremula.frontends.tensorflow.keras.user_errors import at_line
from tremula.frontends.tensorflow.stock_keras import internal

_base_layer_utils = internal("engine.base_layer_utils")
_data_adapter = internal("engine.data_adapter")


class IPUDataHandler(_data_adapter.DataHandler):  # type: ignore[misc, name-defined]
    """Gives the data of epochs to the device.

    Args:
        replication_factor: the number of replicas; None if it is not known yet: then call `set_replication_factor`.
        The others: see `Model.fit`.

    Raises:
        ValueError: the data cannot be fed to a device program.
    """

    def __init__(
        self,
        x: Any,
        y: Any = None,
        sample_weight: Any = None,
        batch_size: int | None = None,
        steps_per_epoch: int | None = None,
        initial_epoch: int = 0,
        epochs: int = 1,
        shuffle: Any = False,
        class_weight: Any = None,
        max_queue_size: int = 10,
        workers: int = 1,
        use_multiprocessing: bool = False,
        model: Any = None,
        steps_per_execution: Any = None,
        replication_factor: int | None = 1,
        **_: Any,
    ) -> None:
        _refuse_generators(x, y)
        if steps_per_epoch == 0:
            raise ValueError(
                at_line("`steps_per_epoch` is 0: give a positive number of steps, or leave it out.")
            )
        self._initial_epoch, self._initial_step, self._epochs = initial_epoch, 0, epochs
        self._insufficient_data = False
        self._model = model
        self._steps_per_epoch = steps_per_epoch
        self._steps_per_execution = tf.Variable(1) if steps_per_execution is None else steps_per_execution
        chosen = _data_adapter.select_data_adapter(x, y)
        if chosen is _data_adapter.TensorLikeDataAdapter:
            chosen = ArrayAdapter
        self._adapter = chosen(
            x,
            y,
            batch_size=batch_size,
            steps=steps_per_epoch,
            epochs=epochs - initial_epoch,
            sample_weights=sample_weight,
            shuffle=shuffle,
            max_queue_size=max_queue_size,
            workers=workers,
            use_multiprocessing=use_multiprocessing,
            distribution_strategy=tf.distribute.get_strategy(),
            model=model,
        )
        self._class_weight = class_weight
        self._made_dataset: Any = None
        self._refuse_partial_batches()
        if not self._is_array():
            self._made_dataset = self._prepared(self._adapter.get_dataset())
        self._current_step = 0
        self._step_increment = self.steps_per_execution_value - 1
        self._inferred_steps: int | None = None
        self._replication_factor: int | None = None
        if replication_factor is not None:
            self.set_replication_factor(replication_factor)

    def set_replication_factor(self, value: int) -> None:
        """Say how many replicas there are.

        Raises:
            ValueError: there is too little data, or its steps cannot be divided into executions.
        """
        self._replication_factor = value
        self._inferred_steps = self._infer_steps(self._steps_per_epoch, None)
        self._check_dataset()
        self._validate_data_handler()

    @property
    def steps_per_execution_value(self) -> int:
        """How many steps one run of the program makes."""
        return int(self._steps_per_execution.numpy())

    @property
    def element_spec(self) -> Any:
        """The types of a batch."""
        if self._is_array():
            return tf.nest.map_structure(_single_precision_spec, self._adapter.element_spec())
        return self._dataset.element_spec

    @property
    def batch_size(self) -> int | None:
        """How many samples a batch has; None if that cannot be said."""
        size = self._adapter.batch_size()
        if size is None:
            shapes = [spec.shape for spec in tf.nest.flatten(self.element_spec)]
            size = shapes[0][0] if shapes and shapes[0].rank else None
        return size

    @property
    def dataset(self) -> Any:
        """The batches."""
        return self._dataset

    @property
    def _dataset(self) -> Any:
        if self._made_dataset is None:
            self._made_dataset = self._prepared(self._adapter.get_dataset())
        return self._made_dataset

    def _is_array(self) -> bool:
        """Whether the data is arrays that go to the device as they are."""
        adapter = self._adapter
        return isinstance(adapter, ArrayAdapter) and not self._class_weight and adapter.shuffle != "batch"

    def array_feed(self, replicas: int) -> ArrayFeed | None:
        """A feed of the arrays as they are; None if the data is not arrays or is changed on its way."""
        adapter = self._adapter
        if not self._is_array():
            return None
        whole = self._inferred_steps == adapter.full_batches // replicas
        if not whole and self._epochs - self._initial_epoch > 1:
            # the next epoch goes on where the last one ended
            return None
        samples = tf.nest.map_structure(_single_precision, adapter.samples)
        return ArrayFeed(samples, adapter.batch_size(), adapter.full_batches, bool(adapter.shuffle))

    def enumerate_epochs(self) -> Iterator[tuple[int, Any]]:
        """The epochs, each with what gives its data: to the model's programs, or without a model an iterator."""
        on_device = getattr(self._model, "_epochs", None)
        return super().enumerate_epochs() if on_device is None else on_device(self)

    def _prepared(self, dataset: Any) -> Any:
        if self._class_weight:
            dataset = dataset.map(_data_adapter._make_class_weight_map_fn(self._class_weight))
        return _without_double_precision(dataset)

    def _refuse_partial_batches(self) -> None:
        if self._adapter.has_partial_batch():
            raise ValueError(
                at_line(
                    f"The provided set of data has a partial batch: its samples are not a multiple of the batch size, "
                    f"{self._adapter.batch_size()}, and device programs have one batch size. Change `batch_size`, or "
                    f"leave the last samples out or pad them."
                )
            )

    def _infer_steps(self, steps: int | None, dataset: Any) -> int:
        replicas = self._replication_factor or 1
        found = self._batches(steps)
        if found is None:
            raise ValueError(
                at_line(
                    "Could not infer the size of the data: say how many steps to run with `steps_per_epoch`, or "
                    "`steps` in evaluate and predict."
                )
            )
        left_over = found % replicas
        if left_over and found > replicas and (self._is_array() or self._size() >= 0):
            log.warn_once(
                f"dropped batches {found} {replicas}",
                f"{found} batches are divided among {replicas} replicas; the remaining {left_over} will be dropped.",
            )
        return int(found // replicas)

    def _batches(self, steps: int | None) -> int | None:
        """How many batches an epoch has; None if that is not known."""
        found = super()._infer_steps(steps, None if self._is_array() else self._dataset)
        return None if found is None else int(found)

    def _size(self) -> int:
        """How many batches there are for all epochs; negative if that is not known."""
        if self._is_array():
            return int(self._adapter.get_size()) * (self._epochs - self._initial_epoch)
        return int(tf.data.experimental.cardinality(self._dataset))

    def _check_dataset(self) -> None:
        size = self._size()
        if size >= 0:
            epochs = 1 if self._adapter.should_recreate_iterator() else self._epochs - self._initial_epoch
            # a step takes a batch for each replica
            needed = epochs * (self._inferred_steps or 0) * (self._replication_factor or 1)
            if needed > size:
                raise ValueError(
                    at_line(
                        f"Your input does not have enough data. Make sure that your dataset or generator can generate "
                        f"at least {needed} batches (currently it can only generate {size} batches): use `repeat()`, "
                        f"or fewer steps."
                    )
                )
        for spec in tf.nest.flatten(self.element_spec):
            if not spec.shape.is_fully_defined():
                raise ValueError(
                    at_line(
                        f"The provided set of data contains a shape {spec.shape} which is not fully defined, and "
                        f"device programs have fixed shapes. With `dataset.batch`, set `drop_remainder=True`; "
                        f"elsewhere use `tf.ensure_shape`."
                    )
                )

    def _validate_data_handler(self) -> None:
        replicas, steps = self._replication_factor or 1, self._inferred_steps
        whose = " to this replica" if replicas > 1 else ""
        if steps is None:
            return
        if steps == 0:
            if self._adapter.get_size() == 0:
                raise TypeError(at_line("There is no data, so the dataset length is unknown."))
            found = self._batches(self._steps_per_epoch) or 0
            each = math.ceil(found / replicas) or 1
            raise ValueError(
                at_line(
                    f"The provided dataset contains {found} items, but all {replicas} replicas are requested to run "
                    f"{each} steps each. Make sure the dataset contains at least {each * replicas} items."
                )
            )
        if self.steps_per_execution_value > steps:
            log.layer("tremula").warning(
                "`steps_per_execution` is %d, but the data provided%s has %d batches: %d steps are run at once.",
                self.steps_per_execution_value, whose, steps, steps,
            )  # fmt: skip
        elif steps % self.steps_per_execution_value:
            raise ValueError(
                at_line(
                    f"`steps_per_execution` ({self.steps_per_execution_value}) must be a divisor of the number of "
                    f"batches ({steps}) in the dataset provided{whose}. Change it in "
                    f"`compile`, or the number of samples or steps."
                )
            )


def _refuse_generators(x: Any, y: Any) -> None:
    adapter = _data_adapter.select_data_adapter(x, y)
    if not issubclass(adapter, _data_adapter.GeneratorDataAdapter):
        return
    hint = "use `tf.data.Dataset.from_generator()` to specify the shape of your data."
    if isinstance(x, Iterator) and not isinstance(x, Generator):
        hint = (
            "wrap your iterator inside a generator like so:\n\ndef generator:\n    while True:\n"
            "        yield next(iterator)\n\nand " + hint
        )
    raise ValueError(
        at_line(
            f"The data is a {type(x).__name__}, whose shapes are not known before it runs, and device programs have "
            f"fixed shapes. Please {hint}"
        )
    )


def _single_precision(tensor: Any) -> Any:
    tensor = tf.convert_to_tensor(tensor)
    cast = tensor.dtype == tf.float64 and _base_layer_utils.v2_dtype_behavior_enabled()
    return tf.cast(tensor, tf.float32) if cast else tensor


def _single_precision_spec(spec: Any) -> Any:
    cast = spec.dtype == tf.float64 and _base_layer_utils.v2_dtype_behavior_enabled()
    return tf.TensorSpec(spec.shape, tf.float32 if cast else spec.dtype)


def _without_double_precision(dataset: Any) -> Any:
    """The dataset with float32 for float64, which the device does not have."""
    if all(spec.dtype != tf.float64 for spec in tf.nest.flatten(dataset.element_spec)):
        return dataset

    def cast(*elements: Any) -> Any:
        mapped = tf.nest.map_structure(_single_precision, elements)
        return mapped if isinstance(dataset.element_spec, tuple) else mapped[0]

    return dataset.map(cast)
