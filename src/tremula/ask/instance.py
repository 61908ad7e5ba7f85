"""One process of a measured run: `python -m tremula.ask.instance`, started by poprun.

Trains the first model that a program calls for a few steps together with the other instances, and writes the figures.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tremula.ask.sources import each_subject
from tremula.atomic_files import write_text_atomically
from tremula.distributed import launch_environment
from tremula.errors import Error
from tremula.scale.measure import FIGURES
from tremula.study.subject import Subject


def main(words: list[str]) -> int:
    """Measure; the words are those of `tremula.scale.measure`."""
    folder, settings, *subject = words
    given = json.loads(settings)
    index, count = launch_environment.instance(), launch_environment.instances()

    def measure(model: Subject) -> dict[str, Any]:
        found = model.train_together(index, count, given["steps"])
        return {"run": None if found is None else asdict(found)}

    try:
        figures = each_subject(subject, measure, optimizer=given["optimizer"], values=True)[0]
    except Error as problem:
        sys.stderr.write(f"tremula: {problem.message}\n")
        if index == 0:
            write_text_atomically(Path(folder) / FIGURES, json.dumps({"problem": problem.message}))
        return 1
    if index == 0:
        write_text_atomically(Path(folder) / FIGURES, json.dumps(figures))
    sys.stdout.flush()
    # the program was stopped in the middle: its threads and workers are not waited for
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
