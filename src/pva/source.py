"""The open profile behind a report, and the arrays that its objects share.

Columns are read when the first object needs one. What is derived from them is kept: children of programs, programs of
ops, and bytes on tiles.
"""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pva.categories import GAPS, category_of
from pva.enums import EXCHANGES
from pva.sequences import Numbers, PrintLength
from tremula.errors import Error
from tremula.profile import Profile

Array = NDArray[Any]
Ints = NDArray[np.int64]
FILE_NAME = "profile.pop"
#: no system has as many
_MOST_IPUS = 8192


class Source:
    """A profile and what was derived from it."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.profile = Profile(_file(Path(path)))
        self.print_length = PrintLength()
        self._memory: dict[int, IpuBytes] = {}
        self._values: dict[tuple[str, str], list[Any]] = {}
        self._vertices: dict[int, tuple[Ints, Ints]] = {}

    @functools.cached_property
    def target(self) -> Any:
        """What was modelled."""
        return self.profile.target

    def numbers(self, frame: str, column: str) -> Array:
        """A column of numbers."""
        found = self.profile.frame(frame).column(column)
        if not isinstance(found, np.ndarray):
            raise TypeError(f"{column} of {frame} is text")
        return found

    def values(self, frame: str, column: str) -> list[Any]:
        """A column of numbers as a list, of which single ones are had faster than of an array."""
        found = self._values.get((frame, column))
        if found is None:
            found = self._values[frame, column] = self.numbers(frame, column).tolist()
        return found

    def texts(self, frame: str, column: str) -> list[str]:
        """A column of texts."""
        found = self.profile.frame(frame).column(column)
        if not isinstance(found, list):
            raise TypeError(f"{column} of {frame} is not text")
        return found

    def rows(self, frame: str) -> int:
        """How many rows a frame has."""
        return len(self.profile.frame(frame))

    @functools.cached_property
    def counts(self) -> dict[str, int]:
        """Counts of the graph by name."""
        return {each.name: each.count for each in self.profile.graph}

    @functools.cached_property
    def set_cycles(self) -> Groups:
        """Rows of `tile_cycles` of each compute set; programs that place no vertices themselves have none."""
        return Groups(self.numbers("tile_cycles", "compute_set"), self.rows("compute_sets"))

    # -- the machine -------------------------------------------------------------------------------------

    @functools.cached_property
    def ipus(self) -> int:
        """IPUs of all replicas, which are equal. Raises Error if no system has as many."""
        count = int(self.target.replicas * self.target.ipus_per_replica)
        if not (0 < count <= _MOST_IPUS and self.target.replicas > 0):
            raise Error(f"{self.profile.path} has an invalid number of IPUs: {count:,}.", type="pva_error")
        return count

    @functools.cached_property
    def tiles(self) -> int:
        """Tiles of all replicas."""
        return int(self.ipus * self.target.tiles_per_ipu)

    def modelled_ipu(self, ipu: int) -> int:
        """The IPU of the modelled replica that IPU `ipu` of the system is equal to."""
        return int(ipu % self.target.ipus_per_replica)

    def memory(self, ipu: int) -> IpuBytes:
        """Bytes on the tiles of an IPU of the modelled replica."""
        if ipu not in self._memory:
            self._memory[ipu] = IpuBytes(self, ipu)
        return self._memory[ipu]

    def ipu_of_op(self, op: int) -> int:
        """The IPU of the modelled replica on which an op runs; 0 for what is not an op."""
        return self.modelled_ipu(self.profile.ops[op].ipu) if op >= 0 else 0

    def on_system(self, of_ipu: Array, ipu: int) -> Numbers:
        """Values of the tiles of one IPU as values of all tiles of the system: equal in all replicas, 0 elsewhere."""
        tiles = len(of_ipu)
        replica = np.zeros((self.target.ipus_per_replica, tiles), dtype=of_ipu.dtype)
        replica[ipu] = of_ipu
        return self.of_replicas(replica)

    def of_replicas(self, replica: Array) -> Numbers:
        """Values of the tiles of a replica, IPU by IPU, for all replicas."""
        return Numbers(np.tile(replica.ravel(), self.ipus // len(replica)), self.print_length)

    def as_category(self, total: int, ipu: int, category: str) -> Ints:
        """Bytes of code on the tiles of an IPU, spread as all code of the category is."""
        tiles = np.zeros(self.target.tiles_per_ipu, dtype=np.int64)
        return in_shape(total, self.memory(ipu).categories.get(category, tiles))

    # -- programs ----------------------------------------------------------------------------------------

    @functools.cached_property
    def children(self) -> Groups:
        """Rows of the children of each program."""
        return Groups(self.numbers("programs", "parent"), self.rows("programs"))

    @functools.cached_property
    def programs_of_op(self) -> Groups:
        """Rows of the programs of each op."""
        return Groups(self.numbers("programs", "op_id"), len(self.profile.ops))

    @functools.cached_property
    def exchange_code(self) -> Ints:
        """Exchange code of each program, on all tiles; the rest of its code is control code.

        The file has both in one column. Leaves of an op have equal parts of its control code, so what an exchange has
        more than its neighbours that exchange nothing is exchange code.
        """
        parent, code = self.numbers("programs", "parent"), self.numbers("programs", "code_bytes")
        exchanges = np.isin(self.numbers("programs", "type"), [int(each) for each in EXCHANGES])
        leaf = (self.children.sizes == 0) & (parent >= 0)
        others = leaf & ~exchanges
        counts = np.bincount(parent[others], minlength=len(parent))
        sums = np.bincount(parent[others], weights=code[others], minlength=len(parent))
        control = np.floor(sums / np.maximum(counts, 1)).astype(np.int64)
        more = code - control[np.maximum(parent, 0)]
        return np.where(exchanges & (more > 1), more, 0)  # parts of control code differ by a byte

    @functools.cached_property
    def compute_set_vertices(self) -> dict[tuple[int, int], Ints]:
        """Rows of `vertices` of each superstep of each plan."""
        plans, steps = self.numbers("vertices", "plan_id"), self.numbers("vertices", "superstep")
        found: dict[tuple[int, int], list[int]] = {}
        for row, key in enumerate(zip(plans.tolist(), steps.tolist(), strict=True)):
            found.setdefault(key, []).append(row)
        return {key: np.asarray(rows, dtype=np.int64) for key, rows in found.items()}

    @functools.cached_property
    def state_per_vertex(self) -> list[int]:
        """Bytes of state of one vertex of each type: those of the type over its vertices, each plan counted once."""
        types, counts = self.numbers("vertices", "vertex_type"), self.numbers("vertices", "count")
        known = self.profile.vertex_types
        some = types >= 0
        totals = np.bincount(types[some], weights=counts[some], minlength=len(known))
        return [int(each.state_bytes // max(1, int(totals[number]))) for number, each in enumerate(known)]

    def vertices_of_ipu(self, ipu: int) -> tuple[Ints, Ints]:
        """Code bytes and number of vertices of each type on each tile of an IPU of the modelled replica."""
        if ipu not in self._vertices:
            self._vertices[ipu] = vertices_of_ipu(self, ipu)
        return self._vertices[ipu]


class Groups:
    """Rows by the value of a column: row numbers of each value from 0 on, in their order."""

    def __init__(self, values: Ints, groups: int) -> None:
        order = np.argsort(values, kind="stable")
        self._order = order.astype(np.int64)
        self._starts = np.searchsorted(values[order], np.arange(groups + 1))

    def __getitem__(self, value: int) -> Ints:
        if not 0 <= value < len(self._starts) - 1:
            return self._order[:0]
        return self._order[self._starts[value] : self._starts[value + 1]]

    def positions(self, values: Ints, offsets: Ints) -> Ints:
        """The rows at `offsets` within the groups of `values`."""
        found: Ints = self._order[self._starts[values] + offsets]
        return found

    @property
    def sizes(self) -> Ints:
        """How many rows each group has."""
        sizes: Ints = np.diff(self._starts)
        return sizes


class IpuBytes:
    """Bytes on each tile of one IPU, by category and in sums; lists, as single values are asked for."""

    def __init__(self, source: Source, ipu: int) -> None:
        profile = source.profile
        lasting = {category.name: bool(category.always_live) for category in profile.categories}
        tiles = source.target.tiles_per_ipu
        nothing = np.zeros(tiles, dtype=np.int64)
        by_category: dict[str, Ints] = {}
        always, comes_and_goes, gaps = nothing.copy(), nothing.copy(), nothing.copy()
        for use, sizes in profile.tile_bytes(ipu).items():
            if use == GAPS:
                gaps += sizes
                continue
            name = category_of(use)
            by_category[name] = by_category.get(name, nothing) + sizes
            if lasting[use]:
                always += sizes
            else:
                comes_and_goes += sizes
        excluding, limit = always + comes_and_goes, source.target.tile_memory_bytes
        self.arrays = {
            "excludingGaps": excluding,
            "includingGaps": excluding + gaps,
            "overflowExcludingGaps": np.maximum(excluding - limit, 0),
            "overflowIncludingGaps": np.maximum(excluding + gaps - limit, 0),
            "alwaysLive": always,
            "notAlwaysLive": comes_and_goes,
        }
        self.categories = by_category
        self._lists = {name: array.tolist() for name, array in self.arrays.items()}
        self._category_lists = {name: array.tolist() for name, array in by_category.items()}

    def on_tile(self, what: str, tile: int) -> int:
        """A sum on one tile."""
        return int(self._lists[what][tile])

    def categories_on_tile(self, tile: int) -> dict[str, int]:
        """Bytes of each category on one tile."""
        return {name: sizes[tile] for name, sizes in self._category_lists.items()}


def vertices_of_ipu(source: Source, ipu: int) -> tuple[Ints, Ints]:
    """Code bytes and number of vertices by type and tile.

    The vertex code of each tile is divided over the types that the IPU uses, in proportion to their code; the vertices
    of a compute set lie evenly on the first tiles.
    """
    known, tiles = source.profile.vertex_types, source.target.tiles_per_ipu
    plans = {op.plan_id for op in source.profile.ops if source.modelled_ipu(op.ipu) == ipu}
    kinds, counts = source.numbers("vertices", "vertex_type"), source.numbers("vertices", "count")
    used = source.numbers("vertices", "tiles")
    found = np.zeros((len(known), tiles), dtype=np.int64)
    for row, plan in enumerate(source.numbers("vertices", "plan_id").tolist()):
        if plan in plans and kinds[row] >= 0:
            found[kinds[row]] += evenly(int(counts[row]), int(used[row]), tiles)
    weights = np.asarray([each.code_bytes for each in known], dtype=np.int64) * (found.sum(axis=1) > 0)
    on_tiles = source.memory(ipu).categories.get("vertexCode")
    if on_tiles is None or not weights.sum():
        return np.zeros_like(found), found
    ends = np.cumsum(weights)[:, None] * on_tiles[None, :] // int(weights.sum())
    return np.diff(ends, axis=0, prepend=0), found


def in_shape(total: int, shape: Ints) -> Ints:
    """`total` in whole parts in proportion to `shape`; evenly where that is 0."""
    whole = int(shape.sum())
    if whole <= 0:
        return evenly(total, len(shape), len(shape))
    ends = np.cumsum(shape) * total // whole
    return np.diff(ends, prepend=0)


def evenly(total: int, tiles: int, of: int) -> Ints:
    """`total` over the first `tiles` of `of` tiles, whole numbers, the remainder on the first ones."""
    found = np.zeros(of, dtype=np.int64)
    tiles = min(max(tiles, 1), of)
    share, rest = divmod(total, tiles)
    found[:tiles] = share
    found[:rest] += 1
    return found


def _file(path: Path) -> Path:
    if not path.is_dir():
        return path
    if (path / FILE_NAME).exists():
        return path / FILE_NAME
    found = sorted(path.rglob(FILE_NAME))[:20]
    if len(found) == 1:
        return found[0]
    what = f"several: {', '.join(map(str, found))}. Name one of them" if found else "none; name the file"
    raise Error(f"{path} holds no single {FILE_NAME}: there are {what}.", type="pva_error")
