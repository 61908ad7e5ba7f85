"""The script that tells a shell where headers and libraries are, with the variables that the SDK's script sets."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

#: variables that begin with a folder of the installation: name and folder
_PATHS = (
    ("CPLUS_INCLUDE_PATH", "include"),
    ("C_INCLUDE_PATH", "include"),
    ("LIBRARY_PATH", "lib"),
    ("LD_LIBRARY_PATH", "lib"),
    ("CMAKE_PREFIX_PATH", ""),
)


def enable_script(root: Path) -> str:
    """The text of enable.sh for an installation. It may be read twice by one shell without harm."""
    lines = [
        "# Read this file with `source`: programs then find the Poplar headers and libraries of Tremula.",
        f"export POPLAR_SDK_ENABLED={shlex.quote(str(root))}",
        "_tremula_first() {",
        '  eval "_tremula_old=\\${$1:-}"',
        '  case ":$_tremula_old:" in',
        '    *":$2:"*) ;;',
        '    *) export "$1=$2${_tremula_old:+:$_tremula_old}" ;;',
        "  esac",
        "}",
    ]
    for name, folder in _PATHS:
        lines.append(f"_tremula_first {name} {shlex.quote(str(root / folder))}")
    # popc and the gc tools are beside the Python that serves programs
    lines.append(f"_tremula_first PATH {shlex.quote(str(Path(sys.executable).parent))}")
    lines += ["unset -f _tremula_first", "unset _tremula_old"]
    return "\n".join(lines) + "\n"
