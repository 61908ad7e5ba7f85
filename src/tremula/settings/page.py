"""Writes the reference page of all settings, `docs/settings.md`, from the tables.

`python -m tremula.settings.page [file]` writes it; a test keeps it true.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from tremula.atomic_files import write_text_atomically
from tremula.settings.engine_options import ENGINE_OPTIONS
from tremula.settings.environment import VARIABLES, Variable
from tremula.settings.popart_options import OPTIONS
from tremula.settings.poplar_flags import FLAGS, Flag

_INTRODUCTION = """\
# Settings

This page lists all settings that can be made outside a program, or by name in a program's options.

- *Honoured* settings have the same effect as on the real stack.
- *Recorded* settings do not change results. They are stored for the chip model.
- All others are accepted without effect. One warning per process says so, with the reason.

`python -m tremula.settings.page` writes this page. To change it, edit the tables in `tremula.settings`.
"""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def _default(variable: Variable | Flag) -> str:
    value = variable.default
    if value is None or value in ("", {}, ()):
        return "unset"
    if isinstance(value, bool):
        return str(int(value))
    return str(value)


def render() -> str:
    """The page as Markdown."""
    variables = table(
        ("Variable", "Takes", "Default", "Meaning", "Read by", "Effect"),
        ((f"`{v.name}`", v.kind, _default(v), v.meaning, v.reader, v.effect) for v in VARIABLES),
    )
    engine = table(
        ("Option", "Takes", "Meaning", "Effect"),
        ((f"`{o.name}`", o.kind, o.meaning, o.effect) for o in sorted(ENGINE_OPTIONS, key=lambda o: o.name)),
    )
    popart = table(
        ("Option", "Takes", "Effect"),
        (
            (f"`{o.name}`", o.kind if o.size is None else f"0 to {o.size - 1}", o.effect)
            for o in sorted(OPTIONS, key=lambda o: o.name.lower())
        ),
    )
    flags = table(
        ("Flag", "Takes", "Default", "Meaning", "Effect"),
        ((f"`--{f.name}`", f.kind, _default(f), f.meaning, f.effect) for f in FLAGS),
    )
    return "\n".join(
        (
            _INTRODUCTION,
            "## Environment variables\n",
            "An empty variable counts as unset. An invalid value is an error that names the variable.\n",
            variables,
            "\n## Engine options\n",
            "Set them with `POPLAR_ENGINE_OPTIONS` (a JSON object) or `Options._Popart.setEngineOptions`.",
            "Other names are refused.\n",
            engine,
            "\n## Options of the PopART layer\n",
            "Set them with `Options._Popart.set(name, value)`. Options with an underscore in their name are set by",
            "methods of the options object. Other names are refused when a model is compiled.\n",
            popart,
            "\n## Flags of the TensorFlow front end\n",
            "Set them with `TF_POPLAR_FLAGS`, separated by spaces. Other flags are refused.\n",
            flags,
            "",
        )
    )


def write(path: Path) -> None:
    """Put the page at `path`, as a whole."""
    write_text_atomically(path, render())


if __name__ == "__main__":
    write(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/settings.md"))
