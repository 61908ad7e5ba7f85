"""Predictions for one op on one chip: the op's work is planned, and a metric is read off its cost."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tremula.lowering.convolutions import Geometry
from tremula.memory.categories import GAP_SHARE, STACK_BYTES_PER_TILE
from tremula.memory.verdict import fit_of
from tremula.plan.cost import Cost, Superstep
from tremula.plan.stencil import POINTS_ON_TILE
from tremula.program import work
from tremula.program.dtypes import item_bytes
from tremula.schedule.links import exchange

from .fidelity_cases import Case
from .fidelity_kinds import KINDS
from .fidelity_loops import turn
from .fidelity_parameters import work_parameters
from .fidelity_transfers import system_of
from .fidelity_units import UNITS

if TYPE_CHECKING:
    from .fidelity_evaluate import Evaluator


def predict_op(case: Case, evaluator: Evaluator) -> float:
    """The metric of a case of one op, in base units."""
    parameters = case.parameters
    planned = op_work(case)
    planner = evaluator.planner(case.chip, int(parameters.get("ipus", 1)) if case.kind != "stencil" else 1)
    cost = planner.plan(planned)
    clock = planner.chip.clock_hz
    repeats = float(parameters.get("repeats", 1))
    steps = _chosen(cost, parameters.get("phase"))
    if parameters.get("copied_back"):
        steps += planner.plan(_copy_back(planned)).supersteps
    if parameters.get("zeroed"):
        steps += planner.plan(work.Fill(planned.entries * planned.width, planned.dtype)).supersteps
    if "loop" in parameters:
        steps += turn(parameters["loop"], case.dtype, planner)
    cycles = repeats * (sum(step.cycles for step in steps) + _between_chips(case, steps, evaluator))
    metric = case.metric
    if metric == "cycles":
        return cycles
    if metric in ("compute_cycles", "exchange_cycles", "sync_cycles"):
        return repeats * sum(step.repeats * float(getattr(step, metric)) for step in steps)
    if metric == "time":
        return cycles / clock
    if metric == "throughput":
        return repeats * _useful(case, planned, cost) * clock / cycles
    if metric == "bandwidth":
        return repeats * float(parameters.get("bytes", _moved_bytes(planned))) * clock / cycles
    if metric == "temporary_bytes":
        return float(cost.bytes.temporary)
    used = _tile_bytes(case, planned, cost, planner.chip.tiles)
    return used if metric == "tile_bytes" else float(fit_of(used / planner.chip.tile_memory_bytes).fits)


def _tile_bytes(case: Case, planned: Any, cost: Cost, tiles: int) -> float:
    """Operands, results, temporaries, code and stacks on the fullest tile, with the gaps between them.

    Operands and results are spread over all tiles, but for the grid of a stencil: that lies as it is cut.
    """
    resident = float(case.parameters.get("resident_bytes", _moved_bytes(planned)))
    share = 1.0 / tiles
    if isinstance(planned, work.Stencil):
        share = cost.why.figures[POINTS_ON_TILE] / math.prod(planned.grid)
    code = (
        cost.bytes.vertex_code + cost.bytes.vertex_state + cost.bytes.exchange_code + cost.bytes.control_code
    )
    return (1.0 + GAP_SHARE) * (resident * share + cost.bytes.temporary + code + STACK_BYTES_PER_TILE)


def _copy_back(planned: Any) -> work.Copy:
    """The result of a convolution put where its input was, in pieces of one pixel."""
    elements = planned.batch * planned.groups * planned.out_channels * math.prod(planned.output_field)
    return work.Copy(elements, planned.dtype, contiguous=planned.groups * planned.out_channels)


def _between_chips(case: Case, steps: list[Superstep], evaluator: Evaluator) -> float:
    """Cycles that an op over several chips waits for links: each exchange passes them once, with little in it.

    A result is brought into another order where it is: a chip computes the part of the field that it holds.
    """
    ipus = int(case.parameters.get("ipus", 1))
    if ipus == 1 or case.kind == "stencil":
        return 0.0
    system = system_of(case, ipus)
    one = exchange(system, {(0, 1): 1.0}, ipus=ipus, constants=evaluator.schedule)
    exchanges = sum(
        step.repeats for step in steps if step.exchange_cycles and step.name != "rearrange output"
    )
    return exchanges * one.seconds * system.chip.clock_hz


def _chosen(cost: Cost, phase: str | None) -> list[Superstep]:
    if phase is None:
        return list(cost.supersteps)
    steps = [step for step in cost.supersteps if step.name == phase]
    if not steps:
        names = ", ".join(dict.fromkeys(step.name for step in cost.supersteps))
        raise ValueError(f"the plan has no phase {phase!r}; it has {names}")
    return steps


def op_work(case: Case) -> Any:
    """The planner's description of the op of `case`."""
    if case.kind == "convolution":
        return _convolution(case)
    description = KINDS[case.kind].work
    assert description is not None
    fields = work_parameters(description)
    values = {name: _frozen(value) for name, value in case.parameters.items() if name in fields}
    for name, value in (("dtype", case.dtype), ("partials", case.partials)):
        if name in fields:
            values.setdefault(name, value)
    return description(**values)


def _frozen(value: Any) -> Any:
    return tuple(_frozen(each) for each in value) if isinstance(value, list) else value


def _convolution(case: Case) -> work.Convolution:
    """The forward pass, or a gradient as the convolution that computes it."""
    given: Mapping[str, Any] = case.parameters
    field, kernel = tuple(given["field"]), tuple(given["kernel"])
    ones = (1,) * len(field)
    stride = tuple(given.get("stride", ones))
    padding = tuple(given.get("padding", (0,) * len(field)))
    dilation = tuple(given.get("dilation", ones))
    groups = int(given.get("groups", 1))
    if any(len(each) != len(field) for each in (kernel, stride, padding, dilation)):
        raise ValueError(
            "field, kernel, stride, padding and dilation must have one number per dimension each"
        )
    if given["in_channels"] % groups or given["out_channels"] % groups:
        raise ValueError(
            f"{groups} groups do not divide {given['in_channels']} and {given['out_channels']} channels"
        )
    y = tuple(
        (x + 2 * p - ((k - 1) * d + 1)) // s + 1
        for x, p, k, d, s in zip(field, padding, kernel, dilation, stride, strict=True)
    )
    geometry = Geometry(
        batch=given["batch"],
        groups=groups,
        x_channels=given["in_channels"] // groups,
        y_channels=given["out_channels"] // groups,
        x=field,
        y=y,
        kernel=kernel,
        stride=stride,
        padding=tuple((p, p) for p in padding),
        dilation=dilation,
        dtype=case.dtype,
        partials=case.partials,
        proportion=float(given.get("proportion", 0.6)),
    )
    role = given.get("pass", "forward")
    if role == "forward":
        return geometry.y_from_x(role)
    return geometry.x_from_y(role) if role == "input_gradient" else geometry.weight_gradient()


def _useful(case: Case, planned: Any, cost: Cost) -> float:
    """Floating-point operations (or points) of one application, as the publication counts them."""
    if UNITS[case.unit].dimension == "items":
        return (
            float(math.prod(planned.grid)) if isinstance(planned, work.Stencil) else float(planned.elements)
        )
    if "flops" in case.parameters:
        return float(case.parameters["flops"])
    if isinstance(planned, work.MatMul):
        return 2.0 * planned.rows * planned.inner * planned.columns * planned.groups
    if isinstance(planned, work.SparseMatMul):
        return 2.0 * planned.rows * planned.inner * planned.columns * planned.density
    if isinstance(planned, work.Convolution):
        points = math.prod(planned.output_field) * math.prod(planned.kernel) * planned.groups
        return 2.0 * planned.batch * planned.in_channels * planned.out_channels * points
    if isinstance(planned, work.Stencil):
        return math.prod(planned.grid) * planned.values * float(case.parameters["flops_per_point"])
    return cost.flops


def _moved_bytes(planned: Any) -> float:
    """Bytes of all operands and results."""
    size = item_bytes(planned.dtype)
    if isinstance(planned, work.MatMul):
        area = planned.rows * planned.inner + planned.inner * planned.columns + planned.rows * planned.columns
        return float(size * planned.groups * area)
    if isinstance(planned, work.Elementwise):
        return float(size * planned.elements * (planned.operands + 1))
    if isinstance(planned, work.Reduction):
        return float(size * planned.outer * planned.inner * (planned.reduced + 1))
    if isinstance(planned, work.Convolution):
        weights = planned.in_channels * planned.out_channels * math.prod(planned.kernel) * planned.groups
        fields = planned.in_channels * math.prod(planned.field) + planned.out_channels * math.prod(
            planned.output_field
        )
        return float(size * (weights + planned.batch * planned.groups * fields))
    if isinstance(planned, work.Stencil):
        return float(2 * size * planned.values * math.prod(planned.grid))
    elements = getattr(planned, "elements", None) or math.prod(
        getattr(planned, name, 1) for name in ("rows", "columns", "entries", "width")
    )
    return float(2 * size * elements)


def predict_vertex(case: Case, evaluator: Evaluator) -> float:
    """Cycles of one call of a vertex, in base units of the metric."""
    from tremula.plan.vertices.registry import VERTICES, vertex_cycles

    chip = evaluator.planner(case.chip).chip
    name = case.parameters["name"]
    values = {key: value for key, value in case.parameters.items() if key != "name"}
    taken = inspect.signature(VERTICES[name]).parameters if name in VERTICES else {}
    for key, value in (("dtype", case.dtype), ("partials", case.partials)):
        if key in taken:
            values.setdefault(key, value)
    try:
        cycles = vertex_cycles(name, chip, **values)
    except (KeyError, TypeError) as error:
        raise ValueError(str(error.args[0])) from error
    return cycles if case.metric == "cycles" else cycles / chip.clock_hz
