"""The engine names no shim: its messages and rules serve the users of every front end."""

from __future__ import annotations

import json
import re
from pathlib import Path

import tremula
from tremula.settings.shims import SHIMS

ENGINE = Path(tremula.__file__).parent
#: front ends, and the tables of names that programs see
TABLES = (
    "frontends/",
    "settings/variables.py",
    "settings/shims.py",
    "stack_layers.py",
    "distributed/protocol.py",
)
#: popart is also a layer of the stack, with options and log lines of its own: as a shim it is named with a dot
_NAMES = re.compile("|".join(rf"\b{name}\." if name == "popart" else name for name in SHIMS), re.IGNORECASE)
#: names of environment variables are public interface; the table of variables describes them
_VARIABLE = re.compile(r"\b[A-Z]+_[A-Z0-9_]*\b")


#: options and methods of a shim, by the spelling that only its interface has
_API = Path(__file__).parent / "golden" / "poptorch_api.json"
_CAMEL_CASE = re.compile(r"[a-z]+[A-Z]\w+")


def mentions(names: re.Pattern[str], *more_tables: str) -> dict[str, list[str]]:
    """Lines that match `names`, by file."""
    found: dict[str, list[str]] = {}
    for path in sorted(ENGINE.rglob("*.py")):
        name = path.relative_to(ENGINE).as_posix()
        if not name.startswith((*TABLES, *more_tables)):
            lines = path.read_text(encoding="utf-8").splitlines()
            hits = [line.strip() for line in lines if names.search(_VARIABLE.sub("", line))]
            if hits:
                found[name] = hits
    return found


def test_the_engine_names_no_shim() -> None:
    assert mentions(_NAMES) == {}


def test_the_engine_names_no_option_of_a_shim() -> None:
    members = {name for members in json.loads(_API.read_text()).values() for name in members}
    options = {name for name in members if _CAMEL_CASE.fullmatch(name)}
    assert "replicationFactor" in options
    assert mentions(re.compile(rf"\b({'|'.join(sorted(options))})\b"), "settings/") == {}
