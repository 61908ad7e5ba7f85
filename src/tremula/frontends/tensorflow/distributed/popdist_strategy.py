"""`PopDistStrategy`: an `IPUStrategy` whose variables and reductions are those of all processes of a run.

Initial values come from process 0. A reduction on the device is one over the replicas of all processes; one on the host
is over the processes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow.compat.v2 as tf
from tensorflow.python.distribute import device_util, distribute_lib, distribute_utils, values
from tensorflow.python.framework import device as tf_device
from tensorflow.python.ops import variable_scope

from tremula.distributed import launch_environment
from tremula.frontends.tensorflow.config import active
from tremula.frontends.tensorflow.distributed import host_collectives
from tremula.frontends.tensorflow.replicas import context, instances
from tremula.frontends.tensorflow.strategy import IPUExtendedV1, IPUStrategyV1, initial_value


class _OnDevice:
    """A variable that says that it is on the device of its strategy, as in a program for hardware."""

    @property
    def device(self) -> str:
        """The device of the strategy."""
        own: Any = self
        device = own.distribute_strategy.extended.non_slot_devices(None)
        return str(device_util.canonicalize(device)) if tf.executing_eagerly() else str(own.values[0].device)


class IPUDistributedVariable(_OnDevice, values.DistributedVariable):  # type: ignore[misc]
    """A variable of all processes."""


class IPUSyncOnReadVariable(_OnDevice, values.SyncOnReadVariable):  # type: ignore[misc]
    """A variable that each process changes for itself; read on the host, it is reduced over the processes."""


class IPUMirroredVariable(_OnDevice, values.MirroredVariable):  # type: ignore[misc]
    """A variable that is the same on all processes."""


class IPUOnWritePolicy(values.OnWritePolicy):  # type: ignore[misc]
    """How mirrored variables are written."""


class IPUOnReadPolicy(values.OnReadPolicy):  # type: ignore[misc]
    """How variables that are reduced when they are read behave."""


IPU_VARIABLE_CLASS_MAPPING = {
    "VariableClass": IPUDistributedVariable,
    variable_scope.VariableSynchronization.ON_WRITE: IPUMirroredVariable,
    variable_scope.VariableSynchronization.ON_READ: IPUSyncOnReadVariable,
}
IPU_VARIABLE_POLICY_MAPPING = {
    variable_scope.VariableSynchronization.ON_WRITE: IPUOnWritePolicy,
    variable_scope.VariableSynchronization.ON_READ: IPUOnReadPolicy,
}


class PopDistStrategy(IPUStrategyV1):
    """Runs functions and Keras models on the devices of all processes of a run.

    Args:
        ipu_device: the device of variables and computations.
        add_ipu_cross_replica_reductions: whether reductions on the device are made; a program that makes its own
            says no.
        enable_dataset_iterators: whether `iter(dataset)` gives iterators that the device advances.
        enable_keras_extensions: whether Keras models made in the scope get the options and loops of the device.

    Raises:
        Error: the processes do not come together in time.
    """

    def __init__(
        self,
        ipu_device: str = "/device:IPU:0",
        add_ipu_cross_replica_reductions: bool = True,
        enable_dataset_iterators: bool = True,
        enable_keras_extensions: bool = True,
    ) -> None:
        self._add_reductions = add_ipu_cross_replica_reductions
        super().__init__(
            ipu_device,
            enable_dataset_iterators=enable_dataset_iterators,
            enable_keras_extensions=enable_keras_extensions,
        )
        meet()

    def _make_extended(self, ipu_device: str, cpu_device: str) -> IPUExtendedV1:
        return PopDistExtendedV1(self, ipu_device, cpu_device, self._add_reductions)

    def update_ipu_config(self, config: Any) -> Any:
        """Say in an `IPUConfig` which of how many processes this one is; gives it back."""
        distribution = config.experimental.multi_replica_distribution
        distribution.process_count = launch_environment.instances()
        distribution.process_index = launch_environment.instance()
        return config

    def run(self, fn: Callable[..., Any], args: Any = (), kwargs: Any = None, options: Any = None) -> Any:
        """Run `fn` on the device; the results are those of the first replica of this process."""
        return distribute_lib.StrategyV1.run(self, fn, args, kwargs, options)

    def experimental_run_v2(self, fn: Callable[..., Any], args: Any = (), kwargs: Any = None) -> Any:
        """`run`, as it was called in TensorFlow 1."""
        return self.run(fn, args, kwargs)


class PopDistExtendedV1(IPUExtendedV1):
    """What the strategy does, for TensorFlow."""

    def __init__(
        self,
        container_strategy: Any,
        ipu_device: str,
        cpu_device: str,
        add_ipu_cross_replica_reductions: bool,
    ) -> None:
        # programs compare the names of devices with those of the original, which name the process
        named = tf_device.DeviceSpec.from_string(ipu_device).replace(replica=0, task=0)
        super().__init__(container_strategy, named.to_string(), cpu_device)
        self._add_ipu_cross_replica_reductions = add_ipu_cross_replica_reductions

    @property
    def _num_replicas_in_sync(self) -> int:
        return launch_environment.total_replicas()

    def _create_variable(self, next_creator: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        kwargs.pop("colocate_with", None)
        given = initial_value(self._cpu_device, kwargs["initial_value"], kwargs.get("dtype"))

        def create(**own: Any) -> list[Any]:
            own["initial_value"] = lambda: self._from_first_process(given())
            with tf.device(self._ipu_device):
                return [next_creator(*args, **own)]

        return distribute_utils.create_mirrored_variable(
            self._container_strategy(),
            create,
            IPU_VARIABLE_CLASS_MAPPING,
            IPU_VARIABLE_POLICY_MAPPING,
            **kwargs,
        )

    def _from_first_process(self, value: Any) -> Any:
        return host_collectives.broadcast(value)

    def _broadcast_to(self, tensor: Any, destinations: Any) -> Any:
        return tensor

    def read_var(self, var: Any) -> Any:
        """The value of a variable, reduced over the processes where it is to be."""
        return var.read_value()

    def _local_results(self, distributed_value: Any) -> tuple[Any, ...]:
        if isinstance(distributed_value, values.DistributedValues):
            return tuple(distributed_value.values)
        return (distributed_value,)

    def value_container(self, value: Any) -> Any:
        """The variable of all processes that a variable of this one belongs to."""
        return distribute_utils.value_container(value)

    def _call_for_each_replica(self, fn: Any, args: Any, kwargs: Any) -> Any:
        if not _in_session():
            return super()._call_for_each_replica(fn, args, kwargs)
        # what the function gives to `ipu_compiler.compile` is a program; the rest are ops of the session's graph
        replica = distribute_lib.ReplicaContext(self._container_strategy(), replica_id_in_sync_group=0)
        with replica, tf.device(self._ipu_device):
            return fn(*args, **kwargs)

    def _reduce_to(self, reduce_op: Any, value: Any, destinations: Any, options: Any) -> Any:
        if isinstance(value, values.DistributedValues):
            (value,) = value.values
        if tf_device.DeviceSpec.from_string(device_util.current()).device_type != "IPU":
            return host_collectives.allreduce(value, reduce_op)
        if not self._add_ipu_cross_replica_reductions:
            return value
        if reduce_op == tf.distribute.ReduceOp.MEAN and _in_session():
            _refuse_whole_numbers(value)
        if not context.in_program() and instances.several() and active.replica_count() == 1:
            # an op of its own: no program holds it
            return host_collectives.allreduce(value, reduce_op)
        return super()._reduce_to(reduce_op, value, destinations, options)

    def _update(self, var: Any, fn: Any, args: Any, kwargs: Any, group: bool) -> Any:
        own = var.values[0] if isinstance(var, values.DistributedVariable) else var
        with distribute_lib.UpdateContext(0):
            result = fn(
                own, *distribute_utils.select_replica(0, args), **distribute_utils.select_replica(0, kwargs)
            )
        return result if group else tf.nest.map_structure(self._local_results, result)

    def _update_non_slot(self, colocate_with: Any, fn: Any, args: Any, kwargs: Any, group: bool) -> Any:
        with distribute_lib.UpdateContext(0):
            result = fn(
                *distribute_utils.select_replica(0, args), **distribute_utils.select_replica(0, kwargs)
            )
        return result if group else tf.nest.map_structure(self._local_results, result)


def _in_session() -> bool:
    with tf.init_scope():
        return not tf.executing_eagerly()


def _refuse_whole_numbers(value: Any) -> None:
    """As in TensorFlow 1, where the device's mean is one of floating-point numbers."""
    dtype = tf.convert_to_tensor(value).dtype
    if not dtype.is_floating:
        raise TypeError(
            f"A mean over replicas: {dtype.name} not in list of allowed values: float16, float32. Cast it first."
        )


def meet() -> None:
    """Wait until all processes of the run are here.

    Raises:
        Error: one did not come in time.
    """
    if launch_environment.instances() > 1:
        from tremula.distributed import arrays

        arrays.group()
