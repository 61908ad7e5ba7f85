"""Infeed queues: a dataset that a loop on the device takes its elements from.

The queue is a named iterator resource. A program looks it up by name, so that it can be traced before the queue is
initialised, in eager mode and in sessions alike. Each replica takes the next element.
"""

from __future__ import annotations

import itertools
from typing import Any

import tensorflow.compat.v2 as tf
from tensorflow.python.data.util import structure
from tensorflow.python.framework import type_spec
from tensorflow.python.ops import gen_dataset_ops

from tremula.frontends.tensorflow import synthetic_data
from tremula.frontends.tensorflow.config import active
from tremula.frontends.tensorflow.feeds import checks
from tremula.frontends.tensorflow.replicas import context

#: elements that are fetched ahead, unless the program says otherwise
DEFAULT_DEPTH = 3
#: an op with this attribute belongs to a feed; the value says to which kind
FEED_ATTRIBUTE = "_tremula_feed"

_numbers = itertools.count()


class IPUInfeedQueue:
    """Gives the elements of a dataset to loops on the device.

    Args:
        dataset: what to take elements from; their shapes must be fully defined.
        device_ordinal: the device; by default that of the strategy in scope.
        prefetch_depth: how many elements are fetched ahead, 1 to 255; 3 by default.
        optimise_latency: recorded; transfers are not modelled packet by packet.

    Raises:
        ValueError: shapes that are not fully defined, or an argument out of range.
    """

    def __init__(
        self,
        dataset: Any,
        device_ordinal: int | None = None,
        prefetch_depth: int | None = None,
        optimise_latency: bool = False,
        **kwargs: Any,
    ) -> None:
        self._structure = tf.data.experimental.get_structure(dataset)
        flat = dataset._flat_structure
        for shape in flat["output_shapes"]:
            if not shape.is_fully_defined():
                raise ValueError(
                    f"Output shape {shape} is not fully defined. The device needs fixed shapes: with "
                    f"tf.data.Dataset.batch, set `drop_remainder=True`."
                )
        depth = DEFAULT_DEPTH if prefetch_depth is None else prefetch_depth
        if not 0 < depth < 256:
            bound = "less than 256" if depth > 0 else "greater than zero"
            raise ValueError(f"prefetch_depth must be {bound}, but it is {depth}")
        self._dataset = dataset
        self._flat_structure = flat
        self._device_ordinal = checks.device_ordinal(device_ordinal)
        self._prefetch_depth = depth
        self._optimise_latency = optimise_latency
        self._id = kwargs.get("_internal_id") or f"infeed_{next(_numbers)}"
        self._dequeued = self._initialized = self._from_spec = False
        self._init_op: Any = None
        self._deleter: Any = None
        if not tf.executing_eagerly():
            # an estimator finalises the graph before it asks for these
            self._init_op = self._initialise()
            self._deleter = self._delete()

    def _handle(self) -> Any:
        with tf.device("/device:CPU:0"):
            return gen_dataset_ops.iterator_v2(
                shared_name=f"Infeed with id={self._id}", container="", **self._flat_structure
            )

    def _start(self, dataset: Any) -> Any:
        with tf.device("/device:CPU:0"):
            prefetched = dataset.prefetch(self._prefetch_depth)._apply_debug_options()
            return gen_dataset_ops.make_iterator(prefetched._variant_tensor, self._handle())

    def _initialise(self) -> Any:
        return self._start(self._dataset)

    def _delete(self) -> Any:
        # TensorFlow finds a destroyed iterator never again by its name; an empty one can be started anew
        return self._start(self._dataset.take(0))

    def _dequeue(self) -> Any:
        """The next element, inside a program."""
        context.note_infeed(self._id)
        if active.use_synthetic_data("infeed"):
            self._dequeued = True
            return synthetic_data.like(self._structure)
        elements = gen_dataset_ops.iterator_get_next(self._handle(), **self._flat_structure)
        self._dequeued = True
        return structure.from_tensor_list(self._structure, elements)

    @property
    def dequeued(self) -> bool:
        """Whether a loop takes elements from this queue."""
        return self._dequeued

    @property
    def number_of_tuple_elements(self) -> int:
        """How many arguments a loop body gets from this queue."""
        args, kwargs = body_arguments(self._structure)
        return len(args) + len(kwargs)

    @property
    def initializer(self) -> Any:
        """The operation that starts the queue from the first element. In a graph, it can be read once."""
        if self._from_spec:
            raise RuntimeError(
                "An IPUInfeedQueue created from a spec is already initialised by the original queue."
            )
        checks.check_elements(
            self._flat_structure["output_types"], self._flat_structure["output_shapes"], "infeed queue"
        )
        if tf.executing_eagerly():
            self._initialized = True
            return self._initialise()
        if self._initialized:
            raise ValueError("The IPUInfeedQueue `initializer` function can only be accessed once.")
        self._initialized = True
        return self._init_op

    @property
    def deleter(self) -> Any:
        """The operation that deletes the queue."""
        if self._from_spec:
            raise RuntimeError("An IPUInfeedQueue created from a spec is deleted by the original queue.")
        return self._delete() if tf.executing_eagerly() else self._deleter

    def get_next(self) -> Any:
        """Refuse: a loop takes the elements."""
        raise ValueError(
            "`get_next()` is not available: a loop takes the elements of its IPUInfeedQueue by itself."
        )

    @property
    def _type_spec(self) -> Any:
        if not self._initialized:
            raise RuntimeError(
                "Spec for IPUInfeedQueue: the queue must be initialised before a function takes it."
            )
        return InfeedSpec(*(getattr(self, name) for name in InfeedSpec.FIELDS))

    @classmethod
    def _from_type_spec(cls, spec: InfeedSpec) -> IPUInfeedQueue:
        queue = cls.__new__(cls)
        for name in (*InfeedSpec.FIELDS, "_flat_structure"):
            setattr(queue, name, getattr(spec, name))
        queue._initialized = queue._dequeued = queue._from_spec = True
        return queue


class InfeedSpec(type_spec.TypeSpec):
    """The type of an infeed queue as a function's argument: it names the queue and has no components."""

    FIELDS = ("_id", "_structure", "_device_ordinal", "_prefetch_depth", "_optimise_latency")
    __slots__ = (*FIELDS, "_flat_structure")

    def __init__(self, *fields: Any) -> None:
        for name, value in zip(self.FIELDS, fields, strict=True):
            setattr(self, name, value)
        self._flat_structure = {
            "output_types": structure.get_flat_tensor_types(self._structure),
            "output_shapes": structure.get_flat_tensor_shapes(self._structure),
        }

    @property
    def value_type(self) -> type:
        return IPUInfeedQueue

    def _serialize(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self.FIELDS)

    @property
    def _component_specs(self) -> tuple[()]:
        return ()

    def _to_components(self, value: Any) -> tuple[()]:
        return ()

    def _from_components(self, components: Any) -> IPUInfeedQueue:
        return IPUInfeedQueue._from_type_spec(self)


def body_arguments(elements: Any) -> tuple[list[Any], dict[str, Any]]:
    """The positional and named arguments that a loop body gets for the elements of a queue."""
    values = list(elements) if isinstance(elements, (list, tuple)) else [elements]
    if len(values) == 1 and isinstance(values[0], dict) and all(isinstance(key, str) for key in values[0]):
        return [], values[0]
    return values, {}
