"""`tremula settings`: every environment variable that reaches the stack, its value now and what it does."""

from __future__ import annotations

import argparse
import json
from typing import Any

from rich.console import Console
from rich.table import Table

from tremula.cli.command import Command
from tremula.errors import Error
from tremula.settings import VARIABLES, Variable, env


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--set", action="store_true", help="only the variables that are set now")
    parser.add_argument("--json", action="store_true", help="the same table for scripts")


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
        return f"{row['value']} (not readable)" if "problem" in row else str(row["value"])
    default = row["default"]
    shown = {None: "-", "": "-", True: "1", False: "0"}.get(default, default) if default != {} else "-"
    return f"{shown}"


def _run(args: argparse.Namespace) -> int:
    rows = [_row(variable) for variable in VARIABLES if not args.set or env.is_set(variable.name)]
    if args.json:
        print(json.dumps(rows, indent=2))
    elif not rows:
        print("None of the variables that Tremula reads is set; `tremula settings` lists them.")
    else:
        table = Table(box=None, pad_edge=False, header_style="bold")
        table.add_column("variable", no_wrap=True)
        table.add_column("now", overflow="fold")
        table.add_column("effect", overflow="fold")
        table.add_column("meaning", overflow="fold", ratio=1)
        for row in rows:
            style = "bold" if row["value"] else None
            table.add_row(row["name"], _value(row), row["effect"], row["meaning"], style=style)
        Console(highlight=False, markup=False, emoji=False).print(table)
    return 1 if any("problem" in row for row in rows) else 0


COMMAND = Command("settings", "list the environment variables that are read", _add_arguments, _run)
