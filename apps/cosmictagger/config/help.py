"""The text of --help: how the program is called, and every key with its meaning and default."""

from __future__ import annotations

import argparse
import textwrap
from dataclasses import fields
from enum import Enum
from typing import Any

from cosmictagger.config.groups import DATA, MODES, NETWORK_MEANINGS, Run
from cosmictagger.config.keys import default_of, show
from cosmictagger.config.loading import all_keys, preset_names
from cosmictagger.network.configurations import CONFIGURATIONS, NetworkConfig

_USAGE = """\
cosmictagger: find the pixels of a neutrino among those of cosmic rays.

  cosmictagger [--config-name=NAME] [key=value ...]

  cosmictagger --config-name=demo run.id=first          train a small network on generated events
  cosmictagger --config-name=demo run.id=first mode=inference
  cosmictagger mode=train run.id=a data=real data.data_directory=/data network=a21 run.compute_mode=IPU
  poprun --num-instances 2 --num-replicas 2 cosmictagger mode=train run.id=b network=a21

  cosmictagger generate FILE                            write generated events to a file
  cosmictagger analyse LOG...                           what logs say, of the original too; what is wrong with a run
  cosmictagger scale [--config-name=NAME] [key=value ...]   how a configuration would scale over IPUs

  --config-name=NAME  {presets}, or a YAML file; config by default
  --cfg               show the configuration and stop
  --help, -h          show this text
  --version           show the version

Everything of a run is in output_dir/torch/<network>/<run.id>/. Started again, a training run continues from its newest
checkpoint. Exit codes: 0 done, 1 failed, 2 the command line or configuration is wrong, 130 interrupted (saved first).
"""


def build_parser() -> argparse.ArgumentParser:
    """Options and keys as a parser, for shell completion."""
    groups = {
        "run": [Run],
        "mode": list(MODES.values()),
        "data": list(DATA.values()),
        "network": [NetworkConfig],
    }
    found = [key for group, kinds in groups.items() for kind in kinds for key in all_keys({group: kind})]
    words = [f"{name}=" for name in dict.fromkeys([*groups, *found])]
    made = argparse.ArgumentParser(prog="cosmictagger")
    made.add_argument("--config-name", choices=preset_names(), help="a preset, or a YAML file")
    made.add_argument("--cfg", action="store_true", help="show the configuration and stop")
    made.add_argument("--version", action="store_true", help="show the version")
    made.add_argument(
        "setting",
        nargs="*",
        metavar="command or key=value",
        choices=["generate", "analyse", "scale", *words],
        help="a command (generate, analyse or scale), or a setting of the run",
    )
    return made


def help_text() -> str:
    """All of it."""
    parts = [_USAGE.format(presets=", ".join(preset_names()))]
    parts.append(
        _section("", [("output_dir", "output", "folder of all runs"), ("framework", "torch", "only torch")])
    )
    parts.append(_section("run", _rows("run", Run)))
    parts.append(f"mode={'|'.join(MODES)}\n")
    parts += [
        _section(f"mode={name}: {_first_line(kind)}", _rows("mode", kind)) for name, kind in MODES.items()
    ]
    parts.append(f"data={'|'.join(DATA)}\n")
    parts += [
        _section(f"data={name}: {_first_line(kind)}", _rows("data", kind)) for name, kind in DATA.items()
    ]
    parts.append(f"network={'|'.join(CONFIGURATIONS)}\n")
    rows = [
        (f"network.{each.name}", _shown(default_of(each)), NETWORK_MEANINGS.get(each.name, ""))
        for each in fields(NetworkConfig)
        if each.name != "name"
    ]
    parts.append(_section("network (defaults are those of uresnet; each network has its own)", rows))
    return "\n".join(parts)


def _rows(group: str, kind: type) -> list[tuple[str, str, str]]:
    return [
        (name, _shown(default_of(declared)), declared.metadata.get("meaning", ""))
        for name, (_, declared) in all_keys({group: kind}).items()
    ]


def _section(title: str, rows: list[tuple[str, str, str]]) -> str:
    lines = [title] if title else []
    for name, default, meaning in rows:
        head = f"  {name}={default}"
        text = textwrap.wrap(meaning, 66)
        if len(head) > 42 or not text:
            lines.append(head)
        else:
            lines.append(f"{head:<43} {text.pop(0)}")
        lines += [" " * 44 + each for each in text]
    return "\n".join(lines) + "\n"


def _first_line(kind: type) -> str:
    return (kind.__doc__ or "").splitlines()[0].rstrip(".")


def _shown(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, tuple):
        return ",".join(str(each) for each in value)
    return show(str(value))
