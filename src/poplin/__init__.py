"""Linear algebra and convolutions, with the names and argument orders of C++. `docs/poplar-libs-nn.md` lists them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from poplar import Graph

from . import multiconv
from ._arguments import PlanningCache
from ._conv_params import ConvParams
from ._convolution import (
    addBias,
    calculateWeightDeltas,
    convolution,
    convolutionBiasUpdate,
    convolutionValidateOptions,
    convolutionWeightUpdate,
    convolutionWithOutput,
    createBiases,
    createConvOutput,
    createInput,
    createWeights,
    fullyConnectedWeightTranspose,
    getBwdFlops,
    getBwdPerfectCycleCount,
    getDilatedSize,
    getFwdFlops,
    getFwdPerfectCycleCount,
    getGradientParams,
    getInputIndex,
    getKernelIndex,
    getWuFlops,
    getWuPerfectCycleCount,
    weightsTransposeChansFlipXY,
)
from ._matmul import (
    createMatMulGroupedInputLHS,
    createMatMulGroupedInputRHS,
    createMatMulGroupedOutput,
    createMatMulInputLHS,
    createMatMulInputRHS,
    createMatMulOutput,
    matMul,
    matMulAcc,
    matMulGrouped,
    matMulGroupedAcc,
    matMulGroupedWithOutput,
    matmulValidateOptions,
    matMulWithOutput,
    preArrangeMatMulGroupedInputRHS,
    preArrangeMatMulInputRHS,
    preplan,
    preplanConvolutions,
    preplanMatMuls,
    transposeGroupedMatrix,
)
from ._norms import (
    createNormBeta,
    createNormGamma,
    createNormParams,
    normalise,
    normGradients,
    normParamGradients,
    normStatistics,
    normStatisticsGradients,
    normWhiten,
)
from ._reports import (
    PlanCosts,
    matMulGroupedReportPlan,
    matMulReportPlan,
    reportPlanEstimatedCosts,
    reportPlanInfo,
    reportWeightUpdatePlanInfo,
)
from ._triangular import (
    cholesky,
    choleskyInPlace,
    createCholeskyInput,
    createTriangularSolveInputLHS,
    createTriangularSolveInputRHS,
    linspace,
    meshgrid2d,
    triangularMask,
    triangularSolve,
)


def addCodelets(graph: Graph) -> None:
    """The functions of this library need no codelets to be added."""


if not TYPE_CHECKING:  # a misspelt name is a mistake that type checkers find

    def __getattr__(name: str) -> Any:
        raise AttributeError(f"poplin has no {name!r}: docs/poplar-libs-nn.md lists what is available")


__all__ = [
    "ConvParams",
    "PlanCosts",
    "PlanningCache",
    "addBias",
    "addCodelets",
    "calculateWeightDeltas",
    "cholesky",
    "choleskyInPlace",
    "convolution",
    "convolutionBiasUpdate",
    "convolutionValidateOptions",
    "convolutionWeightUpdate",
    "convolutionWithOutput",
    "createBiases",
    "createCholeskyInput",
    "createConvOutput",
    "createInput",
    "createMatMulGroupedInputLHS",
    "createMatMulGroupedInputRHS",
    "createMatMulGroupedOutput",
    "createMatMulInputLHS",
    "createMatMulInputRHS",
    "createMatMulOutput",
    "createNormBeta",
    "createNormGamma",
    "createNormParams",
    "createTriangularSolveInputLHS",
    "createTriangularSolveInputRHS",
    "createWeights",
    "fullyConnectedWeightTranspose",
    "getBwdFlops",
    "getBwdPerfectCycleCount",
    "getDilatedSize",
    "getFwdFlops",
    "getFwdPerfectCycleCount",
    "getGradientParams",
    "getInputIndex",
    "getKernelIndex",
    "getWuFlops",
    "getWuPerfectCycleCount",
    "linspace",
    "matMul",
    "matMulAcc",
    "matMulGrouped",
    "matMulGroupedAcc",
    "matMulGroupedReportPlan",
    "matMulGroupedWithOutput",
    "matMulReportPlan",
    "matMulWithOutput",
    "matmulValidateOptions",
    "meshgrid2d",
    "multiconv",
    "normGradients",
    "normParamGradients",
    "normStatistics",
    "normStatisticsGradients",
    "normWhiten",
    "normalise",
    "preArrangeMatMulGroupedInputRHS",
    "preArrangeMatMulInputRHS",
    "preplan",
    "preplanConvolutions",
    "preplanMatMuls",
    "reportPlanEstimatedCosts",
    "reportPlanInfo",
    "reportWeightUpdatePlanInfo",
    "transposeGroupedMatrix",
    "triangularMask",
    "triangularSolve",
    "weightsTransposeChansFlipXY",
]
