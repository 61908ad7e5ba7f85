"""Texts about a study that the table, the plots and the page share.

Names come from the user's program and from files, so they are stripped of control characters and shortened here.
"""

from __future__ import annotations

from tremula.distributed.host_run import HostRun
from tremula.formatting import amount, counted, duration, plain, share
from tremula.scale.data_rate import limits
from tremula.scale.row import Row, ScalingStudy

BANDS = "Modelled, not measured. Ranges are likely ranges of the true value (see the assumptions)."
#: what a run on the host is worth
MEASURED = (
    "Measured on this host's CPU, so the speed does not apply to IPUs. The test checks that several processes "
    "train like one: all have the same weights, and their summed gradient is that of one process."
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


def capitalized(text: str) -> str:
    """A sentence with its first letter large; names in it stay as they are."""
    return text[:1].upper() + text[1:]


def ipus(count: int) -> str:
    """A number of IPUs."""
    return counted(count, "IPU")


def batch(row: Row) -> tuple[str, str]:
    """The global batch, and how it comes about: micro-batch x turns x replicas."""
    if not row.global_batch:
        return "-", ""
    turns = int(row.setting.get("accumulation" if row.training else "device_iterations", 0))
    return (
        f"{row.global_batch:,}",
        f"{int(row.setting.get('micro_batch', 0)):,} x {turns:,} x {row.replicas:,}",
    )


def waiting(row: Row) -> str:
    """What waiting for data adds to a step; empty if it does not wait."""
    seconds = row.waiting_seconds or 0.0
    return f"+{duration(seconds)}" if seconds > 0.0 else ""


def data_limits(study: ScalingStudy) -> list[str]:
    """One sentence for each series: where loading becomes the limit."""
    lines = []
    for limit in limits(study.series(), study.data):
        series = capitalized(series_title(limit.mode, limit.target))
        needed, has = amount(limit.needed_per_host), amount(limit.has_per_host)
        if limit.ipus is None:
            lines.append(
                f"{series}: loading keeps up at every size. IPUs need at most {needed} samples/s from each host, "
                f"which loads {has}."
            )
        else:
            lines.append(
                f"{series}: loading becomes the limit at {ipus(limit.ipus)}. IPUs need up to {needed} samples/s "
                f"from each host, which loads {has}."
            )
    return lines


def tried(row: Row) -> list[str]:
    """The layouts of a size, each with its rate and whether it fits, the taken one first."""
    lines = []
    for layout in sorted(row.layouts, key=lambda each: (not each.chosen, -(each.throughput or 0.0))):
        text = f"{layout.replicas:,} x {layout.stages:,}" + (", as the program cuts it" if layout.own else "")
        if layout.throughput is None:
            lines.append(f"{text}: {named(layout.problem, 200) or 'no figures'}")
            continue
        tile = "" if layout.tile_share is None else f", fullest tile {share(layout.tile_share)}"
        chosen = " (taken)" if layout.chosen else ""
        lines.append(f"{text}{chosen}: {amount(layout.throughput)} samples/s, fits: {layout.fits}{tile}")
    return lines


def verdict(run: HostRun) -> str:
    """Whether the processes trained what one trains."""
    if run.instances == 1:
        return "one alone, nothing to compare"
    if run.equivalent is None:
        return "not compared"
    return "they train like one process" if run.equivalent else "they do NOT train like one process"


def host_run(run: HostRun) -> str:
    """A run on the host in one line."""
    lines = [f"{run.instances} process{'' if run.instances == 1 else 'es'}: {verdict(run)}"]
    if run.instances > 1:
        lines.append(f"weights differ by {run.spread:.2g} between processes")
        if run.deviation is not None:
            lines.append(
                f"their summed gradient by {run.deviation:.2g} from that of one (up to {run.tolerance:.2g} is rounding)"
            )
    lines.append(f"{duration(run.seconds_per_step)}/step")
    lines.append(f"{amount(run.samples_per_second)} samples/s")
    lines.append(f"{run.steps} steps of {run.samples_per_step:,} samples")
    return "; ".join([*lines, *([named(run.note, 400)] if run.note else [])])
