"""An optimizer around another one, to which it leaves state, hyperparameters and updates."""

from __future__ import annotations

from typing import Any

from tremula.frontends.tensorflow.stock_keras import internal, keras


class OptimizerWrapper(keras.optimizers.legacy.Optimizer):
    """Passes everything on to the optimizer that it wraps; subclasses change what they are there for.

    Hyperparameters of the inner optimizer, such as `learning_rate`, are attributes of the wrapper as well. A checkpoint
    of the wrapper has the names of the inner optimizer's.

    Args:
        opt: the inner optimizer.
        name: the name of the wrapper.
        kwargs: arguments of the Keras optimizer.
    """

    def __init__(self, opt: Any, name: str | None = None, **kwargs: Any) -> None:
        object.__setattr__(self, "_opt", opt)
        super().__init__(name=name, **kwargs)

    def __getattr__(self, name: str) -> Any:
        # asked only for what neither the wrapper nor its own hyperparameters have
        if _is_hyper(self.__dict__.get("_opt"), name):
            return getattr(self._opt, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        if not hasattr(type(self), name) and _is_hyper(self.__dict__.get("_opt"), name):
            setattr(self._opt, name, value)
        else:
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        inner = self.__dict__.get("_opt")
        return sorted({*super().__dir__(), *(name for name in dir(inner) if _is_hyper(inner, name))})

    # gradients and updates

    def _transform_loss(self, loss: Any) -> Any:
        return self._opt._transform_loss(loss)

    def _get_gradients(self, tape: Any, loss: Any, var_list: Any, grad_loss: Any = None) -> Any:
        return self._opt._get_gradients(tape, loss, var_list, grad_loss)

    def get_gradients(self, loss: Any, params: Any) -> Any:
        """The gradients of `loss`, in graphs."""
        return self._opt.get_gradients(loss, params)

    def apply_gradients(
        self, grads_and_vars: Any, name: str | None = None, experimental_aggregate_gradients: bool = True
    ) -> Any:
        """Update variables."""
        return self._opt.apply_gradients(
            grads_and_vars, name=name, experimental_aggregate_gradients=experimental_aggregate_gradients
        )

    def preprocess_gradients(self, grad: Any, var: Any) -> tuple[Any, Any]:
        """The gradient and its variable as the innermost wrapper passes them on."""
        inner = self._opt
        return inner.preprocess_gradients(grad, var) if isinstance(inner, OptimizerWrapper) else (grad, var)

    def _prepare(self, var_list: Any) -> Any:
        return self._opt._prepare(var_list)

    def _transform_unaggregated_gradients(self, grads_and_vars: Any) -> Any:
        return self._opt._transform_unaggregated_gradients(grads_and_vars)

    def _aggregate_gradients(self, grads_and_vars: Any) -> Any:
        return self._opt._aggregate_gradients(grads_and_vars)

    def _transform_gradients(self, grads_and_vars: Any) -> Any:
        return self._opt._transform_gradients(grads_and_vars)

    def _resource_apply_dense(self, grad: Any, handle: Any, apply_state: Any) -> Any:
        return self._opt._resource_apply_dense(grad, handle, apply_state)

    def _resource_apply_sparse(self, grad: Any, handle: Any, indices: Any, apply_state: Any) -> Any:
        return self._opt._resource_apply_sparse(grad, handle, indices, apply_state)

    # state

    @property
    def iterations(self) -> Any:
        """How many updates there were."""
        return self._opt.iterations

    @iterations.setter
    def iterations(self, variable: Any) -> None:
        self._opt.iterations = variable

    @property
    def weights(self) -> list[Any]:
        """The state of the inner optimizer."""
        return self._opt.weights

    @weights.setter
    def weights(self, _: Any) -> None:
        raise AttributeError("can't set attribute 'weights' of an optimizer: call set_weights.")

    def variables(self) -> list[Any]:
        """The state of the inner optimizer."""
        return self._opt.variables()

    def get_weights(self) -> list[Any]:
        """The state of the inner optimizer as arrays."""
        return self._opt.get_weights()

    def set_weights(self, weights: Any) -> None:
        """Set the state of the inner optimizer."""
        self._opt.set_weights(weights)

    def get_slot(self, var: Any, slot_name: str) -> Any:
        """A slot of the inner optimizer."""
        return self._opt.get_slot(var, slot_name)

    def add_slot(self, var: Any, slot_name: str, initializer: Any = "zeros", shape: Any = None) -> Any:
        """Make a slot of the inner optimizer."""
        return self._opt.add_slot(var, slot_name, initializer=initializer, shape=shape)

    def get_slot_names(self) -> list[str]:
        """The names of the slots of the inner optimizer."""
        return self._opt.get_slot_names()

    def _create_slots(self, var_list: Any) -> None:
        self._opt._create_slots(var_list)

    def _create_hypers(self) -> None:
        self._opt._create_hypers()

    def _create_all_weights(self, var_list: Any) -> None:
        self._opt._create_all_weights(var_list)

    def _restore_slot_variable(self, slot_name: str, variable: Any, slot_variable: Any) -> None:
        self._opt._restore_slot_variable(slot_name, variable, slot_variable)

    def _create_or_restore_slot_variable(
        self, slot_variable_position: Any, slot_name: str, variable: Any
    ) -> Any:
        return self._opt._create_or_restore_slot_variable(slot_variable_position, slot_name, variable)

    def _trackable_children(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        return {
            **self._opt._trackable_children(*args, **kwargs),
            **super()._trackable_children(*args, **kwargs),
        }

    def _lookup_dependency(self, name: str, *args: Any, **kwargs: Any) -> Any:
        found = super()._lookup_dependency(name, *args, **kwargs)
        if found is not None:
            return found
        # they exist from the first update on, but a checkpoint is restored before
        self._opt._create_hypers()
        if name == "iter":
            return self._opt.iterations
        return self._opt._lookup_dependency(name, *args, **kwargs)

    # clipping

    @property
    def clipnorm(self) -> Any:
        """The largest norm of a gradient."""
        return self._opt.clipnorm

    @clipnorm.setter
    def clipnorm(self, val: Any) -> None:
        self._opt.clipnorm = val

    @property
    def global_clipnorm(self) -> Any:
        """The largest norm of all gradients."""
        return self._opt.global_clipnorm

    @global_clipnorm.setter
    def global_clipnorm(self, val: Any) -> None:
        self._opt.global_clipnorm = val

    @property
    def clipvalue(self) -> Any:
        """The largest value of a gradient."""
        return self._opt.clipvalue

    @clipvalue.setter
    def clipvalue(self, val: Any) -> None:
        self._opt.clipvalue = val

    # configuration

    def get_config(self) -> dict[str, Any]:
        """What makes an equal optimizer: the class and the configuration of the inner one, and own arguments."""
        return {
            "inner_optimizer_config": self._opt.get_config(),
            "inner_optimizer_type": type(self._opt),
            "name": self._name,
        }

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        """An optimizer with this configuration.

        Raises:
            ValueError: the configuration does not name an inner optimizer.
        """
        config = dict(config)
        inner = _inner_class(config, custom_objects)
        config.pop("inner_optimizer_type")
        return cls(inner.from_config(dict(config.pop("inner_optimizer_config"))), **config)


def _is_hyper(optimizer: Any, name: str) -> bool:
    """Whether it is a hyperparameter of an optimizer, or of one that it wraps."""
    while optimizer is not None:
        if {"lr": "learning_rate"}.get(name, name) in optimizer.__dict__.get("_hyper", {}):
            return True
        optimizer = optimizer.__dict__.get("_opt")
    return False


def _inner_class(config: dict[str, Any], custom_objects: Any) -> Any:
    for key in ("inner_optimizer_config", "inner_optimizer_type"):
        if key not in config:
            raise ValueError(f"The configuration of an optimizer that wraps another one has no {key!r}.")
    found = config["inner_optimizer_type"]
    if isinstance(found, str):
        # a saved model has the name of the class
        known = {**(custom_objects or {}), **internal("saving.object_registration").get_custom_objects()}
        found = known.get(found) or getattr(keras.optimizers.legacy, found, found)
    if not isinstance(found, type) or not issubclass(found, keras.optimizers.legacy.Optimizer):
        raise ValueError(f"inner_optimizer_type is {found!r}, not an optimizer of keras.optimizers.legacy.")
    return found
