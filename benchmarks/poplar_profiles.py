"""Published profiles of Poplar programs beside the modelled ones: `python -m benchmarks.poplar_profiles [NAME ...]`.

The programs are tutorial 6 of graphcore/examples and the five halo exchanges of thorbenlouw/lbm-graphcore, rebuilt in
poplar_graphs.py and poplar_halo.py. Prints the table of docs/poplar-estimates.md; takes a quarter of a minute.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tremula.frontends.poplar.estimate.model import ChipModel
from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.program.numbering import number
from tremula.frontends.poplar.program.programs import Program
from tremula.placed.estimate import Totals

from . import poplar_halo
from .poplar_graphs import model_target, tutorial_6

Made = tuple[Graph, list[Program]]

INCLUDING, EXCLUDING = "compute, idle threads included", "compute, idle threads excluded"
TOTAL, EXCHANGE = "total", "exchange"
HARDWARE = "exchange, hardware"
HOST = "host exchange, hardware (its rate comes from here)"


@dataclass(frozen=True)
class Published:
    """A program, and the figures of its profile: mean cycles of a tile, and the total."""

    name: str
    title: str
    build: Callable[[], Made]
    figures: Mapping[str, float]
    #: the tiles where the profile has the sum over them, else 1
    tiles: int = 1


def _tutorial(version: str, split: int) -> Callable[[], Made]:
    return lambda: tutorial_6(model_target(version, delays=False), 10_000, 1_000, split)


def _halo(build: Callable[..., Made]) -> Callable[[], Made]:
    return lambda: build(model_target("ipu1"), 100, 10)


def _cycles(total: float, including: float, excluding: float, exchange: float) -> dict[str, float]:
    return {TOTAL: total, INCLUDING: including, EXCLUDING: excluding, EXCHANGE: exchange}


PROGRAMS = (
    # its README; the IPU model but for two rows
    Published(
        "tutorial6",
        "tutorial 6, Mk2, 10,000 x 1,000",
        _tutorial("ipu2", 7),
        {INCLUDING: 3_801.8, EXCLUDING: 3_717.6, EXCHANGE: 8_697.4, HARDWARE: 8_743.1, HOST: 2_641_488},
    ),
    # its text as tutorial 7 of an earlier edition
    Published(
        "tutorial6_mk1",
        "the same, Mk1, an earlier edition, all tiles",
        _tutorial("ipu1", 5),
        {INCLUDING: 5_513_152, EXCLUDING: 5_334_536},
        tiles=1_216,
    ),
    # experiments/halo-exchange-approaches/results.txt, of August 2020
    Published(
        "vertices",
        "halo: vertices read neighbours",
        _halo(poplar_halo.implicit_halo),
        _cycles(21_010, 12_000, 2_000, 5_682.0),
    ),
    Published(
        "two_waves",
        "halo: one tensor, copies in two waves",
        _halo(poplar_halo.two_waves),
        _cycles(147_570, 129_556.1, 108_864.5, 9_262.3),
    ),
    Published(
        "by_direction",
        "halo: one tensor, copies by direction",
        _halo(poplar_halo.by_direction),
        _cycles(147_530, 122_211.1, 100_890.8, 9_220.7),
    ),
    Published(
        "tensor_for_each_tile",
        "halo: a tensor for each tile",
        _halo(poplar_halo.tensor_for_each_tile),
        _cycles(315_370, 210_256.1, 99_488.2, 7_930.3),
    ),
    Published(
        "tile_by_tile",
        "halo: one tensor, tile by tile",
        _halo(poplar_halo.tile_by_tile),
        _cycles(178_569_036, 207_965.0, 98_504.3, 19_309.1),
    ),
)


def modelled(made: Made) -> Totals:
    """Cycles of one run of the last program: those before it prepare its data."""
    graph, programs = made
    estimate = ChipModel(graph, number(programs)).estimate
    return estimate.totals(estimate.executions(len(programs) - 1))


def figure(found: Totals, name: str) -> float:
    """A figure of the profile by its name."""
    return {
        TOTAL: found.total,
        INCLUDING: found.compute,
        EXCLUDING: found.busy,
        EXCHANGE: found.exchange,
        HARDWARE: found.exchange,
        HOST: found.host,
    }[name]


def rows(program: Published, found: Totals) -> list[str]:
    """The rows of a program in the table."""
    lines = []
    for place, (name, published) in enumerate(program.figures.items()):
        value = figure(found, name) * program.tiles
        digits = 0 if name in (TOTAL, HOST) or program.tiles > 1 else 1
        title = "| |" if place else f"| {program.title} |"
        lines.append(
            f"{title} {name} | {published:,.{digits}f} | {value:,.{digits}f} | {_percent(value / published - 1)} |"
        )
    return lines


def _percent(error: float) -> str:
    if abs(error) < 0.000_05:
        return "0"
    return f"{100 * error:+.{1 if abs(error) >= 0.000_5 else 2}f} %"


def main(names: list[str]) -> int:
    """Print the rows of the programs of these names, or of all."""
    known = {each.name: each for each in PROGRAMS}
    unknown = [each for each in names if each not in known]
    if unknown:
        print(f"No program has the name {unknown[0]}. Programs: {', '.join(known)}.", file=sys.stderr)
        return 2
    print("| program | figure | published | modelled | |", "|---|---|---:|---:|---:|", sep="\n")
    for name in names or known:
        print(*rows(known[name], modelled(known[name].build())), sep="\n", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
