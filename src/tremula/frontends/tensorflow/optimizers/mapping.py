"""Optimizers that change gradients, or where their ops are: over replicas, by a function, on shards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow import sharding
from tremula.frontends.tensorflow.optimizers.wrapper import IpuOptimizer
from tremula.frontends.tensorflow.replicas import collectives

GradientMap = Callable[[Any, Any], Any]


class CrossReplicaOptimizer(IpuOptimizer):
    """Applies the mean of the gradients of all replicas.

    Args:
        opt: the optimizer to wrap.
        name: of the wrapper.
    """

    def __init__(self, opt: Any, name: str = "CrossReplicaOptimizer") -> None:
        super().__init__(opt, name=name)

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: str | None = None) -> Any:
        """Update the variables with the means; gives the operation."""
        means = [
            (None if gradient is None else collectives.cross_replica_mean(gradient), variable)
            for gradient, variable in grads_and_vars
        ]
        return self._opt.apply_gradients(means, global_step, name)


class MapGradientOptimizer(IpuOptimizer):
    """Changes gradients when they have been computed.

    Args:
        wrapped_optimizer: the optimizer to wrap.
        gradient_mapping_function: of a gradient and the value of its variable; gives the new gradient.
        name: of the wrapper.
    """

    def __init__(
        self,
        wrapped_optimizer: Any,
        gradient_mapping_function: GradientMap,
        name: str = "MapGradientOptimizer",
    ) -> None:
        super().__init__(wrapped_optimizer, name=name)
        self._gradient_mapping_function = gradient_mapping_function

    def compute_gradients(self, *args: Any, **kwargs: Any) -> Any:
        """Pairs of changed gradient and variable."""
        return _mapped(self._gradient_mapping_function, self._opt.compute_gradients(*args, **kwargs))


class MapGradientOptimizerInvertedChaining(IpuOptimizer):
    """Changes gradients just before they are applied.

    Args:
        wrapped_optimizer: the optimizer to wrap.
        gradient_mapping_function: of a gradient and the value of its variable; gives the new gradient.
        name: of the wrapper.
    """

    def __init__(
        self,
        wrapped_optimizer: Any,
        gradient_mapping_function: GradientMap,
        name: str = "MapGradientOptimizerInvertedChaining",
    ) -> None:
        super().__init__(wrapped_optimizer, name=name)
        self._gradient_mapping_function = gradient_mapping_function

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: str | None = None) -> Any:
        """Update the variables with the changed gradients; gives the operation."""
        pairs = _mapped(self._gradient_mapping_function, grads_and_vars)
        return self._opt.apply_gradients(pairs, global_step, name)


class ShardedOptimizer(IpuOptimizer):
    """Puts the ops of gradients and updates on the shards of the ops that they belong to.

    Args:
        optimizer: the optimizer to wrap.
    """

    def __init__(self, optimizer: Any) -> None:
        super().__init__(optimizer, name="ShardedOptimizer")

    def compute_gradients(self, loss: Any, var_list: Any = None, **kwargs: Any) -> Any:
        """Pairs of gradient and variable."""
        pairs = self._opt.compute_gradients(
            loss, var_list=var_list, **{**kwargs, "colocate_gradients_with_ops": True}
        )
        sharding.propagate_sharding(tf.compat.v1.get_default_graph())
        return pairs

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: str | None = None) -> Any:
        """Update the variables; gives the operation."""
        operation = self._opt.apply_gradients(grads_and_vars, global_step, name)
        sharding.propagate_sharding(tf.compat.v1.get_default_graph())
        return operation


def _mapped(function: GradientMap, pairs: Any) -> list[tuple[Any, Any]]:
    return [(function(gradient, variable.value()), variable) for gradient, variable in pairs]
