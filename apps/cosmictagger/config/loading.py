"""A configuration from a preset, a YAML file and `key=value` overrides.

Presets are YAML files of this package, read with the safe loader. What a group is, such as `data=real`, is decided
first, the command line before the file; then keys of the file, then overrides. Unknown keys are refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import yaml

from cosmictagger.config.groups import DATA, MODES, NOT_HERE, Config, Precision, ComputeMode, Run
from cosmictagger.config.keys import ConfigError, converted, did_you_mean, plain, show, types_of
from cosmictagger.network.configurations import CONFIGURATIONS, NetworkConfig
from tremula.checked_json import BadValue
from tremula.checked_yaml import read_yaml

PRESETS = Path(__file__).parent / "files"
_CHOICES: dict[str, Mapping[str, Any]] = {"mode": MODES, "data": DATA, "network": CONFIGURATIONS}
_DEFAULT_CHOICES = {"mode": "train", "data": "synthetic", "network": "uresnet"}
_TOP = ("run", "mode", "data", "network", "framework", "output_dir")


def preset_names() -> list[str]:
    """The presets of this package."""
    return sorted(path.stem for path in PRESETS.glob("*.yaml"))


def load(config_name: str = "config", overrides: Iterable[str] = ()) -> Config:
    """The configuration of a run.

    Args:
        config_name: a preset, or the path of a YAML file, such as the config.yaml of an earlier run.
        overrides: "key=value", as on the command line.

    Raises:
        ConfigError: a file, key or value is refused.
    """
    return resolve(read_file(config_name), [parse(each) for each in overrides])


def parse(override: str) -> tuple[str, str]:
    """Key and value of "key=value"."""
    name, equals, value = override.partition("=")
    name = name.strip().lstrip("+")
    if not equals or not name:
        raise ConfigError(
            f"{show(override)!r} is not of the form key=value, such as run.iterations=100. --help lists all keys."
        )
    return name, value.strip().strip("'\"")


def read_file(config_name: str) -> dict[str, Any]:
    """What a preset or a YAML file says, as it stands there."""
    name = str(config_name).strip()
    path = PRESETS / f"{name.removesuffix('.yaml').lower()}.yaml"
    if "/" in name or not path.is_file():
        path = Path(name)
        if not path.is_file():
            raise ConfigError(
                f"There is no configuration {show(name)!r}: the presets are {', '.join(preset_names())}, "
                f"and no file.{did_you_mean(name, preset_names())}"
            )
    try:
        found = read_yaml(path)
    except BadValue as error:
        raise ConfigError(f"{path} cannot be read as YAML: {show(str(error))}") from None
    if not isinstance(found, dict) or not all(isinstance(each, str) for each in found):
        raise ConfigError(
            f"{path} must hold keys with values, such as `run:` and below it `iterations: 100`."
        )
    return found


def resolve(file: Mapping[str, Any], overrides: Sequence[tuple[str, str]]) -> Config:
    """Put a file and overrides together."""
    for name in file:
        if name not in _TOP:
            raise ConfigError(f"There is no group {show(name)}.{did_you_mean(name, _TOP)}")
    chosen = {group: _choice(group, file.get(group), overrides) for group in _CHOICES}
    values = {
        "run": {},
        "mode": {"name": chosen["mode"]},
        "data": {"name": chosen["data"]},
        "network": _network_values(chosen["network"]),
    }
    groups: dict[str, type] = {
        "run": Run,
        "mode": MODES[chosen["mode"]],
        "data": DATA[chosen["data"]],
        "network": NetworkConfig,
    }
    known = all_keys(groups)
    anywhere = every_key()
    top = {"framework": "torch", "output_dir": "output"}
    for name, value in [*_flat(file), *overrides]:
        from_file = (name, value) not in overrides
        if name in _CHOICES or (name.endswith(".name") and name[:-5] in _CHOICES):
            continue
        if name in top:
            top[name] = str(value)
        elif name in known:
            _put(values, name.split("."), value)
        elif from_file and name in anywhere:
            continue  # of a group that another choice would have
        else:
            raise ConfigError(_unknown(name, known, anywhere, chosen))
    if top["framework"] != "torch":
        raise ConfigError(
            f"framework={show(top['framework'])}: only torch is there (with poptorch for IPUs)."
        )
    built = {group: _build(group, kind, values[group]) for group, kind in groups.items()}
    config = Config(**built, framework="torch", output_dir=top["output_dir"])
    check(config)
    return config


def check(config: Config) -> None:
    """Refuse values that do not go together.

    Raises:
        ConfigError: says which, and what to change.
    """
    run = config.run
    if not run.id or not all(each.isalnum() or each in "._-+=" for each in run.id) or set(run.id) <= {"."}:
        raise ConfigError(f"run.id={show(run.id)} names a folder: use letters, digits and . _ - + = only.")
    if run.ipus not in (1, 2, 4):
        raise ConfigError(f"run.ipus={run.ipus}: the network can be split for 1, 2 or 4 IPUs.")
    on_ipu = run.compute_mode is ComputeMode.IPU
    if run.precision is Precision.bfloat16 and on_ipu:
        raise ConfigError(
            "run.precision=bfloat16 does not exist on IPUs: they compute in float32 and float16. "
            "Take float16 or mixed, or run.compute_mode=CPU."
        )
    if run.precision is Precision.float16 and not on_ipu:
        raise ConfigError(
            f"run.precision=float16 is for IPUs, whose optimizers update half weights; on the {run.compute_mode} "
            "take mixed or bfloat16, which keep float32 weights."
        )
    if run.stochastic_rounding and not (on_ipu and run.precision is Precision.float16):
        raise ConfigError("run.stochastic_rounding needs run.compute_mode=IPU and run.precision=float16.")
    only_ipu = {
        "replicas": (run.replicas, 1),
        "ipus": (run.ipus, 1),
        "device_iterations": (run.device_iterations, 1),
        "recompute": (str(run.recompute), "none"),
        "executable_cache": (run.executable_cache, ""),
        "profile": (run.profile, False),
    }
    if not on_ipu:
        for name, (value, default) in only_ipu.items():
            if value != default:
                raise ConfigError(f"run.{name}={value} is for run.compute_mode=IPU, not {run.compute_mode}.")
        if config.data.loading != "sync":
            raise ConfigError(f"data.loading={config.data.loading} is for run.compute_mode=IPU.")
    if (
        config.mode.name == "train"
        and run.ipus > 1
        and config.mode.optimizer.gradient_accumulation < 2 * run.ipus - 1
    ):
        raise ConfigError(
            f"A pipeline over run.ipus={run.ipus} needs mode.optimizer.gradient_accumulation={2 * run.ipus - 1} or "
            f"more to fill its stages; it is {config.mode.optimizer.gradient_accumulation}."
        )


def as_plain(config: Config) -> dict[str, Any]:
    """The configuration as plain values."""
    return {each: plain(getattr(config, each)) for each in _TOP}


def as_yaml(config: Config) -> str:
    """The configuration as a YAML file that `load` takes."""
    return yaml.safe_dump(as_plain(config), sort_keys=False, allow_unicode=True)


def all_keys(groups: Mapping[str, type]) -> dict[str, tuple[Any, Any]]:
    """Each key with its type and declaration."""
    found: dict[str, tuple[Any, Any]] = {}
    for group, kind in groups.items():
        for each in fields(kind):
            of = types_of(kind)[each.name]
            if is_dataclass(of):
                found |= {
                    f"{group}.{each.name}.{name[2:]}": value for name, value in all_keys({"_": of}).items()
                }
            elif each.name != "name" or "." in group or group == "_":
                found[f"{group}.{each.name}"] = (of, each)
    return found


def every_key() -> set[str]:
    """The keys of all choices together."""
    found = set(all_keys({"run": Run, "network": NetworkConfig}))
    for group, kinds in (("mode", MODES), ("data", DATA)):
        for kind in kinds.values():
            found |= set(all_keys({group: kind}))
    return found | {"framework", "output_dir", *_CHOICES}


def _choice(group: str, in_file: Any, overrides: Sequence[tuple[str, str]]) -> str:
    name = in_file.get("name") if isinstance(in_file, dict) else in_file
    for key, value in overrides:
        if key in (group, f"{group}.name"):
            name = value
    text = _DEFAULT_CHOICES[group] if name is None else str(name)
    options = _CHOICES[group]
    # the original spells some with capitals and dashes
    folded = {each.lower(): each for each in options}
    found = folded.get(text.lower().replace("-", "_")) or folded.get(text.lower().replace("_", ""))
    if found is None:
        raise ConfigError(
            f"{group}={show(text)}: there is none; there are {', '.join(options)}.{did_you_mean(text, options)}"
        )
    return found


def _network_values(name: str) -> dict[str, Any]:
    base = CONFIGURATIONS[name]
    return {each.name: getattr(base, each.name) for each in fields(base)}


def _flat(file: Mapping[str, Any], prefix: str = "", depth: int = 0) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for name, value in file.items():
        if isinstance(value, dict) and depth < 3:
            found += _flat(value, f"{prefix}{name}.", depth + 1)
        else:
            found.append((f"{prefix}{name}", value))
    return found


def _put(values: dict[str, Any], path: list[str], value: Any) -> None:
    for part in path[:-1]:
        values = values.setdefault(part, {})
    values[path[-1]] = value


def _build(group: str, kind: type, values: Mapping[str, Any]) -> Any:
    arguments: dict[str, Any] = {}
    hints = types_of(kind)
    for each in fields(kind):
        if is_dataclass(hints[each.name]):
            inner = values.get(each.name, {})
            arguments[each.name] = _build(f"{group}.{each.name}", hints[each.name], inner)
        elif each.name in values:
            arguments[each.name] = converted(
                f"{group}.{each.name}", values[each.name], hints[each.name], each
            )
    try:
        return kind(**arguments)
    except ValueError as error:
        raise ConfigError(str(error)) from None


def _unknown(name: str, known: Iterable[str], anywhere: set[str], chosen: Mapping[str, str]) -> str:
    if name in NOT_HERE:
        return f"{name}: {NOT_HERE[name]}."
    group = name.split(".", 1)[0]
    if name in anywhere:
        return f"{group}={chosen[group]} has no {name}; another {group} has.{did_you_mean(name, known)}"
    return f"There is no key {show(name)}.{did_you_mean(name, [*known, *_TOP])} --help lists all."
