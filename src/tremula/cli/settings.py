"""`tremula settings`: lists the environment variables that the stack reads, with value and effect."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from tremula.cli.command import Command
from tremula.errors import Error
from tremula.settings import VARIABLES, Variable, env

#: shown without `--all`, set or not
_COMMON = frozenset(
    {
        "POPLAR_ENGINE_OPTIONS",
        "POPTORCH_CACHE_DIR",
        "POPTORCH_LOG_LEVEL",
        "POPTORCH_WAIT_FOR_IPU",
        "TF_POPLAR_FLAGS",
        "TREMULA_CACHE_DIR",
        "TREMULA_ESTIMATE",
        "TREMULA_EXECUTION",
        "TREMULA_OUT_OF_MEMORY",
        "TREMULA_SUMMARY",
        "TREMULA_SYSTEM",
        "TREMULA_THREADS",
        "TREMULA_VIRTUAL_IPUS",
    }
)


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--all", action="store_true", help="list all variables with their descriptions")
    which.add_argument("--set", action="store_true", help="list only the variables that are set")
    parser.add_argument("--json", action="store_true", help="print all variables as JSON")


def _chosen(args: argparse.Namespace) -> list[Variable]:
    if args.set:
        return [variable for variable in VARIABLES if env.is_set(variable.name)]
    if args.all or args.json:
        return list(VARIABLES)
    return [variable for variable in VARIABLES if variable.name in _COMMON or env.is_set(variable.name)]


def _row(variable: Variable) -> dict[str, Any]:
    row: dict[str, Any] = {
        "name": variable.name,
        "kind": variable.kind,
        "value": env.raw(variable.name),
        "default": variable.default,
        "effect": variable.effect,
        "meaning": variable.meaning,
    }
    try:
        env.get(variable.name)
    except Error as error:
        row["problem"] = error.message
    return row


def _value(row: dict[str, Any]) -> str:
    if row["value"]:
        return f"{row['value']} (not valid)" if "problem" in row else str(row["value"])
    default = row["default"]
    shown = {None: "-", "": "-", True: "1", False: "0"}.get(default, default) if default != {} else "-"
    return f"{shown}"


def _run(args: argparse.Namespace) -> int:
    rows = [_row(variable) for variable in _chosen(args)]
    if args.json:
        print(json.dumps(rows, indent=2))
    elif not rows:
        print("No environment variable of Tremula is set; `tremula settings --all` lists them.")
    else:
        _print(rows)
        if len(rows) < len(VARIABLES) and not args.set:
            print(f"\n{len(VARIABLES) - len(rows)} more are not set; `tremula settings --all` lists them.")
    return 1 if any("problem" in row for row in rows) else 0


def _print(rows: Sequence[dict[str, Any]]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("variable", no_wrap=True)
    table.add_column("now", overflow="fold")
    table.add_column("effect", overflow="fold")
    table.add_column("meaning", overflow="fold", ratio=1)
    for row in rows:
        style = "bold" if row["value"] else None
        table.add_row(row["name"], _value(row), row["effect"], row["meaning"], style=style)
    Console(highlight=False, markup=False, emoji=False).print(table)


COMMAND = Command("settings", "list the environment variables that Tremula reads", _add_arguments, _run)
