"""What is said about a study in words, by the table, the plots and the page alike.

Names come from the user's program and from files, so all of them are made plain and short here.
"""

from __future__ import annotations

from tremula.distributed.host_run import HostRun
from tremula.formatting import amount, duration, plain, share
from tremula.scale.feeding import limits
from tremula.scale.row import Row, ScalingStudy

#: names of parts where there is little room
SHORT_PARTS = {
    "compute": "compute",
    "exchange": "exchange",
    "sync": "sync",
    "inter_ipu": "between IPUs",
    "collectives": "collectives",
    "streaming": "streaming memory",
    "pipeline_idle": "pipeline fill/drain",
    "host": "host",
    "data": "waiting for data",
}
BANDS = (
    "Modelled, not measured; ranges are those in which the true value probably lies (see the assumptions)."
)
#: what a run on the host is worth
MEASURED = (
    "Measured on this host's CPU. It says nothing of an IPU's speed; it shows whether several processes train what one "
    "would: the same weights in all of them, and the gradient that one sums up alone."
)
_LONGEST = 120


def named(text: str, longest: int = _LONGEST) -> str:
    """A name in one line that is safe to show."""
    return plain(text, longest, lines=False)


def headline(study: ScalingStudy) -> str:
    """What was studied."""
    kind = "training" if study.training else "inference"
    return f"{kind}, {study.parameters:,} parameters"


def series_title(mode: str, target: str) -> str:
    """A series by its name."""
    return f"{named(mode, 20)} scaling on {named(target or 'this machine', 60)}"


def begun(text: str) -> str:
    """A sentence with its first letter large; names in it stay as they are."""
    return text[:1].upper() + text[1:]


def ipus(count: int) -> str:
    """A number of IPUs."""
    return f"{count:,} IPU{'' if count == 1 else 's'}"


def batch(row: Row, training: bool) -> tuple[str, str]:
    """The global batch, and how it comes about: micro-batch x turns x replicas."""
    if not row.global_batch:
        return "-", ""
    turns = row.accumulation if training else row.device_iterations
    return f"{row.global_batch:,}", f"{row.micro_batch:,} x {turns:,} x {row.replicas:,}"


def part_shares(row: Row) -> dict[str, float]:
    """Share of each part in the time of a step that need not wait for data."""
    own = {part: seconds for part, seconds in row.parts.items() if part != "data"}
    total = sum(own.values())
    return {part: seconds / total for part, seconds in own.items()} if total > 0 else {}


def waiting(row: Row) -> str:
    """What waiting for data adds to a step; empty if it does not wait."""
    seconds = row.parts.get("data", 0.0)
    return f"+{duration(seconds)}" if seconds > 0.0 else ""


def data_limits(study: ScalingStudy) -> list[str]:
    """One sentence for each series: where loading becomes the limit."""
    told = []
    for limit in limits(study.series(), study.data):
        series = begun(series_title(limit.mode, limit.target))
        needed, has = amount(limit.needed_per_host), amount(limit.has_per_host)
        if limit.ipus is None:
            told.append(
                f"{series}: loading keeps up at every size. IPUs take at most {needed} samples/s from each host, "
                f"which has {has} ready."
            )
        else:
            told.append(
                f"{series}: loading becomes the limit at {ipus(limit.ipus)}. IPUs would take up to {needed} samples/s "
                f"from each host, which has {has} ready."
            )
    return told


def tried(row: Row) -> list[str]:
    """The layouts of a size, each with its rate and whether it fits, the taken one first."""
    told = []
    for layout in sorted(row.layouts, key=lambda each: (not each.chosen, -(each.throughput or 0.0))):
        text = f"{layout.replicas:,} x {layout.stages:,}" + (", as the program cuts it" if layout.own else "")
        if layout.throughput is None:
            told.append(f"{text}: {named(layout.problem, 200) or 'no figures'}")
            continue
        tile = "" if layout.tile_share is None else f", fullest tile {share(layout.tile_share)}"
        chosen = " (taken)" if layout.chosen else ""
        told.append(f"{text}{chosen}: {amount(layout.throughput)} samples/s, fits: {layout.fits}{tile}")
    return told


def verdict(run: HostRun) -> str:
    """Whether the processes trained what one trains."""
    if run.instances == 1:
        return "one alone, nothing to compare"
    if run.equivalent is None:
        return "not compared"
    return "they train what one would" if run.equivalent else "they do NOT train what one would"


def host_run(run: HostRun) -> str:
    """A run on the host in one line."""
    told = [f"{run.instances} process{'' if run.instances == 1 else 'es'}: {verdict(run)}"]
    if run.instances > 1:
        told.append(f"weights differ by {run.spread:.2g} between processes")
        if run.deviation is not None:
            told.append(
                f"their summed gradient by {run.deviation:.2g} from that of one (up to {run.tolerance:.2g} is rounding)"
            )
    told.append(f"{duration(run.seconds_per_step)}/step")
    told.append(f"{amount(run.samples_per_second)} samples/s")
    told.append(f"{run.steps} steps of {run.samples_per_step:,} samples")
    return "; ".join([*told, *([named(run.note, 400)] if run.note else [])])
