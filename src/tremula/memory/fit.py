"""Does the program fit: the memory of every IPU at its fullest moment, and what to say when a tile is full.

A tile that is full is an error on hardware, whatever room the others have. The texts name the user's modules,
largest first, and what usually helps.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tremula.hardware.chip import Chip
from tremula.memory.categories import GAP_SHARE, STACK_BYTES_PER_TILE, Category
from tremula.memory.code import code_bytes, spread_code
from tremula.memory.liveness import Liveness, liveness
from tremula.memory.report import Contributor, IpuMemory, Peak
from tremula.memory.tiles import Tiles, laid_out, same
from tremula.memory.verdict import Fit, curve
from tremula.module_paths import parts
from tremula.plan.cost import Cost
from tremula.plan.planner import Planner
from tremula.program.op import Op
from tremula.program.program import Program
from tremula.program.tensor import Role, Tensor
from tremula.schedule.deployment import Deployment, Location
from tremula.schedule.recompute import Recomputation

_CATEGORIES = {
    Role.PARAMETER: Category.WEIGHTS,
    Role.BUFFER: Category.BUFFERS,
    Role.STATE: Category.OPTIMIZER_STATE,
    Role.ACCUMULATOR: Category.ACCUMULATORS,
    Role.CONSTANT: Category.CONSTANTS,
    Role.SCALAR: Category.CONSTANTS,
}
#: contributors that a report keeps
_KEPT = 50

#: what shrinks with the micro-batch, as long as that has more than one sample
_PER_SAMPLE = (Category.ACTIVATIONS, Category.STASHES, Category.TEMPORARIES)
_ADVICE = {
    Category.ACTIVATIONS: "recomputation, or fewer recomputation checkpoints",
    Category.STASHES: "recomputation, fewer checkpoints or fewer pipeline stages",
    Category.TEMPORARIES: "a lower available memory proportion",
    Category.WEIGHTS: "more IPUs for the model (pipeline stages), or half precision",
    Category.OPTIMIZER_STATE: "optimizer state in streaming memory, or sharded over replicas",
    Category.ACCUMULATORS: "accumulators in half precision or in streaming memory",
    Category.EXCHANGE_CODE: "fewer different shapes, so that layers share their code",
}


@dataclass(frozen=True)
class MemoryReport:
    """The memory of one replica; all replicas are alike."""

    chip: str
    ipus: tuple[IpuMemory, ...]
    tile_memory_bytes: int
    tiles_per_ipu: int
    #: samples of a micro-batch
    samples: int
    #: what is alive when, for those who want more than the fullest moment
    liveness: Liveness = field(repr=False)

    @property
    def fit(self) -> Fit:
        """Whether every tile of every IPU has room: a probability and a word, by the fullest tile."""
        return self.fullest.fit

    @property
    def fits(self) -> bool:
        """Whether it fits more probably than not: the verdict is yes or likely."""
        return self.fit.fits

    @property
    def fullest(self) -> IpuMemory:
        """The IPU with the fullest tile."""
        return max(self.ipus, key=lambda ipu: ipu.max_tile_bytes)

    @property
    def max_tile_bytes(self) -> int:
        """Bytes on the fullest tile, gaps included."""
        return self.fullest.max_tile_bytes

    @property
    def total_bytes(self) -> int:
        """Bytes on all tiles of a replica."""
        return sum(ipu.total_bytes for ipu in self.ipus)

    @property
    def by_category(self) -> dict[Category, int]:
        """Bytes of a replica by use."""
        totals: dict[Category, int] = defaultdict(int)
        for ipu in self.ipus:
            for category, size in ipu.by_category.items():
                totals[category] += size
        return dict(totals)

    @property
    def headroom(self) -> float:
        """Share of the fullest tile that is free; negative when it has more bytes than room."""
        return 1.0 - self.max_tile_bytes / self.tile_memory_bytes

    @property
    def excess(self) -> float:
        """How much less the fullest tile would have to hold to count as fitting, as a share of that; 0 if it does."""
        return max(0.0, self.max_tile_bytes / (curve().full * self.tile_memory_bytes) - 1.0)

    def out_of_memory_text(self, limit: int = 8) -> str:
        """Why it does not fit, in lines; empty when it does."""
        full = [ipu for ipu in self.ipus if not ipu.fits]
        if not full:
            return ""
        over = sum(ipu.tiles_out_of_memory for ipu in full)
        # below all of a tile a program may still fail: the compiler needs room that the model does not see
        what = f"the program does not fit on {over:,} tiles" if over else "the program probably does not fit"
        lines = [
            f"Out of memory (modelled for {self.chip}): {what}; {self.fit}.",
            f"Evidence: {self.fit.evidence}.",
        ]
        for ipu in full:
            tile = ipu.ipu * self.tiles_per_ipu + ipu.fullest_tile
            but = "but tiles only have" if ipu.tiles_out_of_memory else "where tiles have"
            lines.append(
                f"Out of memory on tile {tile}: {ipu.max_tile_bytes} bytes used {but} "
                f"{self.tile_memory_bytes} bytes of memory (IPU {ipu.ipu}, at {ipu.peak.op} of the "
                f"{ipu.peak.phase} pass; the mean tile needs {ipu.mean_tile_bytes:.0f} bytes)."
            )
        worst = max(full, key=lambda ipu: ipu.max_tile_bytes)
        lines.append(f"Largest on IPU {worst.ipu}:")
        lines += [
            f"  {each.bytes / 2**20:8.1f} MiB  {each.category.value:<22} {each.name}"
            for each in worst.contributors[:limit]
        ]
        lines.append("What helps: " + "; ".join(self.advice()) + ".")
        return "\n".join(lines)

    def advice(self, limit: int = 3) -> list[str]:
        """Advice for the largest uses of memory on the fullest IPU."""
        sizes = self.fullest.by_category
        ranked = sorted(_ADVICE, key=lambda category: sizes.get(category, 0), reverse=True)
        smaller = {} if self.samples == 1 else dict.fromkeys(_PER_SAMPLE, ", or a smaller micro-batch")
        return [f"for {c.value}, {_ADVICE[c]}{smaller.get(c, '')}" for c in ranked[:limit] if sizes.get(c, 0)]


def memory_report(
    program: Program,
    costs: Sequence[Cost],
    again: Recomputation,
    deployment: Deployment,
    chip: Chip,
    planner: Planner,
) -> MemoryReport:
    """The memory of every IPU of a replica."""
    alive = liveness(program, costs, again, deployment)
    lasting = lasting_tensors(program, deployment)
    ops: dict[int, list[int]] = defaultdict(list)
    for number, op in enumerate(program.ops):
        ops[op.ipu].append(number)
    ipus = range(max(program.ipus, deployment.ipus_per_replica))
    return MemoryReport(
        chip=chip.name,
        ipus=tuple(
            _ipu_memory(program, costs, alive, lasting[ipu], ops[ipu], ipu, deployment, chip, planner)
            for ipu in ipus
        ),
        tile_memory_bytes=chip.tile_memory_bytes,
        tiles_per_ipu=chip.tiles,
        samples=program.samples,
        liveness=alive,
    )


def lasting_tensors(program: Program, deployment: Deployment) -> dict[int, list[tuple[int, Category, int]]]:
    """IPU -> (tensor, use, bytes) of what stays on the chip from step to step."""
    found: dict[int, list[tuple[int, Category, int]]] = defaultdict(list)
    locations = {
        Role.PARAMETER: deployment.weights,
        Role.STATE: deployment.optimizer_state,
        Role.ACCUMULATOR: deployment.accumulators,
    }
    for number, tensor in enumerate(program.tensors):
        if tensor.role not in _CATEGORIES or tensor.storage != number:
            continue
        size = resident_bytes(
            tensor.bytes, tensor.elements, locations.get(tensor.role, Location()), program.loops.replicas
        )
        if size:
            found[tensor.ipu].append((number, _CATEGORIES[tensor.role], size))
    return found


def resident_bytes(size: int, elements: int, location: Location, replicas: int) -> int:
    """Bytes of a tensor that are on the chip all the time."""
    if elements < location.smallest_elements:
        return size
    if not location.on_chip:
        return 0
    return -(-size // replicas) if location.sharded else size


def _ipu_memory(
    program: Program,
    costs: Sequence[Cost],
    alive: Liveness,
    lasting: Sequence[tuple[int, Category, int]],
    ops: Sequence[int],
    ipu: int,
    deployment: Deployment,
    chip: Chip,
    planner: Planner,
) -> IpuMemory:
    tiles = chip.tiles - deployment.io_tiles
    sizes: dict[Category, list[int]] = defaultdict(list)
    shares: dict[tuple[tuple[str, ...], str, Category], int] = defaultdict(int)

    def note(category: Category, tensor: int, size: int) -> None:
        sizes[category].append(size)
        known = program.tensors[tensor]
        scope = modules_of(known)
        shares[scope, "" if scope else known.name, category] += size

    for number, category, size in lasting:
        note(category, number, size)
    for storage, size in alive.stashes.get(ipu, {}).items():
        note(Category.STASHES, storage, size)
    live = alive.live.get(ipu, np.zeros(1, dtype=np.int64))
    temporary = alive.temporary.get(ipu, np.zeros(1, dtype=np.int64))
    position = int(np.argmax(live / tiles + temporary))
    for lifetime in alive.alive_at(ipu, position):
        note(Category.ACTIVATIONS, lifetime.storage, lifetime.bytes)

    peak, used = _peak(program, costs, alive, position, chip)
    on_tiles: dict[Category, Tiles] = {
        category: _padded(laid_out(values, tiles), chip.tiles) for category, values in sizes.items()
    }
    on_tiles[Category.TEMPORARIES] = _padded(same(int(temporary[position]), tiles, used), chip.tiles)
    if temporary[position]:
        shares[peak.scope, peak.op, Category.TEMPORARIES] += int(on_tiles[Category.TEMPORARIES].sum())
    code = code_bytes((program.ops[n].works for n in ops), planner)
    for category, size in (
        (Category.VERTEX_CODE, code.vertex_code),
        (Category.VERTEX_STATE, code.vertex_state),
        (Category.EXCHANGE_CODE, code.exchange_code),
        (Category.CONTROL_CODE, code.control_code),
    ):
        on_tiles[category] = _padded(spread_code(size, tiles), chip.tiles)
        if size:
            shares[(), category.value, category] += size * tiles
    on_tiles[Category.STACKS] = same(STACK_BYTES_PER_TILE if ops or lasting else 0, chip.tiles)
    on_tiles[Category.IO_BUFFERS] = _io_buffers(program, ipu, deployment, chip)
    gaps = GAP_SHARE * np.sum(list(on_tiles.values()), axis=0)
    on_tiles[Category.GAPS] = np.floor(gaps).astype(np.int64)
    ranked = sorted(shares.items(), key=lambda item: item[1], reverse=True)[:_KEPT]
    return IpuMemory(
        ipu=ipu,
        tiles={c: on_tiles[c] for c in Category if c in on_tiles},
        peak=peak,
        contributors=tuple(
            Contributor(".".join((*scope, name) if name else scope), category, size, scope)
            for (scope, name, category), size in ranked
        ),
        live=live,
        tile_memory_bytes=chip.tile_memory_bytes,
    )


def modules_of(item: Op | Tensor) -> tuple[str, ...]:
    """The user's modules around an op or a tensor, outermost first; without any, the user's name scopes."""
    return tuple(parts(item.module)) if item.module else item.scope


def _padded(on_tiles: Tiles, tiles: int) -> Tiles:
    """With the I/O tiles, which come last and hold nothing of it."""
    return np.pad(on_tiles, (0, tiles - len(on_tiles)))


def _peak(
    program: Program, costs: Sequence[Cost], alive: Liveness, position: int, chip: Chip
) -> tuple[Peak, int]:
    if not alive.events:
        return Peak(0, "", "forward"), chip.tiles
    event = alive.events[position]
    op = program.ops[event.op]
    phase = "recomputed forward" if event.again else op.phase.value
    used = max((step.tiles for step in costs[event.op].supersteps), default=chip.tiles)
    return Peak(position, op.name, phase, modules_of(op)), used


def _io_buffers(program: Program, ipu: int, deployment: Deployment, chip: Chip) -> Tiles:
    """Where transfers with the host begin and end.

    Overlapped ones have a second place on tiles of their own: the next batch comes in there while the one on the
    other tiles is worked on.
    """
    if deployment.synthetic_data:
        return same(0, chip.tiles)
    mine = [
        program.tensors[n].bytes for n in (*program.inputs, *program.outputs) if program.tensors[n].ipu == ipu
    ]
    working = _padded(laid_out(mine, chip.tiles - deployment.io_tiles), chip.tiles)
    if deployment.overlap_io and deployment.io_tiles:
        arriving = laid_out(mine, deployment.io_tiles)
        return working + np.pad(arriving, (chip.tiles - deployment.io_tiles, 0))
    return working
