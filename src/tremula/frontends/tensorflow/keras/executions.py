"""How the data of a model gets to its programs, execution by execution."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from tremula.frontends.tensorflow.feeds import checks
from tremula.frontends.tensorflow.feeds.iterators import IPUIterator
from tremula.frontends.tensorflow.keras.array_feed import ArrayFeed
from tremula.frontends.tensorflow.keras.data_handler import IPUDataHandler

_numbers = itertools.count()


class Execution:
    """The data of the current epoch: what Keras takes for an iterator and gives to the function of a model.

    Args:
        handler: knows where in the epoch Keras is.
        source: the data.
        replicas: how many replicas take it.
        steps: how many steps an execution makes.
    """

    def __init__(self, handler: IPUDataHandler, source: Any, replicas: int, steps: int) -> None:
        self._handler, self._source = handler, source
        self.replicas, self.steps = replicas, steps

    @property
    def first(self) -> int:
        """The number of its first step in the epoch."""
        return int(self._handler._current_step)

    @property
    def samples(self) -> int:
        """How many samples it takes."""
        return (self._handler.batch_size or 1) * self.steps * self.replicas

    def argument(self) -> Any:
        """The data for the next execution, as the program takes it."""
        return self._source.at(self.first) if isinstance(self._source, ArrayFeed) else self._source


class Feeds:
    """The infeed queues of a model. Queues for the same kind of data have one name, so that programs stay valid."""

    def __init__(self) -> None:
        self._names: dict[tuple[str, Any], str] = {}

    def epochs(
        self, handler: IPUDataHandler, mode: str, replicas: int, options: dict[str, Any]
    ) -> Iterator[tuple[int, Execution]]:
        """The epochs of a handler, each with its data."""
        with handler._truncate_execution_to_epoch():
            source: Any = handler.array_feed(replicas)
            steps = handler.steps_per_execution_value
            for epoch in range(handler._initial_epoch, handler._epochs):
                if handler._insufficient_data:
                    break
                if isinstance(source, ArrayFeed):
                    source.next_epoch()
                elif source is None or handler._adapter.should_recreate_iterator():
                    source = self._iterator(handler, mode, options)
                yield epoch, Execution(handler, source, replicas, steps)
                handler._adapter.on_epoch_end()

    def _iterator(self, handler: IPUDataHandler, mode: str, options: dict[str, Any]) -> IPUIterator:
        key = mode, repr(handler.element_spec)
        name = self._names.setdefault(key, f"keras_{mode}_{next(_numbers)}")
        flat = handler.dataset._flat_structure
        checks.check_elements(flat["output_types"], flat["output_shapes"], "infeed queue")
        return IPUIterator(dataset=handler.dataset, _internal_id=name, **options)
