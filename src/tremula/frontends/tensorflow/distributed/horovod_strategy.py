"""`IPUHorovodStrategy`: one replica in each process, whose gradients are reduced on the host.

`PopDistStrategy`, whose reductions are part of the program, has replaced it.
"""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v2 as tf
from tensorflow.python.distribute import values

from tremula import log
from tremula.frontends.tensorflow.distributed import horovod, host_collectives
from tremula.frontends.tensorflow.distributed.popdist_strategy import PopDistExtendedV1, PopDistStrategy
from tremula.frontends.tensorflow.strategy import IPUExtendedV1


class IPUHorovodStrategy(PopDistStrategy):
    """Runs functions on the devices of all processes; every reduction is one between the processes.

    Args:
        ipu_device: the device of variables and computations.
        variables_on_host: whether variables lie in the memory of the host; it changes nothing here.
    """

    def __init__(self, ipu_device: str = "/device:IPU:0", variables_on_host: bool = False) -> None:
        if variables_on_host:
            log.no_effect("IPUHorovodStrategy(variables_on_host=True)", "virtual IPUs have the host's memory")
        super().__init__(ipu_device)

    def _make_extended(self, ipu_device: str, cpu_device: str) -> IPUExtendedV1:
        return IPUHorovodExtended(self, ipu_device, cpu_device, True)


class IPUHorovodExtended(PopDistExtendedV1):
    """What the strategy does, for TensorFlow."""

    @property
    def _num_replicas_in_sync(self) -> int:
        return horovod.size()

    def _reduce_to(self, reduce_op: Any, value: Any, destinations: Any, options: Any) -> Any:
        if isinstance(value, values.DistributedValues):
            (value,) = value.values
        if isinstance(value, tf.IndexedSlices):
            mean = reduce_op == tf.distribute.ReduceOp.MEAN
            return horovod.allreduce(value, horovod.Average if mean else horovod.Sum)
        return host_collectives.allreduce(value, reduce_op)

    def _batch_reduce_to(self, reduce_op: Any, value_destination_pairs: Any, options: Any) -> Any:
        """The gradients of a step in one exchange for each type."""
        found = [value for value, _ in value_destination_pairs]
        results: list[Any] = [None] * len(found)
        dense: dict[Any, list[int]] = {}
        for position, value in enumerate(found):
            if isinstance(value, (values.DistributedValues, tf.IndexedSlices)):
                results[position] = self._reduce_to(reduce_op, value, None, options)
            else:
                dense.setdefault(value.dtype, []).append(position)
        for positions in dense.values():
            flat = tf.concat([tf.reshape(found[position], [-1]) for position in positions], 0)
            sizes = [tf.size(found[position]) for position in positions]
            parts = tf.split(host_collectives.allreduce(flat, reduce_op), tf.stack(sizes), num=len(positions))
            for position, part in zip(positions, parts, strict=True):
                results[position] = tf.reshape(part, tf.shape(found[position]))
                results[position].set_shape(found[position].shape)
        return results
