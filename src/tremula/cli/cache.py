"""`tremula cache`: lists, checks and shrinks the executable cache.

The command works on the given folder only. If programs would not trust that folder and use their own instead, the
command says so.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.table import Table

from tremula.cache import EntryInfo, Removed, Store, default_root
from tremula.cli.command import Command, CommandError
from tremula.formatting import counted
from tremula.settings import env
from tremula.settings.quantities import parse_size, parse_span, size_text, span_text

_SHORT = 12
_MAX_ABOUT = 200


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(title="actions", metavar="action", required=True)

    def action(name: str, help: str, run: Callable[[argparse.Namespace], int]) -> argparse.ArgumentParser:
        added = actions.add_parser(name, help=help, description=help)
        added.add_argument(
            "--dir",
            metavar="PATH",
            help="the cache folder (default: POPTORCH_CACHE_DIR, or the user's cache folder)",
        )
        added.set_defaults(action=run)
        return added

    listing = action("ls", "list the entries, most recently used first", _ls)
    info = action("info", "show the details of one entry", _info)
    info.add_argument("key", metavar="KEY", help="the key of an entry, or its first characters")
    prune = action("prune", "remove the least recently used entries and incomplete files", _prune)
    prune.add_argument(
        "--max-size",
        type=_parsed(parse_size),
        metavar="SIZE",
        help="reduce the cache to this size, for example 2G",
    )
    prune.add_argument(
        "--older-than",
        type=_parsed(parse_span),
        metavar="AGE",
        help="remove entries not used for this long, for example 30d",
    )
    clear = action("clear", "remove all entries", _clear)
    clear.add_argument("--yes", action="store_true", help="do not ask for confirmation")
    verify = action("verify", "check every entry; exit with 1 if one is damaged", _verify)
    for each in (listing, info, verify):
        each.add_argument("--json", action="store_true", help="print JSON")


def _parsed(parse: Callable[[str], Any]) -> Callable[[str], Any]:
    def typed(text: str) -> Any:
        try:
            return parse(text)
        except ValueError as problem:
            raise argparse.ArgumentTypeError(f"{problem}, not {text!r}") from None

    return typed


def _run(args: argparse.Namespace) -> int:
    try:
        code: int = args.action(args)
    except OSError as problem:
        where = args.dir or "the cache folder"
        raise CommandError(f"{where} cannot be read: {problem.strerror or problem}") from None
    return code


def _store(args: argparse.Namespace) -> Store:
    return Store(args.dir or env.get("POPTORCH_CACHE_DIR") or default_root())


def _ls(args: argparse.Namespace) -> int:
    store = _store(args)
    entries = list(store.entries())
    if args.json:
        print(json.dumps([_plain(entry) for entry in entries], indent=2))
        return 0
    table = _table("entry", "size", "made", "used", "about")
    table.columns[1].justify = "right"
    now = time.time()
    for entry in entries:
        row = (
            entry.key[:_SHORT],
            size_text(entry.size),
            _ago(entry.created, now),
            _ago(entry.last_used, now),
        )
        table.add_row(*row, _about(entry), style="yellow" if entry.problem else None)
    if entries:
        _console().print(table)
    _note_distrust(store)
    print(f"{_total(entries)} in {_shown(str(store.root))}, of {size_text(store.limit_bytes)} allowed")
    return 0


def _info(args: argparse.Namespace) -> int:
    store = _store(args)
    entry = _found(store, args.key)
    problem = store.check(entry.key)
    if args.json:
        print(json.dumps({**_plain(entry), "problem": problem}, indent=2))
        return 0
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, style="bold")
    table.add_column(overflow="fold")
    table.add_row("key", entry.key)
    table.add_row("file", _shown(str(entry.path)))
    table.add_row("size", f"{size_text(entry.size)} ({entry.size:,} bytes)")
    table.add_row("made", _moment(entry.created))
    table.add_row("used", _moment(entry.last_used))
    table.add_row("state", "sound" if problem is None else _shown(problem))
    for name, length in entry.blobs.items():
        table.add_row("holds", f"{_shown(name)}, {size_text(length)}")
    for name, value in entry.metadata.items():
        text = value if isinstance(value, str) else json.dumps(value)
        table.add_row(_shown(name), _shown(text))
    _console().print(table)
    _note_distrust(store)
    return 0


def _prune(args: argparse.Namespace) -> int:
    store = _store(args)
    _report(store, store.prune(args.max_size, args.older_than))
    return 0


def _clear(args: argparse.Namespace) -> int:
    store = _store(args)
    entries = list(store.entries())
    if entries and not args.yes:
        if not sys.stdin.isatty():
            raise CommandError(
                "cannot ask for confirmation: stdin is not a terminal; use `tremula cache clear --yes`"
            )
        answer = input(f"Remove {_total(entries)} from {_shown(str(store.root))}? [y/N] ")
        if answer.strip().lower() not in ("y", "yes"):
            print("Nothing was removed.")
            return 1
    _report(store, store.clear())
    return 0


def _verify(args: argparse.Namespace) -> int:
    store = _store(args)
    distrust = store.distrust()
    results = store.verify()
    bad = sum(problem is not None for _, problem in results)
    if args.json:
        rows = [{"file": str(path), "problem": problem} for path, problem in results]
        print(json.dumps({"directory": str(store.root), "problem": distrust, "files": rows}, indent=2))
        return 1 if bad or distrust else 0
    table = _table("entry", "problem")
    for path, problem in results:
        if problem is not None:
            table.add_row(path.name[:_SHORT], _shown(problem), style="yellow")
    if bad:
        _console().print(table)
    _note_distrust(store)
    print(
        f"{len(results) - bad} of {counted(len(results), 'entry', 'entries')} sound in {_shown(str(store.root))}"
    )
    return 1 if bad or distrust else 0


def _found(store: Store, prefix: str) -> EntryInfo:
    found = [entry for entry in store.entries() if entry.key.startswith(prefix.lower())]
    if not found:
        raise CommandError(
            f"no entry in {store.root} starts with {prefix!a}; `tremula cache ls` lists the entries"
        )
    if len(found) > 1:
        raise CommandError(
            f"{len(found)} entries in {store.root} start with {prefix!a}; give more characters of the key"
        )
    return found[0]


def _report(store: Store, removed: Removed) -> None:
    drafts = f" and {counted(removed.drafts, 'unfinished file')}" if removed.drafts else ""
    print(f"Removed {counted(removed.entries, 'entry', 'entries')} ({size_text(removed.bytes)}){drafts}.")
    _note_distrust(store)
    print(f"{_total(list(store.entries()))} in {_shown(str(store.root))}")


def _note_distrust(store: Store) -> None:
    distrust = store.distrust()
    if distrust is not None:
        text = f"Programs do not use this folder: {distrust}. They use {default_root()} instead."
        print(_shown(text), file=sys.stderr)


def _plain(entry: EntryInfo) -> dict[str, Any]:
    return {
        "key": entry.key,
        "file": str(entry.path),
        "size": entry.size,
        "created": entry.created,
        "last_used": entry.last_used,
        "blobs": entry.blobs,
        "metadata": entry.metadata,
        "problem": entry.problem,
    }


def _about(entry: EntryInfo) -> str:
    """The description that the writer stored with the entry, or else its plain fields."""
    if entry.problem is not None:
        return _shown(f"ignored: {entry.problem}")
    text = entry.metadata.get("about")
    if not isinstance(text, str):
        fields = entry.metadata.items()
        text = ", ".join(f"{name} {value}" for name, value in fields if isinstance(value, str | int | float))
    return _shown(text[:_MAX_ABOUT])


def _shown(text: str) -> str:
    """Text from disk with control characters escaped, so that it cannot control the terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def _total(entries: list[EntryInfo]) -> str:
    return f"{counted(len(entries), 'entry', 'entries')}, {size_text(sum(entry.size for entry in entries))}"


def _ago(moment: float, now: float) -> str:
    return f"{span_text(now - moment)} ago" if moment else "-"


def _moment(moment: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(moment)) if moment else "-"


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns[:-1]:
        table.add_column(column, no_wrap=True)
    table.add_column(columns[-1], overflow="fold")
    return table


def _console() -> Console:
    """A console as wide as the terminal. In a pipe it is wide enough for one row per line."""
    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else 300
    return Console(highlight=False, markup=False, emoji=False, width=width)


COMMAND = Command(
    "cache", "manage the executable cache: ls, info, prune, clear, verify", _add_arguments, _run
)
