"""The rows of a profile: one frozen class per table, one field per column, the meaning beside each.

The file's schema and its reference page are made from these classes, so they are the only place where a column
is described. All figures are modelled by the writer of the file; units are in the names. Integers are counts or
numbers from 0 on, and -1 means "none".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, NewType

#: text that holds JSON; longer than names may be
Json = NewType("Json", str)


@dataclass(frozen=True, slots=True)
class Target:
    """What was modelled; one row."""

    chip: Annotated[str, "short name of the chip"]
    title: Annotated[str, "its name in reports"]
    system: Annotated[str, "name of the system"]
    system_ipus: Annotated[int, "IPUs of the system"]
    replicas: Annotated[int, "copies of the model"]
    ipus_per_replica: Annotated[int, "IPUs of each copy"]
    tiles_per_ipu: Annotated[int, "tiles of an IPU"]
    tile_memory_bytes: Annotated[int, "memory of a tile"]
    clock_hz: Annotated[float, "cycles per second"]


@dataclass(frozen=True, slots=True)
class Option:
    """A setting that the program was modelled with."""

    section: Annotated[str, "run, deployment, loops or engine"]
    name: Annotated[str, "name of the setting"]
    value: Annotated[str, "its value as text"]


@dataclass(frozen=True, slots=True)
class Figure:
    """A modelled figure and the range in which the true one probably lies."""

    name: Annotated[str, "name of the figure"]
    value: Annotated[float, "the modelled value"]
    unit: Annotated[str, "its unit"]
    low: Annotated[float, "lower end of the error band; the value itself if there is no band"]
    high: Annotated[float, "upper end"]
    band: Annotated[str, "source of the band; empty if there is none"]


@dataclass(frozen=True, slots=True)
class Count:
    """A count of items in the graph."""

    name: Annotated[str, "what is counted"]
    count: Annotated[int, "how many"]


@dataclass(frozen=True, slots=True)
class Category:
    """A use of tile memory."""

    id: Annotated[int, "number, counted from 0 in the order of the rows"]
    name: Annotated[str, "what the bytes are for"]
    always_live: Annotated[int, "1: in use for the whole run; 0: at the fullest moment only"]


@dataclass(frozen=True, slots=True)
class IpuMemory:
    """The memory of one IPU of a replica at its fullest moment."""

    ipu: Annotated[int, "number within the replica"]
    total_bytes: Annotated[int, "all tiles, gaps included"]
    always_live_bytes: Annotated[int, "in use for the whole run, without gaps"]
    not_always_live_bytes: Annotated[int, "in use at the fullest moment only"]
    max_tile_bytes: Annotated[int, "on the fullest tile, gaps included"]
    fullest_tile: Annotated[int, "number of that tile"]
    tiles_out_of_memory: Annotated[int, "tiles that need more than they have"]
    peak_step: Annotated[int, "program step at which it is fullest"]
    peak_op: Annotated[str, "op of that step"]
    peak_phase: Annotated[str, "forward, recomputed forward, backward, accumulate or update"]


@dataclass(frozen=True, slots=True)
class TileMemory:
    """Bytes on each tile of one IPU, for one use."""

    ipu: Annotated[int, "number within the replica"]
    category_id: Annotated[int, "row of `categories`"]
    total_bytes: Annotated[int, "sum over the tiles"]
    tiles: Annotated[int, "number of tiles"]
    bytes_per_tile: Annotated[bytes, "one little-endian int64 per tile, zlib-compressed"]


@dataclass(frozen=True, slots=True)
class Contributor:
    """A module or tensor that takes memory at the fullest moment; the largest of each IPU."""

    ipu: Annotated[int, "number within the replica"]
    category_id: Annotated[int, "row of `categories`"]
    name: Annotated[str, "the user's module, or the tensor"]
    bytes: Annotated[int, "on all tiles of the IPU"]


@dataclass(frozen=True, slots=True)
class Liveness:
    """Memory that is not always live on one IPU, for each program step of a step."""

    ipu: Annotated[int, "number within the replica"]
    steps: Annotated[int, "program steps"]
    live_bytes: Annotated[bytes, "tensors alive in each program step, as `bytes_per_tile`"]
    temporary_bytes: Annotated[bytes, "temporaries of the op that runs, all its tiles, as `bytes_per_tile`"]


@dataclass(frozen=True, slots=True)
class ProgramSteps:
    """The order in which a step runs its ops, including recomputed ones; one row."""

    steps: Annotated[int, "program steps"]
    op_ids: Annotated[
        bytes, "row of `ops` for each program step, -1 for ops without work, as `bytes_per_tile`"
    ]
    again: Annotated[bytes, "1 if the op is run a second time for the backward pass"]


@dataclass(frozen=True, slots=True)
class Lifetime:
    """A tensor that is alive for a part of the step; the largest of each IPU."""

    ipu: Annotated[int, "number within the replica"]
    name: Annotated[str, "the tensor"]
    module: Annotated[str, "dotted path of the user's module"]
    bytes: Annotated[int, "on all tiles of the IPU"]
    first_step: Annotated[int, "first program step in which it is alive"]
    last_step: Annotated[int, "last one"]


@dataclass(frozen=True, slots=True)
class Op:
    """An op that does work, over a whole step of one replica."""

    id: Annotated[int, "number, counted from 0 in the order of the rows"]
    name: Annotated[str, "name of the op"]
    target: Annotated[str, "what it computes"]
    phase: Annotated[str, "forward, backward, accumulate or update"]
    ipu: Annotated[int, "IPU within the replica"]
    stage: Annotated[int, "pipeline stage after differentiation"]
    module: Annotated[str, "dotted path of the user's module; empty outside modules"]
    source_file: Annotated[str, "the user's line: file"]
    source_line: Annotated[int, "line, -1 if unknown"]
    source_function: Annotated[str, "function"]
    runs: Annotated[int, "runs per step, including recomputed ones"]
    merged: Annotated[int, "number of ops in this row; more than 1 if a large program was merged"]
    compute_cycles: Annotated[float, "compute of the slowest tile, all runs of a step"]
    exchange_cycles: Annotated[float, "exchange between tiles, all runs of a step"]
    sync_cycles: Annotated[float, "tiles waiting for each other, all runs of a step"]
    flops: Annotated[float, "floating-point operations of all runs of a step"]
    temporary_bytes: Annotated[int, "on the fullest tile while it runs"]
    unknown: Annotated[int, "1: costed by the fallback, because no planner covers the op"]
    plan_id: Annotated[int, "row of `plans`, -1 for merged rows"]

    @property
    def cycles(self) -> float:
        """All cycles of the op in a step."""
        return self.compute_cycles + self.exchange_cycles + self.sync_cycles

    @property
    def source(self) -> str:
        """The user's line as text, empty if it is not known."""
        return f"{self.source_file}:{self.source_line}" if self.source_file else ""


@dataclass(frozen=True, slots=True)
class Plan:
    """How one run of an op is divided over tiles, and why; ops of equal work share a plan."""

    id: Annotated[int, "number, counted from 0 in the order of the rows"]
    cycles: Annotated[float, "of one run"]
    temporary_bytes: Annotated[int, "on the fullest tile"]
    vertex_code_bytes: Annotated[int, "on the fullest tile"]
    vertex_state_bytes: Annotated[int, "on the fullest tile"]
    exchange_code_bytes: Annotated[int, "on the fullest tile"]
    control_code_bytes: Annotated[int, "on the fullest tile"]
    why: Annotated[Json, "plan, formula, source, figures, alternatives and parts, as JSON"]


@dataclass(frozen=True, slots=True)
class Superstep:
    """An execution step of a plan: exchange, sync, compute; cycles by group of tiles."""

    plan_id: Annotated[int, "row of `plans`"]
    name: Annotated[str, "the operation"]
    repeats: Annotated[int, "times in a row"]
    slowest_tile_cycles: Annotated[float, "compute of the slowest tile, once"]
    mean_tile_cycles: Annotated[float, "compute of the mean active tile, once"]
    exchange_cycles: Annotated[float, "once"]
    sync_cycles: Annotated[float, "once"]
    active_tiles: Annotated[int, "tiles that compute"]
    idle_tiles: Annotated[int, "tiles that wait"]
    flops: Annotated[float, "floating-point operations, once"]

    @property
    def cycles(self) -> float:
        """All cycles, repeats included."""
        return self.repeats * (self.slowest_tile_cycles + self.exchange_cycles + self.sync_cycles)


@dataclass(frozen=True, slots=True)
class ProgramNode:
    """A node of the program tree down to ops, as `Profile.programs` gives it; the frame `programs` has all nodes."""

    id: Annotated[int, "number, counted from 0 in the order of the rows"]
    parent_id: Annotated[int, "a row before this one, -1 for the root"]
    kind: Annotated[str, "step, repeat, stage, update, op, collective, streaming, copy, call or host"]
    name: Annotated[str, "what it is"]
    repeats: Annotated[int, "times it runs in one run of its parent"]
    cycles: Annotated[float, "of all repeats, in one run of its parent"]
    op_id: Annotated[int, "row of `ops`, -1 for inner nodes"]


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the time of a step; the parts sum to the cycles of a step."""

    name: Annotated[str, "use of the cycles"]
    cycles: Annotated[float, "cycles of a step"]


@dataclass(frozen=True, slots=True)
class Stage:
    """A pipeline stage, or a part of a program without a pipeline, for one micro-batch."""

    stage: Annotated[int, "number after differentiation"]
    ipu: Annotated[int, "where it runs"]
    phases: Annotated[str, "forward, recompute and backward, joined by commas"]
    forward_cycles: Annotated[float, "work of the forward pass"]
    recompute_cycles: Annotated[float, "recomputed work of the forward pass"]
    backward_cycles: Annotated[float, "work of the backward pass and of accumulation"]
    copied_bytes: Annotated[int, "bytes that are copied to other IPUs afterwards"]

    @property
    def cycles(self) -> float:
        """All work of the stage."""
        return self.forward_cycles + self.recompute_cycles + self.backward_cycles


@dataclass(frozen=True, slots=True)
class PipelinePhase:
    """Filling, full and draining turns of the pipeline, stage by stage."""

    phase: Annotated[str, "fill, full or drain"]
    ipu: Annotated[int, "where the stage runs"]
    stage: Annotated[int, "row of `stages` by its number"]
    turns: Annotated[int, "pipeline cycles of the phase"]
    active_turns: Annotated[int, "turns in which the stage has work"]
    elapsed_cycles: Annotated[float, "clock cycles of the phase, the same for all stages"]
    busy_cycles: Annotated[float, "clock cycles in which the stage works"]


@dataclass(frozen=True, slots=True)
class Transfer:
    """Traffic beyond the chip in a step: collectives, streaming memory, copies between IPUs, calls and the host."""

    name: Annotated[str, "what is moved"]
    kind: Annotated[str, "collective, streaming, copy, call or host"]
    cycles: Annotated[float, "cycles of a step that the device spends on it"]
    bytes: Annotated[int, "bytes of a replica, 0 if not known"]
    why: Annotated[Json, "the reason, as in `plans`"]


@dataclass(frozen=True, slots=True)
class Advice:
    """A change to the program with the effect that the chip model predicts; best first."""

    title: Annotated[str, "the change"]
    effect: Annotated[float, "samples per second after the change divided by those before"]
    low: Annotated[float, "lower end of the range in which the true effect probably lies"]
    high: Annotated[float, "upper end"]
    tile_share: Annotated[
        float, "bytes on the fullest tile after the change, divided by the memory of a tile"
    ]
    fits: Annotated[str, "whether the program then fits: yes, likely, unlikely or no"]
    ipus: Annotated[int, "IPUs that it needs"]
    cause: Annotated[str, "cause of the effect in the chip model"]
    cost: Annotated[str, "what it costs or risks"]
    code: Annotated[Json, "the change as lines of Python, a JSON list of texts"]


@dataclass(frozen=True, slots=True)
class VertexType:
    """A type of vertex and the memory that it takes."""

    id: Annotated[int, "number, counted from 0 in the order of the rows"]
    name: Annotated[str, "name of the type, that of PopLibs if it has one"]
    code_bytes: Annotated[int, "code on all tiles of all IPUs of a replica"]
    state_bytes: Annotated[int, "state of its vertices, on all tiles of all IPUs of a replica"]


@dataclass(frozen=True, slots=True)
class Run:
    """A run of a program that is recorded step by step."""

    id: Annotated[int, "number, counted from 0 in the order of the rows"]
    name: Annotated[str, "the program"]
    kind: Annotated[str, "upload or step"]
    start_us: Annotated[float, "microseconds from the start of the first run, on the modelled clock"]
    end_us: Annotated[float, "when it ends"]
    cycles: Annotated[int, "cycles of the run, the same on every IPU"]
    steps: Annotated[int, "rows of the frame `steps`"]
    note: Annotated[str, "remarks; empty if there are none"]


@dataclass(frozen=True, slots=True)
class ColumnChunk:
    """A part of a column of a frame: the place and the hash of its values."""

    frame: Annotated[str, "the frame"]
    name: Annotated[str, "the column"]
    kind: Annotated[str, "i8, f8 or str"]
    chunk: Annotated[int, "number within the column, from 0"]
    first: Annotated[int, "row of the frame at which it begins"]
    rows: Annotated[int, "number of rows"]
    low: Annotated[float, "smallest value; 0 for texts"]
    high: Annotated[float, "largest value"]
    stored: Annotated[
        str, "i or d and 1, 2, 4 or 8: integers or their differences in so many bytes, f8, or text"
    ]
    blob: Annotated[int, "row of `blobs`: the values, little-endian, zlib-compressed"]
    hash: Annotated[str, "SHA-256 of that row"]


@dataclass(frozen=True, slots=True)
class Meta:
    """Information about the file, including digests of all tables."""

    key: Annotated[str, "name"]
    value: Annotated[str, "value as text"]


Row = (
    Target | Option | Figure | Count | Category | IpuMemory | TileMemory | Contributor | Liveness | ProgramSteps
    | Lifetime | Op | Plan | Superstep | Part | Stage | PipelinePhase | Transfer | Advice | VertexType
    | Run | ColumnChunk | Meta
)  # fmt: skip
