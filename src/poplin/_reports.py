"""The modelled plans of products and convolutions, as texts and figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from poplar import Graph, Type
from tremula.frontends.poplar.libs.poplin import convolution as _convolution
from tremula.frontends.poplar.libs.poplin import matmul as _matmul
from tremula.frontends.poplar.libs.poplin import plan_report as _core
from tremula.frontends.poplar.libs.poplin.plan_report import PlanCosts as PlanCosts

from ._conv_params import ConvParams, core_of


def _tell(out: Any, text: str) -> str | None:
    if out is None:
        return text
    out.write(text)
    return None


def _product(rank: int) -> Callable[..., str | None]:
    where = "matMulReportPlan" if rank == 2 else "matMulGroupedReportPlan"

    def report(
        out: Any, graph: Graph, inputType: Type, outputType: Type, aShape: Sequence[int], bShape: Sequence[int],
        options: Any = None, cache: Any = None,
    ) -> str | None:  # fmt: skip
        left, right = (tuple(int(size) for size in shape) for shape in (aShape, bShape))
        _matmul.output_shape(where, left, right)
        work = _matmul.work_of(where, left, right, inputType, dict(options or {}))
        return _tell(out, _core.in_words(_core.cost_of(graph, work)))

    report.__name__ = report.__qualname__ = where
    report.__doc__ = "Write the plan of a product to a file; with None as the file, return the text."
    return report


matMulReportPlan = _product(2)
matMulGroupedReportPlan = _product(3)


def _cost(graph: Graph, params: ConvParams, options: Any, role: str | None = None) -> Any:
    core = core_of(params)
    core.check()
    return _core.cost_of(graph, _convolution.work_for("reportPlanInfo", core, dict(options or {}), role))


def reportPlanInfo(
    out: Any, graph: Graph, params: ConvParams, options: Any = None, cache: Any = None
) -> str | None:
    """Write the plan of a convolution to a file; with None as the file, return the text."""
    return _tell(out, _core.in_words(_cost(graph, params, options)))


def reportWeightUpdatePlanInfo(
    out: Any, graph: Graph, fwdParams: ConvParams, fwdOptions: Any = None, cache: Any = None
) -> str | None:
    """Write the plan of the gradient of its weights to a file. With None as the file, return the text."""
    return _tell(out, _core.in_words(_cost(graph, fwdParams, fwdOptions, "weight_gradient")))


def reportPlanEstimatedCosts(
    graph: Graph, params: ConvParams, options: Any = None, cache: Any = None
) -> PlanCosts:
    """Modelled cycles of a convolution, and bytes on the fullest tile beside its operands."""
    return _core.figures(_cost(graph, params, options))
