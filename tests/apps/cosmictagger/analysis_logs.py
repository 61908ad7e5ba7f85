"""Logs as the original and this program write them, made to measure: whoever tests their analysis knows the answer."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

#: 15 February 2023, 03:00:00, in milliseconds
MORNING = 1_676_430_000_000
_METRICS = "metrics: Average/Non_Bkg_Accuracy: 0.276, Average/mIoU: 0.0269, loss: 3.07"
_CONFIG = """\
mode:{s}
  logging_iteration{d}: {logging}
  name{d}: train
  optimizer:{s}
    gradient_accumulation{d}: {accumulation}
network:{s}
  name{d}: A21
output_dir{d}: output/torch/A21/{id}/
run:{s}
  aux_iterations{d}: {validate}
  compute_mode{d}: {mode}
{extra}  distributed{d}: {distributed}
  id{d}: {id}
  iterations{d}: {iterations}
  minibatch_size{d}: {batch}
  precision{d}: {precision}
"""


@dataclass
class Making:
    """What a log should be like; times in seconds."""

    ranks: int = 2
    steps: int = 24
    #: of each rank, again and again
    step: Sequence[float] = (2.0,)
    first_call: float = 3.0
    validation: float = 0.75
    validate: int = 10
    fetch: float = 0.02
    update: float = 0.04
    batch: int = 2
    accumulation: int = 1
    begin: int = MORNING
    id: str = "made"
    mode: str = "IPU"
    precision: str = "float32"
    distributed: bool = False
    ours: bool = False
    device_iterations: int = 1
    iterations: int = 0
    first_step: int = 0
    closing: bool = True
    settings: bool = True
    #: lines between the configuration and the first step
    also: Sequence[str] = ("No checkpoint file found, restarting from scratch",)
    launched: bool = field(default=True)


def stamp(milliseconds: int) -> str:
    """As `logging` writes it."""
    return (
        f"{time.strftime('%Y-%m-%d %H:%M:%S', time.gmtime(milliseconds // 1000))},{milliseconds % 1000:03d}"
    )


def train_line(when: int, step: int, fetch: float = 0.02, update: float = 0.04) -> str:
    """A training line."""
    return f"{stamp(when)} - INFO - train Step {step} {_METRICS} (0.15 Img/s / {fetch:.2} IOs / {update:.2} (Step)(s))"


def test_line(when: int, step: int) -> str:
    """A validation's line."""
    return f"{stamp(when)} - INFO - test Step {step} {_METRICS} (0.42 Img/s)"


test_line.__test__ = False  # type: ignore[attr-defined]


def config_text(making: Making) -> str:
    """The configuration in the form of either program."""
    extra = (
        f"  device_iterations: {making.device_iterations}\n  replicas: 1\n  ipus: 1\n" if making.ours else ""
    )
    distributed = str(making.distributed).lower() if making.ours else str(making.distributed)
    return _CONFIG.format(
        s="" if making.ours else " ",
        d="" if making.ours else "......",
        extra=extra,
        logging=1,
        distributed=distributed,
        accumulation=making.accumulation,
        id=making.id,
        validate=making.validate,
        mode=making.mode,
        precision=making.precision,
        batch=making.batch,
        iterations=making.iterations or making.first_step + making.steps,
    )


def records(making: Making, rank: int) -> list[tuple[int, str]]:
    """All records of a rank: when, and their text, which may have several lines."""
    now, found = making.begin, []

    def say(text: str) -> None:
        found.append((now, f"{stamp(now)} - INFO - {text}"))

    if making.launched:
        say("Dumping launch arguments.")
        say("['bin/exec.py', 'mode=train']")
        say("Running Training")
    if making.settings:
        say(f"\n\n-- CONFIG --\n{config_text(making)}")
    for text in making.also:
        say(text)
    step = making.step[rank % len(making.step)]
    calls, ends = making.steps // making.device_iterations, []
    for call in range(calls):
        number = making.first_step + call * making.device_iterations
        if making.validate and call and number % making.validate == 0:
            now += round(1000 * making.validation)
            found.append((now, test_line(now, number)))
        now += round(1000 * (making.first_call if call == 0 else step))
        ends.append(now)
        shown = number + making.device_iterations - 1
        found.append((now, train_line(now, shown, making.fetch, making.update)))
    if making.closing and calls:
        now += 20
        say(f"Total time to batch_process: {(now - making.begin) / 1000:.4f}")
        if calls > 2:
            seconds = (ends[-1] - ends[1]) / 1000
            images = (calls - 2) * making.batch * making.accumulation * making.device_iterations
            text = "Total time to batch process except first two iterations"
            say(f"{text}: {seconds:.4f}, throughput: {images / seconds:.4f}")
    return found


def tagged(making: Making, header: bool = True) -> str:
    """The log of a job under poprun."""
    every = [
        (when, rank, place, text)
        for rank in range(making.ranks)
        for place, (when, text) in enumerate(records(making, rank))
    ]
    every.sort()
    lines = [f"[1,{rank}]<stdout>:{line}" for _, rank, _, text in every for line in text.split("\n")]
    if not header:
        return "\n".join(lines) + "\n"
    numbers = " | ".join(str(each) for each in range(making.ranks))
    before = [
        f"{_clock(making.begin - 5000)} 17 POPRUN [I] Waiting for mpirun (PID 18)",
        f"| instances | {numbers} |",
    ]
    end = f"{_clock(every[-1][0] + 1000)} 17 POPRUN [I] mpirun (PID 18) terminated with exit code 0"
    return "\n".join([*before, *lines, end]) + "\n"


def _clock(milliseconds: int) -> str:
    return stamp(milliseconds)[11:].replace(",", ".")


def alone(making: Making, rank: int = 0) -> str:
    """The log of one process."""
    return "".join(f"{text}\n" for _, text in records(making, rank))


def shared(by_rank: Iterable[Sequence[tuple[int, str]]]) -> str:
    """One file that all ranks wrote, ten records at a time."""
    blocks = []
    for rank, every in enumerate(by_rank):
        for first in range(0, len(every), 10):
            block = every[first : first + 10]
            blocks.append((block[-1][0], rank, [text for _, text in block]))
    blocks.sort(key=lambda block: block[:2])
    return "".join(f"{text}\n" for *_, texts in blocks for text in texts)


_KINDS = (
    "Dumping launch arguments.", "['bin/exec.py']", "Running Training", "", "Larcv file prepared", "", "",
    "Total time to batch_process: {:.4f}",
    "Total time to batch process except first iteration: {:.4f}, throughput: {:.4f}",
    "Total time to batch process except first two iterations: {:.4f}, throughput: {:.4f}",
    "Total time to batch process last 40 iterations: {:.4f}, throughput: {:.4f}",
    "Total number of trainable parameters in this network: 8525699",
    "No checkpoint file found, restarting from scratch",
    "Saving run profile information.",
)  # fmt: skip
_CONFIG_KIND, _TRAIN_KIND, _TEST_KIND = 3, 5, 6


def published(ranks: int) -> list[str]:
    """The lines of a published run, from its numbers."""
    with np.load(Path(__file__).with_name("published_runs.npz"), allow_pickle=False) as runs:
        columns = [runs[f"{name}_{ranks}"].tolist() for name in ("rank", "kind", "time", "first", "second")]
        launcher = runs[f"launcher_{ranks}"].tolist()
    making = Making(ranks=ranks, steps=500, id=f"published_{ranks}", precision="float16")
    config = f"\n\n-- CONFIG --\n{config_text(making)}"
    clocks, steps, tests = [1_676_419_200_000] * ranks, [0] * ranks, [0] * ranks
    numbers = " | ".join(str(each) for each in range(ranks))
    lines = [f"{_clock(launcher[0])} 17 POPRUN [I] Waiting for mpirun (PID 18)", f"| instances | {numbers} |"]
    for rank, kind, delta, first, second in zip(*columns, strict=True):
        clocks[rank] += delta
        if kind == _TRAIN_KIND:
            text = train_line(clocks[rank], steps[rank], first / 10_000, second / 10_000)
            steps[rank] += 1
        elif kind == _TEST_KIND:
            tests[rank] += 10
            text = test_line(clocks[rank], tests[rank])
        else:
            said = config if kind == _CONFIG_KIND else _KINDS[kind].format(first / 10_000, second / 10_000)
            text = f"{stamp(clocks[rank])} - INFO - {said}"
        lines += [f"[1,{rank}]<stdout>:{line}" for line in text.split("\n")]
    lines.append(f"{_clock(launcher[1])} 17 POPRUN [I] mpirun (PID 18) terminated with exit code 0")
    return lines
