"""Manual pages of all commands, from their help texts: `make man` writes them to release/man.

The wheel installs them, so that `man gc-monitor` works in an environment whose `share/man` is on the manual path.
"""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path

from argparse_manpage.manpage import Manpage

from tremula import __version__
from tremula.cli import parsers

FOLDER = Path(__file__).parent / "man"
#: modules of the commands that list their settings in a text of their own, `help_text()`
_LISTED = {"cosmictagger": "cosmictagger.config.help", "cosmoflow": "cosmoflow.main"}


def page(command: str) -> str:
    """The manual page of a command, in troff."""
    parser = parsers.parser(command)
    # without a date the page changes only with the command
    data = {"project_name": "Tremula", "version": __version__, "manual_title": "Tremula Manual", "date": " "}
    text = str(Manpage(parser, _data=data))
    if command in _LISTED:
        listed = importlib.import_module(_LISTED[command]).help_text()
        text = text.rstrip("\n") + "\n\n.SH SETTINGS\n.nf\n" + _plain(listed) + "\n.fi\n"
    return text


def _plain(text: str) -> str:
    """Lines of text that troff prints as they are."""
    lines = text.rstrip("\n").replace("\\", "\\e").replace("-", "\\-").splitlines()
    return "\n".join(f"\\&{line}" if line.startswith((".", "'")) else line for line in lines)


def main() -> int:
    """Write all pages."""
    os.environ["COLUMNS"] = "100"
    FOLDER.mkdir(exist_ok=True)
    for command in parsers.COMMANDS:
        (FOLDER / f"{command}.1").write_text(page(command), encoding="utf-8")
    sys.stdout.write(f"{len(list(FOLDER.glob('*.1')))} pages in {FOLDER}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
