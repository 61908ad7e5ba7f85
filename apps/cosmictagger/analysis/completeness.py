"""Is everything there: all ranks, all steps, the end?

Ranks are counted against what the launcher said, steps against the configuration, and a text that breaks off is told
from a run that was interrupted.
"""

from __future__ import annotations

import numpy as np

from cosmictagger.analysis.results import Fault, Result, setting, shortened
from cosmictagger.analysis.runs import Rank, Run

_SHOWN = 4
#: a log in which this many times as many steps are missing as are there has them counted, not listed
_SPARSE = 100


def no_steps(result: Result) -> list[Fault]:
    """There is nothing to analyse."""
    if result.timings:
        return []
    mode = result.run.settings.get("mode.name", "")
    return [
        Fault(
            "no-steps",
            "error",
            "There is no training step in this log.",
            (f"mode.name is {mode}",) if mode and mode != "train" else (),
            "Name the log of a training run: what poprun printed, or process.log.",
        )
    ]


def steps_missing(result: Result) -> list[Fault]:
    """Steps without a line, and lines that are there twice."""
    evidence = []
    for rank in result.run.ranks:
        if not rank.sessions:
            continue
        count, some = _missing(result.run, rank)
        if count > 0:
            where = ", ".join(str(each) for each in some) + (" …" if count > len(some) else "")
            evidence.append(f"rank {rank.number}: {count} steps without a line ({where})")
        if rank.duplicates:
            evidence.append(f"rank {rank.number}: {rank.duplicates} lines are there twice")
    if not evidence:
        return []
    return [
        Fault(
            "steps-missing",
            "warning",
            "Lines of steps are missing or doubled.",
            shortened(evidence),
            "Times over a gap are divided by its steps; doubled lines are left out.",
        )
    ]


def _missing(run: Run, rank: Rank) -> tuple[int, list[int]]:
    """How many steps have no line, and the first of them."""
    steps = np.unique(np.concatenate([each.steps for each in rank.sessions]))
    begin, end = int(steps[0]), int(steps[-1])
    per_call, every = setting(run, "run.device_iterations"), setting(run, "mode.logging_iteration")
    if not run.settings and len(steps) > 1:
        per_call = max(int(np.median(np.diff(steps))), 1)
        begin -= per_call - 1
    elif run.settings and rank.sessions[0].restored is None:
        # a configuration stands before the first step, so the log has its beginning
        begin = 0
    closed = rank.sessions[-1].closing is not None
    until = max(end + 1, setting(run, "run.iterations", 0) if closed else 0)
    if until - begin > _SPARSE * (len(steps) + _SPARSE):
        return (until - begin) // max(per_call, every) - len(steps), []
    # a line for each call in which a step is due
    first = np.arange(begin // per_call * per_call if run.settings else begin, until, per_call)
    last = first + per_call - 1
    missing = np.setdiff1d(last[(last // every * every >= first) & (last < until)], steps)
    return len(missing), missing[:_SHOWN].tolist()


def truncated(result: Result) -> list[Fault]:
    """The log ends before the run does."""
    run, evidence = result.run, []
    evidence += [log.ending.problem for log in run.logs if log.ending.problem]
    for rank in run.ranks:
        last = rank.sessions[-1] if rank.sessions else None
        marks = rank.stream.marks
        if last is None or last.closing is not None or marks["interrupted"] or marks["done already"]:
            continue
        # a run of one or two calls has no speed without them
        if marks["total"] and len(last.steps) < 3:
            continue
        evidence.append(
            f"rank {rank.number} has no closing lines; its last line is step {int(last.steps[-1])}"
        )
    if evidence and any(not log.ending.whole_line for log in run.logs):
        evidence.append("the text ends within a line")
    if not evidence:
        return []
    after = "Speeds are those of the lines that are there. If the run is still going, look again later."
    return [
        Fault("truncated", "warning", "The log breaks off before the run's end.", shortened(evidence), after)
    ]


def stopped(result: Result) -> list[Fault]:
    """A signal ended a run of ours, which saved itself."""
    lines = [
        rank.stream.first["interrupted"] for rank in result.run.ranks if rank.stream.marks["interrupted"]
    ]
    if not lines:
        return []
    return [
        Fault(
            "interrupted",
            "note",
            "The run was interrupted and saved itself.",
            (f"line {lines[0]}",),
            "Start it again to continue.",
        )
    ]


def rank_missing(result: Result) -> list[Fault]:
    """Fewer ranks than were started."""
    run = result.run
    seen = {rank.number for rank in run.ranks if rank.sessions}
    started = max((log.instances or 0 for log in run.logs), default=0)
    started = max(started, max(seen, default=-1) + 1 if not run.inferred else 0)
    missing = sorted(set(range(min(started, 65_536))) - seen)
    # one file of a run, given alone, is meant alone
    if not seen or not missing or (len(run.logs) == 1 and len(seen) == 1 and not run.logs[0].instances):
        return []
    return [
        Fault(
            "rank-missing",
            "error",
            f"{started} ranks were started, {len(seen)} have training lines.",
            shortened(f"no line of rank {each}" for each in missing),
            "Images per second are those of the ranks that are there.",
        )
    ]


CHECKS = (no_steps, rank_missing, truncated, steps_missing, stopped)
