"""A scaling study as a JSON document, written after every row and checked when it is read.

A run continues the file of an earlier one: rows with the same basis are taken over.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from tremula.checked_json import BadValue, decode, read_document, write_document
from tremula.errors import Error
from tremula.scale.row import ScalingStudy

FORMAT = "tremula scale"
FORMAT_VERSION = 2
_NUMBERS = ("ipus", "replicas", "stages", "micro_batch", "accumulation", "device_iterations")


def plain(study: ScalingStudy, *, complete: bool = True) -> dict[str, Any]:
    """For JSON."""
    return {"format": FORMAT, "version": FORMAT_VERSION, "complete": complete, "study": asdict(study)}


def save(study: ScalingStudy, path: Path, *, complete: bool = True) -> None:
    """Write it; the old file stays until the new one is complete; raises Error if the file cannot be written."""
    write_document(path, FORMAT, FORMAT_VERSION, {"complete": complete, "study": asdict(study)})


def read(path: str | Path) -> ScalingStudy:
    """The study in a file; raises Error if there is none, or it is not one of ours."""
    data = read_document(path, FORMAT, FORMAT_VERSION, "a scaling study (`tremula scale` writes them)")
    try:
        study = decode(ScalingStudy, data.get("study"))
        for row in study.rows:
            numbers = {"ipus": 0} | {name: row.setting[name] for name in _NUMBERS if name in row.setting}
            if any(type(value) is not int for value in numbers.values()):
                raise BadValue("a setting of a row is not a whole number")
            if numbers["ipus"] < 1 or row.hosts < 1:
                raise BadValue("a row has no IPUs or no hosts")
        if study.data is not None and study.data.samples_per_second <= 0:
            raise BadValue("the data rate of a host is not positive")
    except BadValue as problem:
        raise Error(f"{path} is damaged: {str(problem)[:200]}. Delete it and run the study again.") from None
    return study
