"""Configurations of extended Keras models: options and stages are saved with a model and are there when it is loaded.

`get_config` of a model has the entries of Keras and ours; `from_config`, files of all formats and clones bring them
back.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from tremula.frontends.tensorflow.keras.delegation import KerasExtension, extension_delegate
from tremula.frontends.tensorflow.stock_keras import internal

#: says that `get_config` of a subclass called that of its base
_MARK = "get_config_has_been_called"
#: entries of configurations that are not arguments of constructors
_OURS = frozenset(
    {
        _MARK,
        "asynchronous_callbacks",
        "gradient_accumulation_reduction_method",
        "gradient_accumulation_steps_per_replica",
        "infeed_kwargs",
        "outfeed_kwargs",
        "pipeline_inputs",
        "pipeline_stage_assignment",
        "pipeline_stage_assignment_valid",
        "pipelining_accumulate_outfeed",
        "pipelining_device_mapping",
        "pipelining_gradient_accumulation_steps_per_replica",
        "replicated_metric_reduction_method",
    }
)

_Functional = internal("engine.functional").Functional
_Model = internal("engine.training").Model


class Configured:
    """The part of an extension that reads and writes configurations."""

    _get_base_config: Callable[[], dict[str, Any]]
    _from_base_config: Callable[[dict[str, Any]], None]
    _pipelining_config: Callable[[], dict[str, Any]]
    _restore_pipelining: Callable[[dict[str, Any]], None]

    @extension_delegate
    def get_config(self) -> dict[str, Any]:
        """As of Keras, with the options and stages of the model."""
        return super().get_config()  # type: ignore[misc]

    # Keras asks whether a program has one of its own
    get_config._is_default = True  # type: ignore[attr-defined]

    def _get_config_supported(self) -> bool:
        return True

    def _get_config_delegate(self) -> dict[str, Any]:
        stock = super().get_config()  # type: ignore[misc]
        return {**stock, **self._get_base_config(), **self._pipelining_config(), _MARK: True}

    def _deserialize_from_config_supported(self, config: dict[str, Any]) -> bool:
        return True

    def _deserialize_from_config_delegate(self, config: dict[str, Any]) -> None:
        own = getattr(type(self).get_config, "_is_default", False)
        if not own and not isinstance(self, _Functional) and not config.get(_MARK, False):
            raise RuntimeError(
                f"get_config() has been overridden on a subclassed Model, {type(self).__name__}, without the options "
                f"of the model: start it with `config = super().get_config()` and add your entries to that."
            )
        self._from_base_config(config)
        self._restore_pipelining(config)


def restore(model: Any, config: Any) -> None:
    """Give an extended model what a configuration says; other models stay as they are."""
    if isinstance(model, KerasExtension) and isinstance(config, dict):
        supported = getattr(model, "_deserialize_from_config_supported", None)
        if supported is not None and supported(config):
            model._deserialize_from_config_delegate(config)  # type: ignore[attr-defined]


def install() -> None:
    """Let models that are made from configurations and files, or cloned, get their options and stages."""
    for kind in (_Model, internal("engine.sequential").Sequential):
        kind.from_config = classmethod(_restoring(kind.from_config.__func__))
    load = internal("saving.legacy.saved_model.load")
    load.load = _restoring_root(load.load)
    load.KerasObjectLoader._reconstruct_model = _restoring_network(load.KerasObjectLoader._reconstruct_model)
    cloning = internal("models.cloning")
    for name in ("_clone_functional_model", "_clone_sequential_model"):
        setattr(cloning, name, _restoring_clone(getattr(cloning, name)))


def _restoring(stock: Callable[..., Any]) -> Callable[..., Any]:
    def from_config(cls: type, config: Any, custom_objects: Any = None) -> Any:
        model = stock(cls, _arguments(cls, config), custom_objects)
        restore(model, config)
        return model

    return from_config


def _arguments(cls: type, config: Any) -> Any:
    """The entries of a configuration that are for Keras or for the constructor of a class."""
    if not isinstance(config, dict):
        return config
    rest = {key: value for key, value in config.items() if key not in _OURS}
    if _MARK not in config or cls is _Model or issubclass(cls, _Functional) or "input_layers" in config:
        return rest
    parameters = inspect.signature(cls.__init__).parameters  # type: ignore[misc]
    if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        rest = {key: value for key, value in rest.items() if key in parameters}
    required = [
        name
        for name, parameter in list(parameters.items())[1:]
        if parameter.default is parameter.empty
        and parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    ]
    missing = [name for name in required if name not in rest]
    if missing:
        raise NotImplementedError(
            f"Subclassed models which require parameters in their constructors must override the `from_config` "
            f"function: the configuration of {cls.__name__} does not have {', '.join(missing)}."
        )
    return rest


def _restoring_root(stock: Callable[..., Any]) -> Callable[..., Any]:
    def load(*args: Any, **kwargs: Any) -> Any:
        model = stock(*args, **kwargs)
        saved = getattr(model, "_serialized_attributes", {}).get("metadata", {})
        # classes with a `from_config` of their own have not been told yet
        restore(model, saved.get("model_config", {}).get("config"))
        return model

    return load


def _restoring_network(stock: Callable[..., Any]) -> Callable[..., Any]:
    decode = internal("saving.legacy.saved_model.json_utils").decode

    def _reconstruct_model(self: Any, model_id: Any, model: Any, layers: Any) -> None:
        stock(self, model_id, model, layers)
        restore(model, decode(self._metadata[model_id].metadata)["config"])

    return _reconstruct_model


def _restoring_clone(stock: Callable[..., Any]) -> Callable[..., Any]:
    def clone(model: Any, *args: Any, **kwargs: Any) -> Any:
        made = stock(model, *args, **kwargs)
        if isinstance(model, Configured):
            restore(made, {**model._get_base_config(), **model._pipelining_config(), _MARK: True})
        return made

    return clone
