"""The interface of Horovod that IPU programs for TensorFlow use, over the processes that poprun has started.

Horovod itself is not needed. Values travel as those of `host_collectives.py` do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v2 as tf

from tremula.distributed import launch_environment, protocol
from tremula.errors import Error
from tremula.frontends.tensorflow.distributed import host_collectives
from tremula.frontends.tensorflow.distributed.popdist_strategy import meet

#: how values are combined, by Horovod's numbers
Average, Sum, Adasum = 0, 1, 2

_initialised = False


def init(comm: Sequence[int] | None = None) -> None:
    """Wait until all processes of the run are here.

    Args:
        comm: the ranks that take part; all of them, if it is empty.

    Raises:
        Error: some ranks only, or a process did not come in time.
    """
    global _initialised
    if comm and sorted(comm) != list(range(launch_environment.instances())):
        raise Error(
            f"hvd.init(comm={list(comm)!r}): all {launch_environment.instances()} processes of the run take part here. "
            "Leave the argument out."
        )
    meet()
    _initialised = True


def shutdown() -> None:
    """The opposite of `init`."""
    global _initialised
    _initialised = False


def _require_init() -> None:
    if not _initialised:
        raise ValueError("Horovod has not been initialized; use hvd.init().")


def size() -> int:
    """The number of processes."""
    _require_init()
    return launch_environment.instances()


def local_size() -> int:
    """The number of processes on this host."""
    _require_init()
    return launch_environment.number(protocol.MPI_LOCAL_SIZE, launch_environment.instances())


def rank() -> int:
    """The number of this process."""
    _require_init()
    return launch_environment.instance()


def local_rank() -> int:
    """The number of this process among those on its host."""
    _require_init()
    return launch_environment.local_instance()


def is_homogeneous() -> bool:
    """Whether all hosts have as many processes: poprun divides them evenly."""
    return True


def mpi_threads_supported() -> bool:
    """Whether threads may exchange values: yes."""
    _require_init()
    return True


def mpi_enabled() -> bool:
    """Yes, as in the original build, whose programs may ask; values really travel over torch's gloo group."""
    return True


def mpi_built() -> bool:
    """See `mpi_enabled`."""
    return True


def gloo_enabled() -> bool:
    """No: see `mpi_enabled`."""
    return False


def gloo_built() -> bool:
    """No: see `mpi_enabled`."""
    return False


def nccl_built() -> bool:
    """Whether GPUs exchange values: no."""
    return False


def ddl_built() -> bool:
    """Whether IBM's library is there: no."""
    return False


def allreduce(tensor: Any, op: int | None = None) -> Any:
    """The mean (the default) or sum of a tensor over all processes.

    Args:
        tensor: a tensor or variable of one shape on all processes, or `tf.IndexedSlices`.
        op: `Average` or `Sum`.

    Raises:
        NotImplementedError: `Adasum`.
    """
    if op == Adasum:
        raise NotImplementedError("The Adasum reduction is not implemented. Use hvd.Sum or hvd.Average.")
    count = launch_environment.instances()
    mean = op is None or op == Average
    if isinstance(tensor, tf.IndexedSlices):
        values = allgather(tensor.values)
        values = values / tf.cast(count, values.dtype) if mean else values
        return tf.IndexedSlices(values, allgather(tensor.indices), tensor.dense_shape)
    tensor = tf.convert_to_tensor(tensor)
    total = host_collectives.exchange(tensor, _name("HorovodAllreduce", tensor, None), "sum", tensor.shape)
    return total / tf.cast(count, total.dtype) if mean else total


def allgather(tensor: Any, name: str | None = None) -> Any:
    """The tensors of all processes, joined along the first dimension, in which they may differ."""
    tensor = tf.convert_to_tensor(tensor)
    name = _name("HorovodAllgather", tensor, name)
    return host_collectives.exchange(tensor, name, "concatenate", [None, *tensor.shape[1:]])


def broadcast(tensor: Any, root_rank: int, name: str | None = None) -> Any:
    """The tensor of one process, on all of them."""
    tensor = tf.convert_to_tensor(tensor)
    name = _name("HorovodBroadcast", tensor, name)
    return host_collectives.exchange(tensor, name, "broadcast", tensor.shape, root_rank)


def _name(operation: str, tensor: Any, given: str | None) -> str:
    if given is not None or tf.executing_eagerly():
        return given or operation
    return host_collectives.normalized(operation, tensor)
