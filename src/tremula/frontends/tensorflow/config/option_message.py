"""A configuration as an `IpuOptions` message, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

from tremula.frontends.tensorflow.config import checks, messages
from tremula.frontends.tensorflow.config.enums import StochasticRoundingBehaviour
from tremula.frontends.tensorflow.config.option_table import OPTIONS
from tremula.frontends.tensorflow.config.tree import ConfigNode

_EXCEPTIONS_AND_NAN = ("inv", "div0", "oflo", "nanoo")


def listed(ipus: int | Sequence[int]) -> list[int]:
    """One number, or several, as a list."""
    return [ipus] if isinstance(ipus, int) else list(ipus)


def written(config: Any) -> Any:
    """The message; raises if the options of `config` contradict each other."""
    checks.check(config)
    pb = messages.IpuOptions(creator_id=messages.IpuOptionsCreator.IPU_UTILS)
    for option in OPTIONS:
        if option.field:
            node, name = _holder(config, option.name)
            _write(pb, option.field, node.__dict__[name])
    behaviour = config.floating_point_behaviour
    for name in _EXCEPTIONS_AND_NAN:
        setattr(pb.floating_point_behaviour, name, behaviour.set_all or getattr(behaviour, name))
    rounding = StochasticRoundingBehaviour.ON if behaviour.set_all else behaviour.esr
    pb.floating_point_behaviour.esr = rounding.value
    for index in listed(config.select_ipus):
        pb.device_config.add(cfg_index=index)
    for count in listed(config.auto_select_ipus):
        pb.device_config.add(auto_count=count)
    return pb


def read(pb: Any, config: ConfigNode) -> None:
    """Set the options of `config` as the message has them."""
    for option in OPTIONS:
        if option.field:
            _store(config, option.name, _read(pb, option.field, option.default))
    for name in _EXCEPTIONS_AND_NAN:
        _store(config, f"floating_point_behaviour.{name}", getattr(pb.floating_point_behaviour, name))
    rounding = StochasticRoundingBehaviour(pb.floating_point_behaviour.esr)
    _store(config, "floating_point_behaviour.esr", rounding)
    chosen = [each.cfg_index for each in pb.device_config if each.WhichOneof("selection") == "cfg_index"]
    counted = [each.auto_count for each in pb.device_config if each.WhichOneof("selection") != "cfg_index"]
    _store(config, "select_ipus", chosen)
    _store(config, "auto_select_ipus", counted)


def _holder(config: ConfigNode, name: str) -> tuple[ConfigNode, str]:
    *categories, own = name.split(".")
    node: Any = config
    for category in categories:
        node = getattr(node, category)
    return node, own


def _store(config: ConfigNode, name: str, value: Any) -> None:
    node, own = _holder(config, name)
    node.__dict__[own] = value


def _place(pb: Any, field: str) -> tuple[Any, str]:
    *messages_on_the_way, own = field.removeprefix("!").split(".")
    for each in messages_on_the_way:
        pb = getattr(pb, each)
    return pb, own


def _write(pb: Any, field: str, value: Any) -> None:
    holder, name = _place(pb, field)
    if isinstance(value, Mapping):
        for option, setting in value.items():
            getattr(holder, name).add(option=option, value=setting)
    elif isinstance(value, Enum):
        setattr(holder, name, value.value)
    else:
        setattr(holder, name, not value if field.startswith("!") else value)


def _read(pb: Any, field: str, default: Any) -> Any:
    holder, name = _place(pb, field)
    value = getattr(holder, name)
    if isinstance(default, Mapping):
        return {each.option: each.value for each in value}
    if isinstance(default, Enum):
        return type(default)(value)
    return not value if field.startswith("!") else value
