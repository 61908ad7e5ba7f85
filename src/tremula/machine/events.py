"""The application event record: the last fault that a program met, in a file that monitoring programs look at.

It is kept when IPU_APP_EVENT_RECORD_PATH names a folder. A record gives way only to one that is as severe. The
keys are those of the vendor's library of device information.
"""

from __future__ import annotations

import datetime
import json
import os
import sys
from pathlib import Path

from tremula import log, private_files
from tremula.atomic_files import atomic_open, cannot_write
from tremula.formatting import plain
from tremula.private_files import Untrusted
from tremula.settings.environment import env

#: from the least to the most severe
SEVERITIES = ("information", "warning", "error", "critical")
_NAME = "app_event_record.json"
_MAX_BYTES = 1 << 20


def record(severity: str, description: str, ipus: list[int], partition: str) -> None:
    """Write a record if it is enabled and no more severe one exists."""
    folder = env.get("IPU_APP_EVENT_RECORD_PATH")
    if not folder:
        return
    path = Path(folder) / _NAME
    before = last(folder)
    if before and _rank(before.get("severity", "")) > _rank(severity):
        return
    ids = " ".join(map(str, ipus))
    entry = {
        "event record path": str(path),
        "timestamp": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "severity": severity,
        "command line": " ".join(sys.argv)[:1000],
        "pid": str(os.getpid()),
        "attached ipus": ids,
        "specific ipus": ids,
        "attached ipu hosts": "",
        "specific ipu hosts": "",
        "partition": partition,
        "description": description,
    }
    try:
        with atomic_open(path) as file:
            json.dump(entry, file, indent=1)
    except OSError as problem:  # a record must not hide the fault itself
        log.warn_once(f"events {path}", f"The event record {cannot_write(path, problem)}")


def last(folder: str = "") -> dict[str, str]:
    """The record in a folder (by default that of the environment); empty if there is none."""
    where = folder or env.get("IPU_APP_EVENT_RECORD_PATH")
    if not where:
        return {}
    try:
        value = json.loads(private_files.read(Path(where) / _NAME, _MAX_BYTES, of_anybody=True))
    except (OSError, ValueError, RecursionError, Untrusted):
        return {}
    if not isinstance(value, dict):
        return {}
    return {plain(str(key)): plain(str(text)) for key, text in value.items()}


def _rank(severity: str) -> int:
    return SEVERITIES.index(severity) if severity in SEVERITIES else -1
