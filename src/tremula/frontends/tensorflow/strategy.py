"""`IPUStrategy`: the scope in which variables are on the device and functions run there.

Replicas are not those of `tf.distribute`, of which the strategy has one. How many there are follows from the IPUs that
are configured (`replicas/`).
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import tensorflow.compat.v2 as tf
from tensorflow.python.distribute import device_util, distribute_lib, input_lib, reduce_util
from tensorflow.python.framework import device as tf_device
from tensorflow.python.trackable import base as trackable

from tremula.frontends.tensorflow import hooks
from tremula.frontends.tensorflow.keras.registry import KerasExtensions
from tremula.frontends.tensorflow.replicas import collectives, context, instances
from tremula.frontends.tensorflow.replicas.program import DeviceFunction
from tremula.trace import channels
from tremula.trace.points import Span

_channel = channels.channel("TensorFlow")


class IPUStrategyV1(distribute_lib.StrategyV1, KerasExtensions):
    """Runs functions and Keras models on a (virtual) IPU device.

    Args:
        ipu_device: the device of variables and computations.
        cpu_device: where initial values are computed.
        enable_dataset_iterators: whether `iter(dataset)` gives iterators that the device advances.
        enable_keras_extensions: whether Keras models made in the scope get the options and loops of the device.
    """

    def __init__(
        self,
        ipu_device: str = "/device:IPU:0",
        cpu_device: str = "/device:CPU:0",
        enable_dataset_iterators: bool = True,
        enable_keras_extensions: bool = True,
    ) -> None:
        hooks.apply(with_strategy=True)
        super().__init__(self._make_extended(ipu_device, cpu_device))
        KerasExtensions.__init__(self, enable_dataset_iterators, enable_keras_extensions)

    def _make_extended(self, ipu_device: str, cpu_device: str) -> IPUExtendedV1:
        return IPUExtendedV1(self, ipu_device, cpu_device)

    def run(self, fn: Callable[..., Any], args: Any = (), kwargs: Any = None, options: Any = None) -> Any:
        """Run `fn` on the device; the results are those of its first replica.

        Args:
            fn: a `tf.function`; inside one, any function.
            args: its positional arguments.
            kwargs: its named arguments.
            options: `tf.distribute.RunOptions`.

        Raises:
            ValueError: a plain Python function in eager mode.
            TypeError: an argument or result of type float64.
        """
        if tf.executing_eagerly() and _python_function(fn) is None:
            raise ValueError(
                f"IPUStrategyV1.run(fn, ...) does not support eager execution, and {getattr(fn, '__name__', fn)!r} is "
                f"a plain Python function. Decorate it with @tf.function, or call strategy.run inside a tf.function."
            )
        with Span(_channel, f"{type(self).__name__}.run"):
            return super().run(fn, args, kwargs, options)

    def experimental_run_v2(self, *args: Any, **kwargs: Any) -> Any:
        """Refuse: it is `run` now."""
        raise RuntimeError("`experimental_run_v2` has been deleted. Use `run` instead.")

    @property
    def _device_ordinal(self) -> int:
        return tf_device.DeviceSpec.from_string(self.extended.non_slot_devices(None)).device_index or 0

    @property
    def supports_loss_scaling(self) -> bool:
        """Whether Keras may scale the loss of half-precision models."""
        return True


class IPUExtendedV1(distribute_lib.StrategyExtendedV1):
    """What the strategy does, for TensorFlow."""

    def __init__(self, container_strategy: Any, ipu_device: str, cpu_device: str) -> None:
        super().__init__(container_strategy)
        self._ipu_device = ipu_device
        self._cpu_device = cpu_device
        self._input_workers = input_lib.InputWorkers([("", [cpu_device])])
        #: programs of functions that were run
        self._programs: weakref.WeakKeyDictionary[Any, DeviceFunction] = weakref.WeakKeyDictionary()

    def _create_variable(self, next_creator: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        kwargs["initial_value"] = initial_value(
            self._cpu_device, kwargs["initial_value"], kwargs.get("dtype")
        )
        with tf.device(self._ipu_device):
            return next_creator(*args, **kwargs)

    def _local_results(self, distributed_value: Any) -> tuple[Any, ...]:
        return (distributed_value,)

    def value_container(self, value: Any) -> Any:
        """The variable itself."""
        return value

    def _call_for_each_replica(self, fn: Any, args: Any, kwargs: Any) -> Any:
        program = self._program(fn)
        replica = distribute_lib.ReplicaContext(self._container_strategy(), replica_id_in_sync_group=0)
        with replica, tf.device(self._ipu_device):
            if context.in_program():
                return fn(*args, **kwargs)
            if not tf.executing_eagerly() and program.replicas == 1 and not instances.several():
                return program.inline(*args, **kwargs)
            return program(*args, **kwargs)

    def _program(self, fn: Any) -> DeviceFunction:
        try:
            known = self._programs.get(fn)
        except TypeError:
            return self._new_program(fn)
        if known is None:
            known = self._programs[fn] = self._new_program(fn)
        return known

    def _new_program(self, fn: Any) -> DeviceFunction:
        return DeviceFunction(
            _python_function(fn) or fn,
            ordinal=self._container_strategy()._device_ordinal,
            label=getattr(fn, "__name__", "strategy.run"),
        )

    def _reduce_to(self, reduce_op: Any, value: Any, destinations: Any, options: Any) -> Any:
        current = tf_device.DeviceSpec.from_string(device_util.current())
        if current.device_type != "IPU":
            return value
        if context.alone() and reduce_op in (reduce_util.ReduceOp.SUM, reduce_util.ReduceOp.MEAN):
            return tf.convert_to_tensor(value)
        if reduce_op == reduce_util.ReduceOp.SUM:
            return collectives.cross_replica_sum(value)
        if reduce_op == reduce_util.ReduceOp.MEAN:
            return collectives.cross_replica_mean(value)
        raise ValueError(f"Unsupported reduce op: {reduce_op}. Replicas reduce by SUM or MEAN.")

    def _update(self, var: Any, fn: Any, args: Any, kwargs: Any, group: bool) -> Any:
        return self._update_non_slot(var, fn, (var, *args), kwargs, group)

    def _update_non_slot(self, colocate_with: Any, fn: Any, args: Any, kwargs: Any, group: bool) -> Any:
        with distribute_lib.UpdateContext(colocate_with):
            result = fn(*args, **kwargs)
        return result if group else tf.nest.map_structure(self._local_results, result)

    @property
    def _num_replicas_in_sync(self) -> int:
        return 1

    def _in_multi_worker_mode(self) -> bool:
        return False

    def _global_batch_size(self) -> bool:
        return True

    def _make_input_fn_iterator(
        self, input_fn: Any, replication_mode: Any = distribute_lib.InputReplicationMode.PER_WORKER
    ) -> Any:
        return input_lib.InputFunctionIterator(
            input_fn, self._input_workers, [distribute_lib.InputContext()], self._container_strategy()
        )

    def _experimental_distribute_dataset(self, dataset: Any, options: Any) -> Any:
        return dataset

    def _distribute_datasets_from_function(self, dataset_fn: Callable[..., Any], options: Any) -> Any:
        return dataset_fn(distribute_lib.InputContext())

    def non_slot_devices(self, var_list: Any) -> str:
        """The device of the variables."""
        return self._ipu_device

    def _get_local_replica_id(self, replica_id_in_sync_group: int) -> int:
        return replica_id_in_sync_group

    @property
    def worker_devices(self) -> tuple[str, ...]:
        """The device."""
        return (self._ipu_device,)

    @property
    def parameter_devices(self) -> tuple[str, ...]:
        """The device."""
        return (self._ipu_device,)

    @property
    def _support_per_replica_values(self) -> bool:
        return False


#: the name that programs use
IPUStrategy = IPUStrategyV1


def _python_function(fn: Any) -> Callable[..., Any] | None:
    """What a `tf.function` runs; None for a plain Python function."""
    if isinstance(fn, tf.types.experimental.ConcreteFunction):
        return lambda *args, **kwargs: fn(*args, **kwargs)
    return getattr(fn, "python_function", None)


def initial_value(device: str, given: Any, dtype: Any) -> Callable[[], Any]:
    """The initial value of a variable, computed on the host."""

    def compute() -> Any:
        with tf.device(device):
            value = given() if callable(given) else given
            if isinstance(value, trackable.CheckpointInitialValue):
                value = value.wrapped_value
            return tf.convert_to_tensor(value, dtype=dtype)

    return compute
