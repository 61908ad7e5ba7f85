"""Did the run use the devices it asked for, and did its ranks work together?

What the original's log can show of it: text of a compiler, a slow first call, validation that costs as much as
training, ranks that stay together. Our own log says itself that its model was compiled and called: nothing is guessed.
"""

from __future__ import annotations

from cosmictagger.analysis.results import Fault, Result

#: a first call that compiles takes longer than this many others
_COMPILING = 3.0
#: validation / training of a forward pass against forward and backward; 1/3 in theory
_FORWARD_ONLY = (0.2, 0.6)
#: seconds; an optimizer whose work is done on the device takes less
_NO_WORK = 0.005
#: a rank that needs the others cannot be further ahead than the step they are all in
_TOGETHER = 1.0


def _compiled(result: Result) -> bool:
    return any(stream.marks["compiled"] for log in result.run.logs for stream in log.streams.values())


def _first_call(result: Result) -> float | None:
    """How many times as long as others the slowest first call was."""
    typical = result.pooled["train"] or result.pooled["step"]
    ratios = [
        (rank.sessions[0].times[0] - rank.stream.before_first) / 1000 / typical.median
        for rank in result.run.ranks
        if typical and typical.median > 0 and rank.stream.before_first is not None
    ]
    return float(max(ratios)) if ratios else None


def _asked_for_ipus(result: Result) -> bool:
    return result.run.on_ipu and not result.run.ours and bool(result.timings) and not _compiled(result)


def never_compiled(result: Result) -> list[Fault]:
    """No compiler was heard, and no call waited for one; or our own log says so."""
    said = [rank for rank in result.run.ranks if rank.stream.marks["not compiled"]]
    if said:
        line = said[0].stream.first["not compiled"]
        return [
            Fault(
                "never-compiled",
                "error",
                "IPUs were requested, but no graph was compiled for them.",
                (f"rank {said[0].number} says so itself (line {line})",),
                "See whether the wrapped model is what the program calls.",
            )
        ]
    first = _first_call(result)
    if not _asked_for_ipus(result) or first is None or first >= _COMPILING:
        return []
    whole = any(log.launcher for log in result.run.logs)
    return [
        Fault(
            "never-compiled",
            "error",
            "IPUs were requested, but no graph was compiled for them.",
            (
                "run.compute_mode is IPU",
                'no "Graph compilation" in the log'
                + ("" if whole else ", which may lack what went to stderr"),
                f"the first call took {first:.1f} times as long as others; compiling takes minutes",
            ),
            "See whether the wrapped model is what the program calls.",
            "certain" if whole else "likely",
        )
    ]


def ran_on_host(result: Result) -> list[Fault]:
    """Nothing was compiled, and times are those of a plain loop on the host."""
    uncompiled = never_compiled(result)
    if not uncompiled or result.run.ours:
        return []
    evidence = ["no graph was compiled (never-compiled)"]
    train, validation, update = (result.pooled[each] for each in ("train", "validation", "update"))
    if train and validation and train.mean > 0:
        ratio = validation.mean / train.mean
        if _FORWARD_ONLY[0] < ratio < _FORWARD_ONLY[1]:
            evidence.append(
                f"validation takes {ratio:.2f} of a training step ({validation.mean:.2f} of {train.mean:.2f} s): "
                "a forward pass against forward and backward, and both without changing programs"
            )
    if train and update and update.mean > _NO_WORK:
        evidence.append(
            f"the optimizer has a time of its own, {update.mean:.3f} s a step: a compiled training model "
            "updates its weights inside the call"
        )
    if len(evidence) < 2:
        return []
    return [
        Fault(
            "ran-on-host",
            "error",
            "The training ran on the host's processors, not on IPUs.",
            tuple(evidence),
            "Do not take these times for those of an IPU. A usual cause: model = model.to(device) after wrapping gives "
            "back the plain module.",
            uncompiled[0].certainty if len(evidence) == 3 else "likely",
        )
    ]


def no_collective(result: Result) -> list[Fault]:
    """Ranks that do not wait for each other train models of their own."""
    drift, ranks = result.drift, len(result.timings)
    if ranks < 2:
        return []
    evidence = []
    apart = drift is not None and drift.in_lines > _TOGETHER
    if drift is not None and drift.in_lines > _TOGETHER / 2:
        evidence.append(
            f"ranks moved {drift.moved:.1f} s apart in {drift.steps} steps, {drift.in_lines:.1f} lines' time for good; "
            "ranks that exchange gradients stay within one"
        )
    said = {launch.settings.get("run.distributed", "").lower() for launch in result.run.launches}
    alone = said == {"false"}
    if alone:
        evidence.append("run.distributed is False in every rank")
    if not apart and not alone and not evidence:
        return []
    return [
        Fault(
            "no-collective",
            "error",
            f"These are {ranks} independent trainings, not one training on {ranks} ranks.",
            tuple(evidence),
            "Their images per second add up, but no model has seen more than its own rank's share.",
            "certain" if apart or alone else "likely",
        )
    ]


def precision_flag(result: Result) -> list[Fault]:
    """A precision that the original accepts and never looks at."""
    if result.run.ours or result.run.settings.get("run.precision") != "float16" or not result.timings:
        return []
    return [
        Fault(
            "precision-flag",
            "warning",
            "run.precision=float16 has no effect in the original's trainer: it computed in float32.",
            ("the configuration says float16; that trainer supports only mixed and bfloat16",),
            "Do not compare these times with those of half precision.",
        )
    ]


def weights_differ(result: Result) -> list[Fault]:
    """Ranks of one training end with the same parameters; ours write down a digest of them."""
    run = result.run
    digests = {rank.number: rank.stream.digest for rank in run.ranks if rank.stream.digest}
    if not run.ours or len(set(digests.values())) < 2:
        return []
    if any(launch.settings.get("run.distributed", "").lower() == "false" for launch in run.launches):
        return []
    return [
        Fault(
            "weights-differ",
            "error",
            "The ranks of one training ended with different parameters.",
            tuple(f"rank {number}: {digest}" for number, digest in list(digests.items())[:8]),
            "Do not use its checkpoint; run it again with one process to compare.",
        )
    ]


CHECKS = (ran_on_host, never_compiled, no_collective, weights_differ, precision_flag)
