"""Manual pages of all commands, from their help texts: `make man` writes them to release/man.

The wheel installs them, so that `man gc-monitor` works in an environment whose `share/man` is on the manual path.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from argparse_manpage.manpage import Manpage

from tremula import __version__
from tremula.cli import parsers

FOLDER = Path(__file__).parent / "man"
#: settings of a run are listed by the commands' own help, which is too long for a page
_LEFT_OUT = ("cosmictagger", "cosmoflow")


def page(command: str) -> str:
    """The manual page of a command, in troff."""
    parser = parsers.parser(command)
    # without a date the page changes only with the command
    data = {"project_name": "Tremula", "version": __version__, "manual_title": "Tremula Manual", "date": " "}
    return str(Manpage(parser, _data=data))


def main() -> int:
    """Write all pages."""
    os.environ["COLUMNS"] = "100"
    FOLDER.mkdir(exist_ok=True)
    for command in parsers.COMMANDS:
        if command not in _LEFT_OUT:
            (FOLDER / f"{command}.1").write_text(page(command), encoding="utf-8")
    sys.stdout.write(f"{len(list(FOLDER.glob('*.1')))} pages in {FOLDER}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
