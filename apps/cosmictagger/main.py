"""The command `cosmictagger`: a run, as a preset and `key=value` overrides describe it, or one of its tools.

Whoever is meant is imported then: reading logs need not wait for torch. Exit codes: 0 done, 1 failed, 2 the command
line or the configuration is wrong, 130 interrupted.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence

#: words that stand before everything else, and who sees to them
_TOOLS = {
    "analyse": "cosmictagger.analysis.command",
    "generate": "cosmictagger.data.generate.command",
    "scale": "cosmictagger.scaling",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it; the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    tool = _TOOLS.get(given[0]) if given else None
    try:
        if tool is not None:
            return int(importlib.import_module(tool).main(given[1:]))
        return int(importlib.import_module("cosmictagger.running").main(given))
    except KeyboardInterrupt:
        print("cosmictagger: interrupted.", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # whoever read the output has gone; Python must not complain about it again at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
