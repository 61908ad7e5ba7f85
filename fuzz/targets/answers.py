"""Saved programs and saved answers, read by `tremula estimate` and `tremula compare`."""

from __future__ import annotations

import io
import random
from pathlib import Path
from typing import Any

import numpy as np

from fuzz.mutations import change_json, change_zip, flip_bytes
from fuzz.target import Target
from tremula import ask
from tremula.errors import Error
from tremula.program.file import load_program
from tremula.study import saved


def _subject() -> Any:
    import poptorch
    from fuzz.targets.exports import _INPUT, Network
    from tremula.ask import sources

    options = poptorch.Options().showCompilationProgressBar(False)
    return sources.subject(poptorch.inferenceModel(Network().eval(), options), _INPUT)


def make_programs(folder: Path) -> list[Path]:
    """A program."""
    ask.sources.save_program(_subject(), folder / "program")
    return [folder / "program"]


def make_answers(folder: Path) -> list[Path]:
    """Answers for two sizes."""
    answers = ask.estimate(_subject(), ipus=[1, 2])
    saved.save([each.result for each in answers], folder / "answers")
    return [folder / "answers"]


def _change_program(data: bytes, rng: random.Random) -> bytes:
    return change_zip(data, rng, {".json": change_json, ".npy": _change_array})


def _change_array(data: bytes, rng: random.Random) -> bytes:
    """Numbers of an array, its shape or its kind."""
    if rng.random() < 0.3:
        return flip_bytes(data, rng)
    array = np.load(io.BytesIO(data))
    kind = rng.randrange(4)
    if kind == 0 and array.size:
        array.reshape(-1)[rng.randrange(array.size)] = rng.choice((0, 1, -1, 2**31 - 1, -(2**31)))
    elif kind == 1:
        array = array[: len(array) // 2] if array.ndim else array
    elif kind == 2:
        array = array.astype(rng.choice((np.float64, np.int8, np.int64)))
    else:
        array = np.broadcast_to(array.reshape(-1)[:1], (rng.choice((0, 7, 1000)),)).copy()
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def read_programs(path: Path) -> None:
    """Load it, and ask."""
    load_program(path)
    print(ask.estimate(ask.sources.saved_program(path)))


def read_answers(path: Path) -> None:
    """Read and compare."""
    found = saved.read(path)
    print(ask.compare(f"{path}#1", f"{path}#{len(found)}"))


def refusals() -> tuple[type[BaseException], ...]:
    """The project's error."""
    return (Error,)


PROGRAMS = Target("programs", make_programs, _change_program, read_programs, refusals)
ANSWERS = Target("answers", make_answers, change_json, read_answers, refusals)
