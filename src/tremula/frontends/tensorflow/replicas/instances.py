"""What a program exchanges with the other instances (processes) of its run.

A collective is first computed over the replicas of this process (`lowering.py`), then over the instances by an op of
the host. Instances must run these ops in one order, so each waits for the one before it. Sums of a graph that do not
depend on each other, such as the gradients of a step, travel together. torch, whose gloo group is used, is imported
when the first of these ops runs.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import tensorflow.compat.v2 as tf

from tremula.distributed import launch_environment
from tremula.errors import Error
from tremula.frontends.tensorflow.config import active
from tremula.frontends.tensorflow.static_shape import static_size


def several() -> bool:
    """Whether programs are run by several instances together, as they are configured now."""
    return active.process_count() > 1


def first_replica(local: int) -> int:
    """The number, in the whole run, of the first of `local` replicas of this instance."""
    return active.process_index() * local if several() else 0


class Exchange:
    """The exchanges of one program with the other instances.

    Args:
        local: how many replicas of it each instance runs.

    Raises:
        Error: the configuration names another number of processes than the launcher has started.
    """

    def __init__(self, local: int) -> None:
        self._local = local
        self._count = active.process_count()
        self._first = first_replica(local)
        #: the last exchange of each graph
        self._last: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
        _check_run(self._count)

    @property
    def replicas(self) -> int:
        """Of all instances."""
        return self._local * self._count

    def steps(self, graph: Any, together: Callable[[Any], bool]) -> Iterator[list[Any]]:
        """The ops of a graph in an order in which they can be copied; ops that go `together` are one step.

        An op is in stage n if n such ops are on the longest way to it. Those of one stage do not depend on each other,
        and come after all other ops of their stage.
        """
        stages: dict[Any, int] = {}
        joined: list[list[Any]] = []
        others: list[list[Any]] = []
        for op in graph.get_operations():
            before = [tensor.op for tensor in op.inputs] + list(op.control_inputs)
            stage = max((stages[b] + together(b) for b in before if b in stages), default=0)
            stages[op] = stage
            while len(others) <= stage:
                others.append([])
                joined.append([])
            (joined if together(op) else others)[stage].append(op)
        for alone, sums in zip(others, joined, strict=True):
            yield from ([op] for op in alone)
            if sums:
                yield sums

    @contextmanager
    def in_order(self) -> Iterator[list[Any]]:
        """What is made inside comes after the exchanges before it; put its ops into the list that this gives."""
        graph = tf.compat.v1.get_default_graph()
        made: list[Any] = []
        with tf.control_dependencies(self._last.get(graph, [])):
            yield made
        if made:
            self._last[graph] = made

    def reaches_over(self, group: int) -> bool:
        """Whether groups of so many replicas (0: all of them) have members in several instances."""
        return group == 0 or group > self._local

    def sums(self, tensors: Sequence[Any]) -> list[Any]:
        """The sum of each tensor over all instances."""
        from_host = self._host_op(_sums, tensors, [tensor.dtype for tensor in tensors], "instances_sum")
        for tensor, result in zip(tensors, from_host, strict=True):
            result.set_shape(tensor.shape)
        return from_host

    def gather(self, tensor: Any) -> Any:
        """The tensors of all instances, joined along the first dimension."""
        (result,) = self._host_op(_gathered, [tensor], [tensor.dtype], "instances_gather")
        length = static_size(tensor, 0)
        result.set_shape([None if length is None else length * self._count, *tensor.shape[1:]])
        return result

    def groups(self, copies: Sequence[Any], group: int, join: Callable[[list[Any]], Any]) -> list[Any]:
        """For each local replica, what `join` makes of the values of its group."""
        everywhere = tf.unstack(self.gather(tf.stack(list(copies))), num=self.replicas)
        joined = []
        for position in range(self._local):
            start = (self._first + position) // group * group
            joined.append(join(everywhere[start : start + group]))
        return joined

    def _host_op(
        self, function: Callable[..., Any], tensors: Sequence[Any], dtypes: Sequence[Any], name: str
    ) -> list[Any]:
        run = _Agreed(function, [f"{t.dtype.name} {t.shape}" for t in tensors], name)
        with self.in_order() as made, tf.device("/device:CPU:0"):
            results = tf.numpy_function(run, list(tensors), list(dtypes), name=name)
            made.append(results[0].op)
        return list(results)


class _Agreed:
    """A function of the host that all instances call; before the first call they compare what they call it with."""

    def __init__(self, function: Callable[..., Any], layout: list[str], name: str) -> None:
        self._function = function
        self._layout = layout
        self._agreed = False
        self.__name__ = name

    def __call__(self, *values: Any) -> Any:
        from tremula.distributed import arrays

        if not self._agreed:
            arrays.require_same({self.__name__: self._layout})
            self._agreed = True
        return self._function(*values)


def _sums(*values: Any) -> list[Any]:
    from tremula.distributed import arrays

    return arrays.sums(values)


def _gathered(value: Any) -> list[Any]:
    from tremula.distributed import arrays

    stacked = arrays.gathered(value)
    return [stacked.reshape(-1, *value.shape[1:])]


def _check_run(processes: int) -> None:
    started = launch_environment.instances()
    if processes != started:
        raise Error(
            f"The configuration says that {processes} processes run the program together "
            f"(experimental.multi_replica_distribution.process_count), but {started} "
            f"{'was' if started == 1 else 'were'} started. Start the program with poprun --num-instances {processes}, "
            "and let popdist.tensorflow.set_ipu_config(config) set the numbers."
        )
