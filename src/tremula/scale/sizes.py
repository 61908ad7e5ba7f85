"""The rows of a study: for every series and size the best layout, its figures, and how they compare with the first.

Efficiency is samples per second and IPU, over those of the size of the series that has most of them. That is mostly the
smallest that fits; a larger one has more where it is laid out in a way that fewer IPUs do not allow. So no efficiency
is above 100 %, and no range either. The band is that of scaling (docs/accuracy.md): what the model gets wrong at every
size alike cancels in a ratio.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from tremula.errors import Error
from tremula.estimate.bands import band
from tremula.estimate.figures import Figure
from tremula.formatting import counted
from tremula.hardware.system import System
from tremula.scale.batches import Batches
from tremula.scale.layouts import Layouts, Tried, best_of
from tremula.scale.question import STRONG, ScaleQuestion
from tremula.scale.row import Row

#: called before each layout: what is modelled, how many layouts are done, how many there are
Tell = Callable[[str, int, int], None]
#: a row that is known from an earlier run, by what it rests on
Known = Callable[[str], Row | None]


def batches_for(layouts: Layouts, question: ScaleQuestion) -> tuple[Batches, list[str]]:
    """The batch that stays the same, and what had to be chosen for it.

    Raises Error if the question has something that a model which only infers does not have.
    """
    subject = layouts.subject
    if not subject.training and (question.device_iterations[0] or question.recompute[0]):
        raise Error(
            "--device-iterations and --recompute do not apply to inference; leave them out. Set the micro-batches of a "
            "call with --per-ipu."
        )
    micro_batch = question.micro_batch[0] or subject.micro_batch
    loops = subject.loops
    turns = loops.gradient_accumulation if subject.training else loops.device_iterations
    per_ipu, notes = question.per_ipu[0], []
    per = "weight update" if subject.training else "call"
    if per_ipu is None:
        own = max(1, -(-turns // layouts.own_ipus))
        per_ipu = _enough_for_one_that_fits(layouts, question, micro_batch, own)
        if own * layouts.own_ipus != turns:
            notes.append(
                f"Every IPU takes {counted(own, 'micro-batch', 'micro-batches')} per {per}: the program's {turns} on "
                f"{counted(layouts.own_ipus, 'IPU')}, rounded up."
            )
        if per_ipu > own:
            notes.append(
                f"Every IPU takes {per_ipu} micro-batches per {per} instead of {own}, the fewest that fill the "
                "pipeline of a layout that fits."
            )
    batch = question.global_batch[0]
    if batch is None:
        batch = micro_batch * per_ipu * max(question.ipus)
        if STRONG in question.mode:
            notes.append(
                f"The global batch of strong scaling is {batch:,} samples, that of weak scaling at the largest "
                "size; change it with --global-batch."
            )
    return Batches(micro_batch, per_ipu, batch), notes


def _enough_for_one_that_fits(layouts: Layouts, question: ScaleQuestion, micro_batch: int, own: int) -> int:
    """Micro-batches per IPU: as the program has it if a layout fits with that, else the fewest with which one does."""
    target, ipus = question.target[0], max(question.ipus)
    closest: tuple[float, int] | None = None
    for width in layouts.widths(ipus):
        try:
            needed = layouts.needed(target, ipus, width)
        except Error:
            continue
        enough = max(own, -(-needed // (width or layouts.own_ipus)))
        tried = layouts.tried(target, ipus, width, Batches(micro_batch, enough, 0), "weak")
        if tried.fits:
            return enough
        if tried.layout.tile_share is not None:
            closest = min(closest or (float("inf"), own), (tried.layout.tile_share, enough))
    return closest[1] if closest is not None else own


def sizes(
    layouts: Layouts,
    question: ScaleQuestion,
    batches: Batches,
    *,
    known: Known = lambda _: None,
    found: Callable[[Row], None] = lambda _: None,
    tell: Tell = lambda *_: None,
) -> list[Row]:
    """All rows, complete.

    `known` gives rows of an earlier run by their basis; `found` gets each new row before it is compared with others.
    """
    rows: list[Row] = []
    total = len(question.mode) * len(question.target) * sum(len(layouts.widths(n)) for n in question.sizes)
    done = 0
    for mode in question.mode:
        for target in question.target:
            series = []
            for ipus in question.sizes:
                basis = layouts.basis(target, ipus, batches, mode)
                row = known(basis)
                widths = layouts.widths(ipus)
                if row is None:
                    tried: list[Tried] = []
                    for width in widths:
                        tell(
                            f"{mode}, {counted(ipus, 'IPU')}, {width or 'own'} to a replica",
                            done + len(tried),
                            total,
                        )
                        tried.append(layouts.tried(target, ipus, width, batches, mode))
                    row = replace(_row(layouts, mode, target, ipus, tried, batches), basis=basis)
                    found(row)
                done += len(widths)
                series.append(row)
            # a size without figures belongs to the others, also where the target is this machine's
            name = next((row.target for row in series if row.target), "")
            rows += compared(
                [replace(row, setting={**row.setting, "target": row.target or name}) for row in series]
            )
    tell("", total, total)
    return rows


def compared(series: Sequence[Row]) -> list[Row]:
    """The rows of a series with speed-up over the smallest size that fits, and efficiency over the best."""
    fitting = [row for row in series if row.runs]
    if not fitting:
        return list(series)
    first, best = fitting[0], max(fitting, key=lambda row: row.throughput / row.ipus)
    scaling = band("scaling")
    rows = []
    for row in series:
        if not row.runs:  # what does not fit is not a measure of what does
            rows.append(row)
            continue
        gain = row.throughput / first.throughput
        share = row.throughput / row.ipus / (best.throughput / best.ipus)
        gains = (gain, gain) if row is first else scaling.around(gain)
        low, high = (share, share) if row is best else scaling.around(share)
        figures = {
            **row.figures,
            "speedup": Figure(gain, *gains, f"x {counted(first.ipus, 'IPU')}"),
            "efficiency": Figure(share, min(low, 1.0), min(high, 1.0), f"of {counted(best.ipus, 'IPU')}"),
        }
        rows.append(replace(row, figures=figures))
    return rows


#: figures of a row; efficiency, speed-up and the throughput with data come later
_FIGURES = (
    "step_seconds", "throughput", "fit_probability", "tile_share", "tile_bytes", "ipu_bytes",
    "energy_per_sample", "utilisation",
)  # fmt: skip


def _row(
    layouts: Layouts, mode: str, target: str | None, ipus: int, tried: Sequence[Tried], batches: Batches
) -> Row:
    best = best_of(list(tried))
    subject = layouts.subject
    row = Row(
        name=subject.name,
        training=subject.training,
        setting={"target": target or "", "ipus": ipus},
        mode=mode,
        layouts=tuple(replace(each.layout, chosen=each is best) for each in tried),
    )
    if best is None or best.result is None or best.case is None:
        why = "; ".join(dict.fromkeys(each.layout.problem for each in tried if each.layout.problem))
        return replace(row, problem=why or f"none of the tried replica widths divides {counted(ipus, 'IPU')}")
    result = best.result
    return replace(
        row,
        setting=result.setting,
        notes=result.notes,
        fits=result.fits,
        figures={name: result.figures[name] for name in _FIGURES if name in result.figures},
        shares=result.shares,
        batch=result.batch,
        hosts=_hosts(best.case.system, ipus),
        global_batch=batches.samples(mode, ipus),
    )


def _hosts(system: System, ipus: int) -> int:
    """Hosts that feed so many IPUs of a system, each of which has an equal part of them."""
    return max(1, -(-ipus * system.hosts // system.ipus))
