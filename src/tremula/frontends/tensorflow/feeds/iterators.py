"""Iterators over datasets inside an `IPUStrategy`: `iter(dataset)` gives one, and only device programs advance it."""

from __future__ import annotations

import weakref
from typing import Any

import tensorflow.compat.v2 as tf
from tensorflow.python.data.ops import iterator_ops
from tensorflow.python.framework import type_spec
from tensorflow.python.ops import gen_resource_variable_ops

from tremula.frontends.tensorflow.feeds.infeed import IPUInfeedQueue


class IPUIterator(iterator_ops.OwnedIterator):
    """Iterates over a dataset on the device. Functions may take it as an argument.

    Args:
        dataset: the dataset; or, for an iterator that a function got as an argument:
        infeed_spec: the type of its queue.
        element_spec: the types of its elements.
        **kwargs: arguments of the `IPUInfeedQueue`.

    Raises:
        ValueError: both a dataset and specs are given, or not all that is needed.
    """

    def __init__(
        self, dataset: Any = None, infeed_spec: Any = None, element_spec: Any = None, **kwargs: Any
    ) -> None:
        if dataset is None:
            if infeed_spec is None or element_spec is None:
                raise ValueError("An IPUIterator needs a dataset, or both infeed_spec and element_spec.")
            self._infeed_queue = infeed_spec._from_components(())
            self._element_spec = element_spec
        else:
            if infeed_spec is not None or element_spec is not None:
                raise ValueError(
                    "An IPUIterator takes a dataset, or infeed_spec and element_spec, not all of them."
                )
            self._create_iterator(dataset, **kwargs)

    def _create_iterator(self, dataset: Any, **kwargs: Any) -> None:
        self._infeed_queue = IPUInfeedQueue(dataset, **kwargs)
        self._infeed_queue.initializer  # noqa: B018
        self._element_spec = dataset.element_spec

    def __iter__(self) -> IPUIterator:
        return self

    def next(self) -> Any:
        """The next element, inside a function."""
        return self.__next__()

    def __next__(self) -> Any:
        if tf.executing_eagerly():
            raise RuntimeError(
                "Accessing dataset elements eagerly is not possible inside an IPUStrategy: the device takes them. Use "
                "the iterator in a tf.function that runs on the IPU, or iterate outside of the strategy's scope."
            )
        return self._infeed_queue._dequeue()

    def get_next(self) -> Any:
        """The next element, inside a function."""
        return self.__next__()

    def get_next_as_optional(self) -> Any:
        """Refuse: the device has no optional values."""
        raise NotImplementedError(
            "get_next_as_optional: a device program has no optional elements; use get_next()."
        )

    @property
    def element_spec(self) -> Any:
        """The types of the elements."""
        return self._element_spec

    @property
    def infeed_spec(self) -> Any:
        """The type of the queue behind the iterator."""
        return self._infeed_queue._type_spec

    @property
    def _type_spec(self) -> Any:
        return IteratorSpec(self.infeed_spec, self._element_spec)

    def _gather_saveables_for_checkpoint(self) -> Any:
        raise NotImplementedError("The position of an IPUIterator cannot be saved in a checkpoint.")


class IPUOwnedIterator(IPUIterator):
    """An `IPUIterator` whose queue is deleted with it."""

    def _create_iterator(self, dataset: Any, **kwargs: Any) -> None:
        super()._create_iterator(dataset, **kwargs)
        weakref.finalize(self, _delete, self._infeed_queue)

    @property
    def _type_spec(self) -> Any:
        return OwnedIteratorSpec(self.infeed_spec, self._element_spec)


def _delete(queue: IPUInfeedQueue) -> None:
    with tf.init_scope():
        if tf.executing_eagerly():
            gen_resource_variable_ops.destroy_resource_op(queue._handle(), ignore_lookup_error=True)


class IteratorSpec(type_spec.TypeSpec):
    """The type of an iterator as a function's argument."""

    __slots__ = ("_element_spec", "_infeed_spec")

    def __init__(self, infeed_spec: Any, element_spec: Any) -> None:
        self._infeed_spec = infeed_spec
        self._element_spec = element_spec

    @property
    def value_type(self) -> type:
        return IPUIterator

    def _serialize(self) -> tuple[Any, ...]:
        return self._infeed_spec, self._element_spec

    @property
    def _component_specs(self) -> tuple[()]:
        return ()

    def _to_components(self, value: Any) -> tuple[()]:
        return ()

    def _from_components(self, components: Any) -> IPUIterator:
        return self.value_type(infeed_spec=self._infeed_spec, element_spec=self._element_spec)


class OwnedIteratorSpec(IteratorSpec):
    """The type of an owned iterator; inside a function it is not the owner."""

    @property
    def value_type(self) -> type:
        return IPUOwnedIterator

    def _from_components(self, components: Any) -> IPUIterator:
        return IPUIterator(infeed_spec=self._infeed_spec, element_spec=self._element_spec)
