"""Logs of runs of CosmicTagger, read by its analysis."""

from __future__ import annotations

import random
from pathlib import Path

from fuzz.mutations import VALUES, flip_bytes
from fuzz.target import Target

_STEP = "2023-08-22 23:49:{:02d},103 - INFO - train Step {} metrics: loss: {:.3}, accuracy: 0.9, (0.02s / 0.04s / 1.2)"


def make(folder: Path) -> list[Path]:
    """The log of a short run."""
    lines = ["2023-08-22 23:49:40,103 - INFO - Running train", "", "-- CONFIG --", "run:", "  iterations: 20"]
    lines += [_STEP.format(step % 60, step, 1.0 / (step + 1)) for step in range(40)]
    path = folder / "process.log"
    path.write_text("\n".join(lines) + "\n")
    return [path]


def mutate(data: bytes, rng: random.Random) -> bytes:
    """Bytes, lines and words."""
    if rng.random() < 0.4:
        return flip_bytes(data, rng)
    lines = data.decode(errors="replace").splitlines()
    for _ in range(rng.choice((1, 3, 10))):
        place = rng.randrange(len(lines))
        words = lines[place].split(" ")
        words[rng.randrange(len(words))] = str(rng.choice(VALUES))
        lines[place] = " ".join(words) if rng.random() < 0.8 else rng.choice(lines)
    return "\n".join(lines).encode(errors="replace")


def read(path: Path) -> None:
    """Report, check and JSON."""
    from cosmictagger.analysis.command import main

    for options in ([], ["--check"], ["--json", str(path.parent / "analysis.json")]):
        code = main([str(path), *options])
        assert code in (0, 1, 2), f"ended with {code}"


def refusals() -> tuple[type[BaseException], ...]:
    """None: the command says what is wrong and returns a code."""
    return ()


LOGS = Target("logs", make, mutate, read, refusals, names_file=False)
