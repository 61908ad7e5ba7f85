"""Programs as users start them: with poprun, in real processes. Each instance leaves arrays for the test."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np

#: `leave(name=array)` is what the test gets of an instance
_PRELUDE = """
import sys
import numpy as np
import popdist

def leave(**arrays):
    np.savez(f"{sys.argv[1]}/{popdist.getInstanceIndex()}.npz", **arrays)
"""
_TIMEOUT_S = 110


class Failed(AssertionError):
    """A run ended with an error; its text is what was printed."""


def poprun(folder: Path, program: str, instances: int, replicas: int) -> list[dict[str, np.ndarray]]:
    """Run a program with so many replicas in all; what each instance left. Its output is in `output.txt`."""
    path = folder / "program.py"
    path.write_text(_PRELUDE + textwrap.dedent(program))
    words = ["--num-instances", str(instances), "--num-replicas", str(replicas)]
    found = subprocess.run(
        [sys.executable, "-m", "tremula.launch", *words, sys.executable, str(path), str(folder)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=_TIMEOUT_S,
        check=False,
        env={**os.environ, "TREMULA_CHIP_MODEL": "off", "OMP_NUM_THREADS": "1"},
    )
    (folder / "output.txt").write_text(found.stdout)
    if found.returncode:
        raise Failed(found.stdout)
    return [dict(np.load(folder / f"{number}.npz")) for number in range(instances)]
