"""What `tremula estimate run` says of one program, as a row of a table (see programs_tensorflow.py)."""

from __future__ import annotations

import json
import pathlib
import re
import resource
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from programs import stop

#: what poprun puts before each line of an instance; the first one answers for all
_FIRST_INSTANCE, _ANY_INSTANCE = (
    re.compile(r"^\[1,0\]<stdout>:", re.M),
    re.compile(r"^\[1,\d+\]<std(out|err)>:"),
)


@dataclass
class Estimated:
    """The answer for one program.

    Attributes:
        found: what --json printed; empty: there is no answer.
        problem: why there is none.
        seconds: CPU time of all processes.
    """

    seconds: float
    found: dict[str, Any] = field(default_factory=dict)
    problem: str = ""

    @property
    def answered(self) -> bool:
        """Whether there are figures."""
        return bool(self.found) and not self.found["answers"][0]["problem"]

    def row(self, name: str) -> str:
        """The row of the table."""
        if not self.answered:
            problem = self.problem or self.found["answers"][0]["problem"]
            return f"| `{name}` | - | {problem.replace('|', '/')} | | | | {self.seconds:.1f} |"
        answer = self.found["answers"][0]
        setting, figures = answer["setting"], answer["figures"]
        step = figures["step_seconds"]["value"]
        batch = f"{setting['micro_batch']} x {setting['accumulation']} x {setting['device_iterations']}"
        ipus = f"{setting['replicas']} x {setting['stages']} {setting['execution']}"
        looks = self.found["operations"]
        unknown = sum(each["count"] for each in looks if each["kind"] in ("unknown", "unsupported"))
        kind = "training" if self.found["training"] else "inference"
        return (
            f"| `{name}` | {kind} | fits: {answer['fits']} | {1e3 * step:.3f} ms | {batch}; {ipus} | {unknown} "
            f"| {self.seconds:.1f} |"
        )


def estimate_head() -> list[str]:
    """The head of the table."""
    return [
        "| program | kind | verdict | modelled time of a step "
        "| micro-batch x accumulation x iterations; replicas x IPUs | unknown ops | CPU s |",
        "|---|---|---|---:|---|---:|---:|",
    ]


def estimated(
    command: Sequence[str], work: pathlib.Path, environment: dict[str, str], log: pathlib.Path, limit: int
) -> Estimated:
    """Run `tremula estimate --json run` in a folder.

    Args:
        command: what to run.
        work: where.
        environment: of the process.
        log: for what it prints beside the answer.
        limit: seconds that it may take.
    """
    before = _cpu_seconds()
    with open(log, "wb") as errors:
        child = subprocess.Popen(command, cwd=work, env=environment, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=errors, start_new_session=True)  # fmt: skip
        try:
            output = child.communicate(timeout=limit)[0].decode(errors="replace")
        except subprocess.TimeoutExpired:
            stop(child)
            return Estimated(_cpu_seconds() - before, problem=f"stopped after {limit} s")
    seconds = _cpu_seconds() - before
    if _FIRST_INSTANCE.search(output):
        lines = [line for line in output.splitlines() if _FIRST_INSTANCE.match(line)]
        output = "\n".join(_FIRST_INSTANCE.sub("", line) for line in lines)
    start = output.find("{")
    if child.returncode or start < 0:
        lines = [
            _ANY_INSTANCE.sub("", line)
            for line in log.read_text(errors="replace").splitlines()
            if line.strip()
        ]
        return Estimated(seconds, problem=f"no answer: {(lines or ['no output'])[-1][:140]}")
    return Estimated(seconds, json.JSONDecoder().raw_decode(output[start:])[0])


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
