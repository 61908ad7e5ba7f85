"""Writes the page of PopART's session options, `docs/popart-options.md`, from their table.

`python -m tremula.settings.session_page [file]` writes it; a test keeps it true.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tremula.atomic_files import write_text_atomically
from tremula.settings.page import table
from tremula.settings.session_options import OPTIONS, SETTINGS, SessionOption

_INTRODUCTION = """\
# Options of PopART sessions

This page lists the fields of `SessionOptions`.

- *Honoured* options have the same effect as on the real stack.
- *Recorded* options do not change results. They are stored for the chip model, and one line at INFO says so.
- All others are accepted without effect. One warning per process says so, with the reason.

A name that is not listed raises `AttributeError`, and a value of another type `TypeError`.

Dictionaries are live: `options.engineOptions["name"] = "value"` takes effect like a new dictionary. Engine options are
those of [settings.md](settings.md); `POPART_CACHE_DIR` sets `enableEngineCaching` and `cachePath` of new options.

With `enableEngineCaching`, a session on IPUs (virtual or offline) stores its program in `cachePath`: the graph without
the values of its weights, and the settings of the session. This is an entry of the [executable cache](cache.md), signed
and limited in size like all others. A later session of the same program loads it, says so in the log, and then has no
reports, as on the real stack. The program itself saves no time, because graphs need no compilation to run. If a
captured graph is compiled later ([performance.md](performance.md)), its code is stored in `cachePath` too, on any
device. If `autoReport.*` requests a profile, it is written to `cachePath`, without runs. Sessions on the host and on
IPU models do not store their program.

`python -m tremula.settings.session_page` writes this page. To change it, edit the table in
`tremula.settings.session_options`.
"""
_WORDS = {"strs": "list of str", "strs?": "list of str", "floats": "list of float", "ints": "list of int"}


def _default(option: SessionOption) -> str:
    if option.default is None or option.default in ((), ""):
        return "unset" if option.kind == "strs?" else "empty" if option.kind not in SETTINGS else "see below"
    if isinstance(option.default, tuple):
        return ", ".join(option.default)
    return f"{option.default:g}" if isinstance(option.default, float) else str(option.default)


def _rows(options: tuple[SessionOption, ...]) -> list[tuple[str, ...]]:
    return [
        (f"`{o.name}`", _WORDS.get(o.kind, o.kind.replace("instrumentations", "set of Instrumentation")),
         _default(o), o.effect)
        for o in options
    ]  # fmt: skip


def render() -> str:
    """The page as Markdown."""
    head = ("Option", "Takes", "Default", "Effect")
    parts = [
        _INTRODUCTION,
        "## Options\n",
        table(head, _rows(tuple(sorted(OPTIONS, key=lambda o: o.name.lower().lstrip("_"))))),
        "\n## Groups of settings\n",
        "If the option that contains a group has no effect, its fields have none either.\n",
    ]
    for name, fields in SETTINGS.items():
        parts += [f"### {name}\n", table(head, _rows(fields)), ""]
    parts += [
        "### TensorLocationSettings\n",
        "`location` (`TensorLocation`: storage, loadTileSet, storageTileSet, replicatedTensorSharding,",
        "shardingDomain), `minElementsForOffChip` (2), `minElementsForReplicatedTensorSharding` (8192).",
        "",
    ]
    return "\n".join(parts)


def write(path: Path) -> None:
    """Put the page at `path`, as a whole."""
    write_text_atomically(path, render())


if __name__ == "__main__":
    write(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/popart-options.md"))
