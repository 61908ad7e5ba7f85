"""A fresh process for what a speed benchmark measures; its answer is a JSON file."""

from __future__ import annotations

import json
import pathlib
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[1]
#: a process that takes longer is given up, and its row says so
CHILD_TIMEOUT_S = 900


class ChildError(Exception):
    """A measuring process failed; says how."""


def answer_of(
    command: Sequence[str], environment: Mapping[str, str], answer: pathlib.Path, kind: str
) -> dict[str, Any]:
    """Run a command that writes its answer to a file.

    Raises:
        ChildError: it failed or took too long.
    """
    answer.unlink(missing_ok=True)
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=CHILD_TIMEOUT_S, check=False
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise ChildError(f"{kind}: gave up after {CHILD_TIMEOUT_S} s") from None
    if done.returncode != 0 or not answer.exists():
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise ChildError(f"{kind}: exit status {done.returncode}: {last}")
    return json.loads(answer.read_text())
