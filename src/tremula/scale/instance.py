"""One process of a measured run: `python -m tremula.scale.instance`, started by poprun.

Runs the user's program up to its first call of a wrapped model, trains that model for a few steps together with the
other instances, and leaves the figures in a file for whoever started it.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tremula.atomic_files import write_text_atomically
from tremula.distributed import launch_environment
from tremula.errors import Error
from tremula.frontends.torch.factory import load, made_on_host, subject_of
from tremula.frontends.torch.subject import Subject
from tremula.scale.equivalence import train_together
from tremula.study.programs import subjects_of_program

#: what the figures are called in their folder
FIGURES = "figures.json"


def main(words: list[str]) -> int:
    """Measure; the words are those of `tremula.scale.measure`."""
    folder, asked, *subject = words
    settings = json.loads(asked)
    index, count = launch_environment.instance(), launch_environment.instances()

    def measured(model: Subject) -> dict[str, Any]:
        found = train_together(model, index, count, settings["steps"])
        return {"run": None if found is None else asdict(found)}

    try:
        if subject[0] == "run":
            figures = subjects_of_program(subject[1:], measured)[0]
        else:
            factory, name = load(subject[0])
            made = made_on_host(factory)
            figures = measured(subject_of(made, name, optimizer=settings["optimizer"], values=True))
    except Error as problem:
        sys.stderr.write(f"tremula: {problem.message}\n")
        if index == 0:
            write_text_atomically(Path(folder) / FIGURES, json.dumps({"problem": problem.message}))
        return 1
    if index == 0:
        write_text_atomically(Path(folder) / FIGURES, json.dumps(figures))
    sys.stdout.flush()
    # the program was left in the middle: its threads and workers are not waited for
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
