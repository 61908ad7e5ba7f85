"""Rewrites that the graph compiler cannot do without: some gradients are made of other operators by them.

Here every gradient is computed, whatever is switched off; a program that would not compile is refused all the same.
"""

from __future__ import annotations

from collections.abc import Callable

from tremula.frontends.onnx.failing import KnownError
from tremula.frontends.onnx.model import Node
from tremula.frontends.onnx.run.device_limits import described
from tremula.frontends.onnx.run.program import GraphProgram

#: operator -> by input, the rewrite that its gradient needs
_NEEDED: dict[str, dict[int, str]] = {
    "Atan2": {0: "Atan2Arg0GradOp", 1: "Atan2Arg1GradOp"},
    "Cos": {0: "CosGradOp"},
    "ConvTranspose": {1: "ConvFlipWeightsGradOp"},
    "Exp": {0: "ExpGradOp"},
    "Expm1": {0: "Expm1GradOp"},
    "Log1p": {0: "Log1pGradOp"},
    "Reciprocal": {0: "ReciprocalGradOp"},
    "Sqrt": {0: "SqrtGradOp"},
    "Sub": {1: "SubtractArg1GradOp"},
}


#: operators that are made of others by a rewrite
_REPLACED = {"Cosh": "CoshOp"}


def refuse_missing_patterns(program: GraphProgram, enabled: Callable[[str], bool]) -> None:
    """Raises KnownError: a rewrite is off that an operator, or its gradient in training, needs."""
    for node in program.interpreter.needed(program.wanted):
        pattern = _REPLACED.get(node.type)
        if pattern is not None and not enabled(pattern):
            raise KnownError(f"{described(node)}: This op should have been removed by pattern {pattern}")
    if program.request.loss is None:
        return
    behind = program.trained_tensors()
    for node in program.model.graph.nodes:
        for place, pattern in _NEEDED.get(node.type, {}).items():
            if _differentiated(node, place, program, behind) and not enabled(pattern):
                raise KnownError(
                    f"the gradient of {described(node)}: This op should have been removed by pattern {pattern}"
                )


def _differentiated(node: Node, place: int, program: GraphProgram, behind: frozenset[str]) -> bool:
    return (
        place < len(node.inputs)
        and bool(program.differentiable.intersection(node.outputs))
        and node.inputs[place] in behind
    )
