"""Text about the limits of a split, or why no split is possible."""

from __future__ import annotations

from tremula.estimate.estimate import Estimate
from tremula.study.split.loads import Loads
from tremula.study.split.segmented import Segmented

#: imbalance up to which stages are called even
_EVEN = 0.05
#: throughput that is worth a word
_WORTH = 0.01


def reason(found: Estimate, loads: Loads, gain: float) -> str:
    """What limits the split `found`. `gain` is the speed-up of a faster split that does not fit."""
    pipeline = found.time.pipeline
    busiest = pipeline.bottleneck if pipeline is not None else 0
    imbalance = 1.0 / pipeline.balance - 1.0 if pipeline is not None and pipeline.balance else 0.0
    memory = found.memory
    full = memory.fullest
    held = ""
    if loads.shared:
        names = ", ".join(sorted({each.name for each in loads.shared})[:3])
        held = f" Shared weights ({names}) are kept on one IPU."
    if not memory.fits:
        missing = memory.max_tile_bytes - memory.tile_memory_bytes
        lacks = f"lacks {missing:,} bytes" if missing > 0 else f"has {-missing:,} bytes to spare, too few,"
        return (
            f"Memory: no split that fits was found; on IPU {full.ipu} the fullest tile {lacks} "
            f"(modelled; fits: {memory.fit.words}). Try {'; '.join(memory.advice(2))}, or more IPUs.{held}"
        )
    if gain > _WORTH:
        return (
            f"Memory: a split that is {gain:.0%} faster would not fit. IPU {full.ipu} is fullest, with "
            f"{full.max_tile_bytes / memory.tile_memory_bytes:.0%} of its tile memory.{held}"
        )
    if imbalance > _EVEN:
        return (
            f"Balance: the other IPUs wait for IPU {busiest}, which has {imbalance:.0%} more work than the mean. "
            f"No other split is more even.{held}"
        )
    return f"Balance: stages differ by at most {imbalance:.1%}; the rest is filling, copies and the update.{held}"


def impossible(program: Segmented, loads: Loads, ipus: int) -> str:
    """Why there is no split at all."""
    if loads.pieces < ipus:
        return (
            f"The model has {len(program.cuts)} places at which a stage can begin, too few for {ipus} IPUs. A stage "
            "begins at a module that forward calls exactly once. Use fewer IPUs, or put repeated parts of forward into "
            "separate modules."
        )
    far = [each for each in loads.shared if each.pieces[-1] - each.pieces[0] > 1]
    named = "; ".join(
        f"{each.name} ({each.bytes / 2**20:.1f} MiB) is read from {_module(program, each.pieces[0])} "
        f"to {_module(program, each.pieces[-1])}"
        for each in far[:4]
    )
    return (
        f"No split over {ipus} IPUs keeps shared weights together: {named}. A weight is stored on one IPU, so all ops "
        "that read it must be in one stage, or in the first stage and a last stage on the same IPU. The last stage "
        "needs more micro-batches (gradient accumulation or device iterations). Untie the weights, or use fewer IPUs."
    )


def _module(program: Segmented, piece: int) -> str:
    return program.cuts[piece - 1].module if piece else "the beginning of forward"
