"""The change to datasets: `iter(dataset)` in the scope of a strategy gives an iterator of the device."""

from __future__ import annotations

import functools
from typing import Any

from tensorflow.python.data.ops import dataset_ops
from tensorflow.python.distribute import distribute_lib


def install() -> None:
    """Let the strategy in scope make iterators."""
    stock = dataset_ops.DatasetV2.__iter__

    @functools.wraps(stock)
    def iterate(self: Any) -> Any:
        strategy = distribute_lib.get_strategy()
        if getattr(strategy, "_enable_dataset_iterators", bool)():
            return strategy._create_dataset_iterator(self)
        return stock(self)

    dataset_ops.DatasetV2.__iter__ = iterate
