"""The engine names no shim: its messages and rules serve the users of every front end."""

from __future__ import annotations

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
_NAMES = re.compile("|".join(SHIMS), re.IGNORECASE)
#: names of environment variables are public interface; the table of variables describes them
_VARIABLE = re.compile(r"\b[A-Z]+_[A-Z0-9_]*\b")


def mentions() -> dict[str, list[str]]:
    """Lines that name a shim, by file."""
    found: dict[str, list[str]] = {}
    for path in sorted(ENGINE.rglob("*.py")):
        name = path.relative_to(ENGINE).as_posix()
        if not name.startswith(TABLES):
            lines = path.read_text(encoding="utf-8").splitlines()
            hits = [line.strip() for line in lines if _NAMES.search(_VARIABLE.sub("", line))]
            if hits:
                found[name] = hits
    return found


def test_the_engine_names_no_shim() -> None:
    assert mentions() == {}
