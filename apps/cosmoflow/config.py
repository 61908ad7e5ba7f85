"""Configurations: YAML files with the published settings, `key=value` overrides, and checks of both.

A key that does not exist is refused and the nearest one named; a value must have the type of what it replaces.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
import types
import typing
from dataclasses import fields
from importlib import resources
from pathlib import Path
from typing import Any


from cosmoflow.network import VARIANTS
from cosmoflow.settings import MODES, Config, ConfigError
from tremula.checked_json import BadValue
from tremula.checked_yaml import parse_yaml, read_yaml


def config_names() -> list[str]:
    """Configurations that come with the package."""
    return sorted(
        file.name.removesuffix(".yaml") for file in _files().iterdir() if file.name.endswith(".yaml")
    )


def _files() -> Any:
    return resources.files("cosmoflow") / "files"


def load(name: str, overrides: list[str]) -> Config:
    """The configuration of a name (or the path of a YAML file) with overrides.

    Raises:
        ConfigError: something in it cannot be used.
    """
    config = Config()
    _apply_tree(config, _tree(name))
    for word in overrides:
        key, equals, text = word.partition("=")
        if not equals:
            raise ConfigError(f"'{word}' is not of the form key=value{_nearest(word.lstrip('-'))}.")
        try:
            value = parse_yaml(text) if text.strip() else None
        except BadValue as problem:
            raise ConfigError(f"{key}: the value '{text}' cannot be understood.") from problem
        _set(config, key.strip(), value)
    _check(config)
    return config


def _tree(name: str) -> dict[str, Any]:
    path = Path(name)
    try:
        if path.suffix in (".yaml", ".yml"):
            found = read_yaml(path)
        elif name in config_names():
            found = parse_yaml((_files() / f"{name}.yaml").read_text(encoding="utf-8"))
        else:
            near = difflib.get_close_matches(name, config_names(), 1)
            raise ConfigError(
                f"There is no configuration '{name}'{f'; did you mean {near[0]}?' if near else '.'} "
                f"There are: {', '.join(config_names())}; or give the path of a .yaml file."
            )
    except BadValue as problem:
        raise ConfigError(f"{name} cannot be read as a configuration: {problem}.") from problem
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise ConfigError(f"{name} holds no settings: it should have lines of the form 'key: value'.")
    return found


def _apply_tree(config: Config, tree: dict[str, Any], above: str = "") -> None:
    for name, value in tree.items():
        key = f"{above}{name}"
        if (
            isinstance(value, dict)
            and dataclasses.is_dataclass(getattr(config, str(name), None))
            and not above
        ):
            _apply_tree(config, value, f"{name}.")
        else:
            _set(config, key, value)


def keys(config: Config | None = None) -> dict[str, tuple[Any, str, Any]]:
    """Every key with its value, what it means and its type."""
    config = config or Config()
    found: dict[str, tuple[Any, str, Any]] = {}
    for part, section in (("", config), *((f.name, getattr(config, f.name)) for f in fields(config))):
        if dataclasses.is_dataclass(section):
            hints = typing.get_type_hints(type(section))
            for entry in fields(section):
                if "help" in entry.metadata:
                    name = f"{part}.{entry.name}" if part else entry.name
                    found[name] = (getattr(section, entry.name), entry.metadata["help"], hints[entry.name])
    return found


def _nearest(key: str) -> str:
    known = list(keys())
    last = key.rsplit(".", 1)[-1]
    near = [name for name in known if name.rsplit(".", 1)[-1] == last] or difflib.get_close_matches(
        key, known, 3
    )
    if not near:
        ends = {name.rsplit(".", 1)[-1]: name for name in known}
        near = [ends[end] for end in difflib.get_close_matches(last, ends, 3)]
    return f"; did you mean {' or '.join(near)}?" if near else "; --help lists all keys"


def _set(config: Config, key: str, value: Any) -> None:
    known = keys(config)
    if key not in known:
        raise ConfigError(f"There is no setting '{key}'{_nearest(key)}")
    kind = known[key][2]
    section, _, name = key.rpartition(".")
    setattr(getattr(config, section) if section else config, name, _converted(key, value, kind))


def _converted(key: str, value: Any, kind: Any) -> Any:
    options = typing.get_args(kind) if isinstance(kind, types.UnionType) else (kind,)
    for option in options:
        if option is type(None):
            if value is None:
                return None
        elif typing.get_origin(option) is list:
            entry = typing.get_args(option)[0]
            if isinstance(value, list):
                return [_converted(key, part, entry) for part in value]
        elif option is float:
            if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
                return float(value)
            if isinstance(value, str):  # YAML reads 1e-3 as text
                try:
                    number = float(value)
                except ValueError:
                    continue
                if math.isfinite(number):
                    return number
        elif option is str:
            if isinstance(value, str | int | float) and not isinstance(value, bool):
                return str(value)
        elif isinstance(value, option) and (option is bool or not isinstance(value, bool)):
            return value
    names = " or ".join("empty" if o is type(None) else getattr(o, "__name__", str(o)) for o in options)
    raise ConfigError(f"{key}={value!r} should be {names}.")


def _check(config: Config) -> None:
    _one_of("mode", config.mode, MODES)
    _one_of("network.variant", config.network.variant, tuple(VARIANTS))
    _one_of("data.source", config.data.source, ("files", "generated", "dummy"))
    _one_of("device.precision", config.device.precision, ("float", "half"))
    _one_of("train.optimizer", config.train.optimizer, ("sgd", "adam"))
    positive = [
        "device.batch", "device.replicas", "device.accumulation", "device.iterations", "device.loss_scaling",
        "train.epochs", "train.rate", "train.validate_every", "train.checkpoint_every", "train.keep",
        "train.log_every", "generate.train", "generate.validation", "generate.test", "generate.density",
        "generate.threads", "throughput.loops", "throughput.iterations", "throughput.samples", "network.size",
        "network.conv_size", "network.kernel", "network.layers", "data.samples", "inference.batch",
        "inference.bootstrap",
    ]  # fmt: skip
    known = keys(config)
    for key in positive:
        value = known[key][0]
        if value is not None and value <= 0:
            raise ConfigError(f"{key}={value} must be greater than 0.")
    for key in (
        "data.workers",
        "train.rate_batch",
        "train.warmup",
        "train.momentum",
        "train.weight_decay",
        "seed",
    ):
        if known[key][0] < 0:
            raise ConfigError(f"{key}={known[key][0]} must not be negative.")
    if config.network.dropout is not None and not 0 <= config.network.dropout < 1:
        raise ConfigError(f"network.dropout={config.network.dropout} must be from 0 to below 1.")
    device = config.device
    if device.ipus not in (1, 2):
        raise ConfigError(f"device.ipus={device.ipus} must be 1 or 2.")
    if device.ipus == 2 and config.variant.layers < 2:
        raise ConfigError("device.ipus=2 cuts before the second convolution, but network.layers=1.")
    if device.ipus == 2 and config.mode in ("train", "throughput") and device.accumulation < 3:
        raise ConfigError(
            f"device.accumulation={device.accumulation} does not fill a pipeline of 2 IPUs in training: give 3 or more."
        )
    if device.memory_proportion is not None and not 0 < device.memory_proportion <= 1:
        raise ConfigError(
            f"device.memory_proportion={device.memory_proportion} must be above 0 and at most 1."
        )
    for key in ("data.parameters", "data.low", "data.high"):
        if known[key][0] is not None and len(known[key][0]) != 4:
            raise ConfigError(f"{key} needs four entries, one for each parameter.")
    if (config.data.low is None) != (config.data.high is None):
        raise ConfigError("data.low and data.high belong together: give both or none.")
    try:
        config.variant.side  # noqa: B018 - an impossible network is an error at once
    except ValueError as problem:
        raise ConfigError(str(problem)) from problem


def _one_of(key: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        near = difflib.get_close_matches(value, allowed, 1)
        raise ConfigError(
            f"{key}={value} is not known{f'; did you mean {near[0]}?' if near else '.'} "
            f"There are: {', '.join(allowed)}."
        )
