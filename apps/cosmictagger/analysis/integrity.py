"""Is it the log of one run that went well, and do its times and figures agree?

Clocks that go back, restarts, configurations that differ and a figure of merit that its own lines contradict. What is
not certain is told as a warning or a note.
"""

from __future__ import annotations

import math
from collections import Counter

import numpy as np

from cosmictagger.analysis.results import Fault, Result, setting, shortened

_SHOWN = 4
#: settings in which all processes of a run agree
_SAME = ("run.id", "run.iterations", "run.minibatch_size", "network.name", "mode.name", "run.compute_mode")


def ranks_interleaved(result: Result) -> list[Fault]:
    """Several ranks wrote one file, now or beside this log."""
    run = result.run
    after = "Take the difference of two lines only within a rank, as here; keep the log that poprun tags."
    if run.inferred:
        return [
            Fault(
                "ranks-interleaved",
                "error",
                f"{run.writers} ranks wrote to one file without saying who they are.",
                (f"which line is whose was inferred {run.inferred}",),
                after,
            )
        ]
    folders = {launch.settings.get("output_dir") for launch in run.launches}
    shared = {launch.settings.get("run.distributed", "").lower() for launch in run.launches} == {"false"}
    if run.ours or len(run.ranks) < 2 or len(folders) != 1 or folders == {None} or not shared:
        return []
    return [
        Fault(
            "ranks-interleaved",
            "warning",
            f"All {len(run.ranks)} ranks also wrote to one process.log, in blocks of ten records.",
            (f"every rank takes itself for the first (run.distributed=False) and writes to {folders.pop()}",),
            "This log has tags and is good; differences between lines of that file are wrong (--as-published).",
        )
    ]


def mixed_runs(result: Result) -> list[Fault]:
    """Several runs in one log, or one that was started again."""
    run, found = result.run, []
    different = []
    for key in _SAME:
        values = Counter(launch.settings[key] for launch in run.launches if key in launch.settings)
        again = key == "run.iterations" and any(each.restored for rank in run.ranks for each in rank.sessions)
        if len(values) > 1 and not again:
            different.append(f"{key}: " + ", ".join(str(each) for each in list(values)[:_SHOWN]))
    over, resumed = [], []
    for rank in run.ranks:
        for before, session in zip(rank.sessions, rank.sessions[1:], strict=False):
            first, line = int(session.steps[0]), int(session.lines[0])
            if session.restored is not None or first > int(before.steps[-1]):
                resumed.append(f"rank {rank.number} went on at step {first} (line {line})")
            else:
                over.append(f"rank {rank.number} began again at step {first} (line {line})")
    if run.lost:
        over.append(f"{run.lost:,} lines belong to no rank that could be told apart")
    if different or over:
        found.append(
            Fault(
                "mixed-runs",
                "error",
                "There is more than one run in this log.",
                shortened([*different, *over]),
                "Give each run a log of its own; figures here are those of all of them together.",
            )
        )
    if resumed:
        found.append(
            Fault(
                "resumed",
                "note",
                "The run was stopped and went on from a checkpoint.",
                shortened(resumed),
                "The first two lines after each start are left out, and so is the time between.",
            )
        )
    return found


def clock(result: Result) -> list[Fault]:
    """Times without dates over midnight, and clocks that were set back."""
    run, found = result.run, []
    wraps = [
        line for log in run.logs for stream in log.streams.values() if stream.undated for line in stream.wraps
    ]
    launcher = [line for log in run.logs for line in log.launcher_wraps]
    if wraps or launcher:
        lines = ", ".join(str(each) for each in (wraps or launcher)[:_SHOWN])
        found.append(
            Fault(
                "clock-wrapped",
                "warning" if wraps else "note",
                "The clock passes midnight in lines that have no date.",
                (f"lines {lines}" + ("" if wraps else "; steps have their date"),),
                "A day was added there; whoever takes plain differences gets -86,400 s.",
            )
        )
    back = [
        (rank.number, int(session.lines[place + 1]), float(gap) / 1000)
        for rank in run.ranks
        for session in rank.sessions
        for gaps in (np.diff(session.times),)
        for place, gap in ((each, gaps[each]) for each in np.flatnonzero(gaps < 0)[:_SHOWN].tolist())
    ]
    if back:
        found.append(
            Fault(
                "clock-set-back",
                "warning",
                "The clock goes back within a rank.",
                shortened(f"rank {number}, line {line}: {gap:.3f} s" for number, line, gap in back),
                "These differences are left out.",
            )
        )
    return found


def failed(result: Result) -> list[Fault]:
    """It says itself that it failed."""
    run, evidence = result.run, []
    for log in run.logs:
        evidence += [f"exit code {code} (line {line})" for code, line in log.exit_codes if code]
        for stream in log.streams.values():
            who = "" if stream.rank is None else f" of rank {stream.rank}"
            for name, words in (("traceback", "a traceback"), ("error", "an error")):
                if stream.marks[name]:
                    evidence.append(f"{words}{who} (line {stream.first[name]})")
        for tag, (count, line) in log.nan_losses.items():
            who = "" if tag is None else f" of rank {int(tag)}"
            evidence.append(
                f"{count} lines{who} with a loss or metric that is not a number, from line {line} on"
            )
    if not evidence:
        return []
    return [Fault("failed", "error", "The run failed.", shortened(evidence), "Read the log there.")]


def fom_differs(result: Result) -> list[Fault]:
    """What ranks say about their speed at the end is not what their lines say."""
    images, evidence = result.images.per_step, []
    sparse = setting(result.run, "mode.logging_iteration") > setting(result.run, "run.device_iterations")
    for rank in result.timings if images and not sparse else ():
        for (seconds, said), rate in zip(rank.logged, rank.recomputed, strict=True):
            # four decimals are written, and times of lines differ from times of calls by milliseconds
            slack = 0.01 * said + 0.0001 + (0.05 / seconds * said if seconds > 0 else 0.0)
            if math.isfinite(rate) and math.isfinite(said) and abs(rate * images - said) > slack:
                evidence.append(
                    f"rank {rank.number}: {said:.4f} images/s said, {rate * images:.4f} from its lines"
                )
    if not evidence:
        return []
    return [
        Fault(
            "fom-differs",
            "warning",
            "The throughput that ranks wrote at their end is not that of their lines.",
            shortened(evidence),
            "Lines may be missing, or the batch is another: see --batch-size. The lines are what counts here.",
        )
    ]


def batch_unknown(result: Result) -> list[Fault]:
    """No images per second without a batch size."""
    if result.images.per_step is not None or not result.timings:
        return []
    text = "How many images a step takes is unknown."
    return [Fault("batch-unknown", "note", text, (result.images.how,), "Give --batch-size.")]


CHECKS = (failed, mixed_runs, ranks_interleaved, clock, fom_differs, batch_unknown)
