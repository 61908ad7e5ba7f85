"""The supersteps of plans as leaves of a program: sync, exchange, compute set; all plans in common arrays.

An op of a program runs the leaves of its plan, so trees and execution steps are made by repeating these.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tremula.plan.vertex_types import ComputeSet, compute_sets
from tremula.profile.program_types import ProgramType
from tremula.recording.operations import Operations

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Shapes:
    """Leaves and compute sets of all plans; those of plan p are first[p] to first[p + 1] and so on."""

    first: Ints
    type: Ints
    superstep: Ints
    repeats: Ints
    cycles: Floats  #: all repeats
    mean_tile_cycles: Floats
    active_tiles: Ints
    compute_set: Ints  #: number within the compute sets of the plan, -1: none
    suffix: list[str]  #: what the name of the leaf adds to that of the op

    sets_first: Ints
    sets_superstep: Ints
    sets_vertices: Ints
    sets_cycles: Floats
    sets_name: list[str]
    #: the compute set of each superstep of each plan, those without compute included
    supersteps: list[list[ComputeSet]]

    def leaves(self, plans: Ints) -> tuple[Ints, Ints]:
        """Of ops that run one after the other: the leaves of all, and for each the number of its op in the list."""
        return _expanded(self.first, plans)

    def sets(self, plans: Ints) -> tuple[Ints, Ints]:
        """The same for compute sets."""
        return _expanded(self.sets_first, plans)

    @property
    def set_counts(self) -> Ints:
        """Compute sets of each plan."""
        return np.diff(self.sets_first)

    @property
    def leaf_counts(self) -> Ints:
        """Leaves of each plan."""
        return np.diff(self.first)


def _expanded(first: Ints, plans: Ints) -> tuple[Ints, Ints]:
    counts = first[plans + 1] - first[plans]
    owners = np.repeat(np.arange(len(plans)), counts)
    before = np.cumsum(counts) - counts
    return np.arange(int(counts.sum())) - before[owners] + first[plans][owners], owners


def shapes(found: Operations, workers: int) -> Shapes:
    """The shapes of all plans of `found` on a chip whose tiles have so many workers."""
    first, sets_first = [0], [0]
    leaves: list[tuple[int, int, int, float, float, int, int]] = []
    suffix: list[str] = []
    sets: list[tuple[int, int, float]] = []
    names: list[str] = []
    supersteps: list[list[ComputeSet]] = []
    for works, cost in zip(found.works, found.costs, strict=True):
        named = compute_sets(works, cost, workers)
        supersteps.append(named)
        for number, (step, made) in enumerate(zip(cost.supersteps, named, strict=True)):
            times, tiles = step.repeats, step.tiles
            if step.sync_cycles > 0:
                leaves.append((ProgramType.Sync, number, times, times * step.sync_cycles, 0.0, 0, -1))
                suffix.append(f"/{made.name}/Sync")
            if step.exchange_cycles > 0:
                cycles = times * step.exchange_cycles
                leaves.append((ProgramType.DoExchange, number, times, cycles, 0.0, tiles, -1))
                suffix.append(f"/{made.name}/ExchangePre")
            if step.compute_cycles > 0:
                cycles = times * step.compute_cycles
                own = len(sets) - sets_first[-1]
                leaves.append(
                    (ProgramType.OnTileExecute, number, times, cycles, cycles * step.balance, tiles, own)
                )
                suffix.append(f"/{made.name}")
                sets.append((number, made.count, cycles))
                names.append(made.name)
        first.append(len(leaves))
        sets_first.append(len(sets))
    of_leaves = np.array(leaves, dtype=np.float64).reshape(-1, 7)
    of_sets = np.array(sets, dtype=np.float64).reshape(-1, 3)
    return Shapes(
        first=np.array(first, dtype=np.int64),
        type=of_leaves[:, 0].astype(np.int64),
        superstep=of_leaves[:, 1].astype(np.int64),
        repeats=of_leaves[:, 2].astype(np.int64),
        cycles=of_leaves[:, 3],
        mean_tile_cycles=of_leaves[:, 4],
        active_tiles=of_leaves[:, 5].astype(np.int64),
        compute_set=of_leaves[:, 6].astype(np.int64),
        suffix=suffix,
        sets_first=np.array(sets_first, dtype=np.int64),
        sets_superstep=of_sets[:, 0].astype(np.int64),
        sets_vertices=of_sets[:, 1].astype(np.int64),
        sets_cycles=of_sets[:, 2],
        sets_name=names,
        supersteps=supersteps,
    )
