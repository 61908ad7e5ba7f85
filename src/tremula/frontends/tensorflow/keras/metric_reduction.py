"""How the metrics of several replicas become what Keras shows.

Each replica has metrics of its own, over the batches that it got.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.replicas import collectives, context


class ReplicatedMetricReductionMethod(Enum):
    """What is shown for a metric of several replicas.

    Attributes:
        NONE: the value of the last replica.
        LIST: the values of all replicas.
        SUM: their sum.
        MEAN: their mean.
    """

    NONE = 1
    LIST = 2
    SUM = 3
    MEAN = 4

    @classmethod
    def parse(cls, value: Any) -> ReplicatedMetricReductionMethod:
        """The method of this name, in upper or lower case; a method itself is given back.

        Raises:
            ValueError: there is no such method.
        """
        if isinstance(value, cls):
            return value
        if isinstance(value, str) and value.upper() in cls.__members__:
            return cls[value.upper()]
        raise ValueError(
            f"Cannot parse {value} as a ReplicatedMetricReductionMethod. There are: {', '.join(cls.__members__)}."
        )


def reduced(values: Any, method: ReplicatedMetricReductionMethod) -> Any:
    """A structure of the metrics of this replica as what is shown, inside a program."""
    if context.replica_count() == 1:
        return values

    def one(value: Any) -> Any:
        # what Keras shows is of this instance
        gathered = collectives.gather(tf.convert_to_tensor(value), context.replica_count())
        if method is ReplicatedMetricReductionMethod.NONE:
            return gathered[-1]
        if method is ReplicatedMetricReductionMethod.LIST:
            return gathered
        if method is ReplicatedMetricReductionMethod.SUM:
            return tf.reduce_sum(gathered, 0)
        return tf.reduce_mean(gathered, 0)

    return tf.nest.map_structure(one, values)
