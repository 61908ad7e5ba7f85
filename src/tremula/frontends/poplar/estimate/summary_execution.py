"""The execution part of a profile summary: cycles of all runs, of vertex types, of steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tremula.frontends.poplar.execute.runs import ProgramRun
from tremula.placed.estimate import PlacedEstimate
from tremula.placed.phases import Phase, PhaseKind
from tremula.recording.placed_runs import laid_out

#: steps that are listed of each run
MOST_STEPS = 200
#: types of a phase by the names of the original
_NAMES = {
    PhaseKind.SYNC: "Sync",
    PhaseKind.GLOBAL_SYNC: "GlobalSync",
    PhaseKind.EXCHANGE: "DoExchange",
    PhaseKind.GLOBAL_EXCHANGE: "GlobalExchange",
    PhaseKind.COMPUTE: "OnTileExecute",
    PhaseKind.HOST: "StreamCopy",
}


def lines(estimate: PlacedEstimate, runs: Sequence[ProgramRun], *, steps: bool) -> Iterator[str]:
    """Totals, vertex types and, if asked for, steps."""
    yield "Execution:"
    if not runs:
        yield "  Nothing has run yet"
        return
    names = [_name(estimate, run) for run in runs]
    yield "  Programs executed:"
    for name in names:
        yield f"    {name}"
    yield ""
    yield from _totals(estimate, _together(runs))
    yield ""
    yield from _vertex_types(estimate)
    if steps:
        for name, run in zip(names, runs, strict=True):
            yield ""
            yield from _steps(estimate, name, run)


def _name(estimate: PlacedEstimate, run: ProgramRun) -> str:
    known = estimate.program.program_names
    return run.name or (known[run.program] if run.program < len(known) else "<anonymous>")


def _together(runs: Sequence[ProgramRun]) -> Mapping[int, int]:
    counts: dict[int, int] = {}
    for run in runs:
        for node, times in run.executions.items():
            counts[node] = counts.get(node, 0) + times
    return counts


def _totals(estimate: PlacedEstimate, counts: Mapping[int, int]) -> Iterator[str]:
    found = estimate.totals(counts)
    microseconds = estimate.seconds(found.total) * 1e6
    yield f"  {'Total cycles:':<53} {found.total:,.0f} (approx {microseconds:,.1f} microseconds)"
    for label, cycles in (
        ("compute cycles (including idle threads)", found.compute),
        ("compute cycles (excluding idle threads)", found.busy),
        ("IPU exchange cycles", found.exchange),
        ("global exchange cycles", found.between_ipus),
        ("host exchange cycles", found.host),
        ("sync cycles", found.sync),
    ):
        share = 100 * cycles / found.total if found.total else 0.0
        yield f"  {f'Tile average {label}:':<53} {cycles:,.1f} ({share:.1f}% of total)"


def _vertex_types(estimate: PlacedEstimate) -> Iterator[str]:
    """Vertices of each type, each once, with the sum of their cycles and where these come from."""
    found: dict[str, list[float]] = {}
    sources: dict[str, set[str]] = {}
    for made in estimate.sets:
        for name, group in made.vertices.items():
            known = found.setdefault(name, [0.0, 0.0])
            known[0] += group.count
            known[1] += group.cycles
            sources.setdefault(name, set()).add(group.source)
    if not found:
        return
    width = max(len(name) for name in found)
    yield "  Cycles by vertex type:"
    for name, (count, cycles) in sorted(found.items(), key=lambda each: -each[1][1]):
        instances = f"({int(count)} instances):"
        origin = ", ".join(sorted(sources[name]))
        yield f"    {name:<{width}} {instances:>22} {cycles:>14,.0f}  [{origin}]"


def _steps(estimate: PlacedEstimate, name: str, run: ProgramRun) -> Iterator[str]:
    """What ran, in order."""
    program = estimate.program
    yield f"  Execution steps of {name}:"
    laid = laid_out(program.programs[run.program], program.functions, run.executions, MOST_STEPS)
    listed = 0
    for node in laid.nodes:
        leaf = estimate.leaves.get(node)
        for phase in leaf.phases if leaf is not None else ():
            if listed == MOST_STEPS:
                yield "    and more; `tremula view` shows all of a profile"
                return
            listed += 1
            yield _step(estimate, phase)


def _step(estimate: PlacedEstimate, phase: Phase) -> str:
    tiles = len(phase.tiles)
    parts = [f"{phase.cycles:,.0f} cycles"]
    if tiles:
        parts.append(f"{tiles:,} tiles")
        parts.append(f"mean {phase.summed / tiles:,.1f}")
    if phase.kind is PhaseKind.COMPUTE and tiles and phase.cycles:
        balance = phase.summed / estimate.hardware.tiles / phase.cycles
        parts.append(f"tile balance {100 * balance:.1f}%")
    if phase.bytes_in or phase.bytes_out:
        parts.append(f"{phase.bytes_in + phase.bytes_out:,} bytes")
    return f"    {_NAMES[phase.kind]}: {phase.name}: {', '.join(parts)}"
