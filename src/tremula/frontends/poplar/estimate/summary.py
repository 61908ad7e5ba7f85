"""The profile summary that engines print: target, graph, memory, execution, in the layout that users know.

Options: `showExecutionSteps` lists what ran, `showVarStorage` the variables with their sizes and lifetimes,
`showPerIpuMemoryUsage` the memory of each IPU, `showOptimizations` which copies run together, `colours` marks titles
for a terminal. All figures are modelled.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tremula.frontends.poplar.estimate import summary_execution, summary_memory
from tremula.frontends.poplar.execute.runs import ProgramRun
from tremula.frontends.poplar.target import TargetFacts, TargetKind
from tremula.placed.estimate import PlacedEstimate

_BOLD, _PLAIN = "\x1b[1m", "\x1b[0m"


def text(
    estimate: PlacedEstimate, target: TargetFacts, runs: Sequence[ProgramRun], options: Mapping[str, str]
) -> str:
    """The whole summary."""

    def on(name: str) -> bool:
        return options.get(name, "").lower() in ("true", "1")

    lines = [
        *_target(target),
        "",
        *_graph(estimate),
        "",
        *summary_memory.lines(estimate, by_ipu=on("showPerIpuMemoryUsage")),
        "",
        *summary_execution.lines(estimate, runs, steps=on("showExecutionSteps")),
    ]
    if on("showVarStorage"):
        lines += ["", *summary_memory.variables(estimate)]
    if on("showOptimizations"):
        lines += ["", *_optimisations(estimate)]
    lines += ["", "All figures are modelled: docs/poplar-estimates.md says how, and how wrong they may be."]
    if on("colours"):
        lines = [f"{_BOLD}{line}{_PLAIN}" if line and not line.startswith(" ") else line for line in lines]
    return "\n".join(lines)


def _target(target: TargetFacts) -> Iterator[str]:
    yield "Target:"
    memory = target.tiles * target.bytes_per_tile
    kind = " (IPU Model)" if target.kind is TargetKind.IPU_MODEL else ""
    for label, value in (
        ("Number of IPUs:", f"{target.ipus:,}"),
        ("Tiles per IPU:", f"{target.tiles_per_ipu:,}"),
        ("Total Tiles:", f"{target.tiles:,}"),
        ("Memory Per-Tile:", f"{target.bytes_per_tile / 1024:,.1f} kB"),
        ("Total Memory:", f"{memory / 1024 / 1024:,.1f} MB"),
        ("Clock Speed (approx):", f"{target.clock_hz / 1e6:,.1f} MHz{kind}"),
    ):
        yield f"  {label:<22} {value}"


def _graph(estimate: PlacedEstimate) -> Iterator[str]:
    program = estimate.program
    batches = [batch for made in program.compute_sets for batch in made.batches]
    edges = sum(
        len(field.vertex) if field.edge is None else len(set(field.edge.tolist()))
        for batch in batches
        for field in batch.fields
    )
    counts = {
        "vertices": sum(batch.count for batch in batches),
        "edges": edges,
        "variables": program.variables.count,
        "compute sets": len(program.compute_sets),
    }
    width = max(len(f"{count:,}") for count in counts.values())
    yield "Graph:"
    for name, count in counts.items():
        yield f"  {f'Number of {name}:':<24} {count:>{width},}"


def _optimisations(estimate: PlacedEstimate) -> Iterator[str]:
    leaves = estimate.leaves.values()
    together = sum(1 for leaf in leaves if leaf.done_by >= 0)
    yield "Optimizations:"
    yield f"  Copies that run together with the one before them: {together:,} of {len(estimate.program.copies):,}"
