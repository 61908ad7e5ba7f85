"""Predictions for moving data: on a tile, within a chip, between chips, with the host.

The cost function of a public tutorial, a matrix by a vector, is here too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tremula.hardware import catalogue
from tremula.hardware.chip import Chip
from tremula.hardware.system import System
from tremula.plan import matvec
from tremula.plan.elementwise import bandwidth_bytes_per_second
from tremula.plan.exchange import exchange_cycles
from tremula.plan.exchange_schedule import first_fit
from tremula.schedule import collectives, links
from tremula.schedule.host_io import call_time

from .fidelity_cases import Case

if TYPE_CHECKING:
    from .fidelity_evaluate import Evaluator


def system_of(case: Case, ipus: int = 1) -> System:
    """The system of a case: the one that it names, else the smallest with enough of its chips."""
    if case.system is None:
        return catalogue.target(case.chip, ipus)
    system = catalogue.system(case.system)
    if system.chip.name != case.chip:
        return system.with_chip(catalogue.chip(case.chip))
    return system


def predict_transfer(case: Case, evaluator: Evaluator) -> float:
    """The metric of a case about moving data, in base units."""
    return _PREDICTORS[case.kind](case, evaluator)


def _bandwidth(case: Case, evaluator: Evaluator) -> float:
    """Bytes per second of all tiles in a loop over their own memory."""
    chip = evaluator.planner(case.chip).chip
    given = case.parameters
    compiled, each = given.get("compiled", False), given.get("bytes_per_worker")
    return bandwidth_bytes_per_second(chip, given["operation"], compiled, each)


def _exchange(case: Case, evaluator: Evaluator) -> float:
    """Exchanges inside one chip, one after the other.

    Each phase lists the neighbours from which every tile of a grid receives, or gives bytes and pieces of the busiest.
    """
    chip = evaluator.planner(case.chip).chip
    given = case.parameters
    phases = given.get("phases") or [{key: given[key] for key in _PHASE if key in given}]
    unknown = sorted({key for phase in phases for key in phase} - _PHASE)
    if unknown:
        raise ValueError(f"an exchange phase has no {', '.join(unknown)}; it has {', '.join(sorted(_PHASE))}")
    mean = bool(given.get("mean", False))
    cycles = sum(_phase_cycles(phase, given.get("tiles"), mean, chip) for phase in phases)
    if case.metric != "exchange_cycles":
        cycles += len(phases) * chip.sync_cycles
    cycles *= given.get("repeats", 1)
    return cycles / chip.clock_hz if case.metric == "time" else cycles


#: what an exchange phase is described by
_PHASE = {"bytes", "fragments", "shared_bus", "neighbours"}


def _phase_cycles(phase: dict[str, Any], tiles: list[int] | None, mean: bool, chip: Chip) -> float:
    if "neighbours" not in phase:
        if mean:
            raise ValueError(
                "the mean over tiles needs tiles and neighbours, not the bytes of the busiest tile"
            )
        size, pieces = phase.get("bytes", 0), phase.get("fragments", 1)
        return exchange_cycles(size, chip, pieces, phase.get("shared_bus", False))
    if tiles is None:
        raise ValueError("neighbours need tiles, the extents of the grid of tiles")
    width = chip.exchange_bytes_per_cycle
    around = [(tuple(each[:-1]), -(-each[-1] // width)) for each in phase["neighbours"]]
    found = first_fit(tiles, around)
    if mean:
        return found.mean + found.taking_part * chip.exchange_mean_latency_cycles
    return found.slowest + chip.exchange_latency_cycles


def _inter_ipu(case: Case, evaluator: Evaluator) -> float:
    """One exchange between IPUs: `transfers` lists [from, to, bytes]."""
    given = case.parameters
    transfers = {(int(a), int(b)): float(size) for a, b, size in given["transfers"]}
    system = system_of(case, 1 + max(max(pair) for pair in transfers))
    found = links.exchange(system, transfers, pieces=given.get("pieces", 1), constants=evaluator.schedule)
    return _timed(case, found.seconds * given.get("repeats", 1), sum(transfers.values()), system)


def _collective(case: Case, evaluator: Evaluator) -> float:
    given = case.parameters
    per_replica = given.get("ipus_per_replica", 1)
    system = system_of(case, given["replicas"] * per_replica)
    function = getattr(collectives, given["operation"])
    found = function(system, float(given["bytes"]), given["replicas"], per_replica)
    return _timed(case, found.seconds * given.get("repeats", 1), float(given["bytes"]), system)


def _host_transfer(case: Case, evaluator: Evaluator) -> float:
    """A call that only moves data, or one leg of it."""
    given: dict[str, Any] = dict(case.parameters)
    leg = given.pop("leg", "call")
    given.pop("repeats", None)
    system = system_of(case, given.get("replicas", 1) * given.get("ipus_per_replica", 1))
    size = float(given.get("in_bytes", 0) + given.get("out_bytes", 0))
    call = call_time(
        0.0,
        float(given.pop("in_bytes", 0)),
        float(given.pop("out_bytes", 0)),
        given.pop("device_iterations", 1),
        system=system,
        constants=evaluator.schedule,
        **given,
    )
    seconds = {"call": call.seconds, "tiles": call.stream_seconds, "link": call.link_seconds}[leg]
    return _timed(case, seconds * case.parameters.get("repeats", 1), size, system)


def _matrix_vector(case: Case, evaluator: Evaluator) -> float:
    """The cost function of Poplar tutorial 6."""
    chip = evaluator.planner(case.chip).chip
    given = case.parameters
    best, worst = matvec.best_split(given["rows"], given["columns"], chip, case.dtype)
    if "segments" in given:
        best = matvec.split_cycles(given["rows"], given["columns"], given["segments"], chip, case.dtype)
    chosen = worst if given.get("worst") else best
    if case.metric == "compute_cycles":
        return float(chosen.compute + chosen.join_compute)
    if case.metric == "exchange_cycles":
        return float(chosen.exchange + chosen.join_exchange)
    return float(chosen.cycles)


def _timed(case: Case, seconds: float, size: float, system: System) -> float:
    if case.metric == "bandwidth":
        return size / seconds
    return seconds * system.chip.clock_hz if case.metric == "cycles" else seconds


_PREDICTORS: dict[str, Callable[[Case, Evaluator], float]] = {
    "bandwidth": _bandwidth,
    "exchange": _exchange,
    "inter_ipu": _inter_ipu,
    "collective": _collective,
    "host_transfer": _host_transfer,
    "matrix_vector": _matrix_vector,
}
