"""Element-wise functions: `map` and its forms, and one family of functions for each operation.

Each operation `f` comes as `f` (a new tensor), `fInPlace` (into the first operand) and `fWithOutput` (into a tensor
that is given). Operands are broadcast as NumPy does; a number may stand for one operand of two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from poplar import Graph, Tensor
from poplar._tensor import as_tensor
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.libs.arguments import Arguments
from tremula.frontends.poplar.libs.errors import PoplibsError
from tremula.frontends.poplar.libs.popops.expressions import (
    Cast,
    Expr,
    PlaceHolder,
    as_expression,
    of_operation,
)
from tremula.frontends.poplar.libs.popops.mapping import map_views
from tremula.frontends.poplar.libs.popops.operations import BY_NAME, BinaryOpType, TernaryOpType, UnaryOpType
from tremula.frontends.poplar.types import Type

_OPERATIONS = (UnaryOpType, BinaryOpType, TernaryOpType)


def map(graph: Graph, expr: Any, *arguments: Any, debug: Any = "", options: Any = None) -> Any:
    """`map(graph, expression, tensors, prog)`, `map(graph, operation, tensor..., prog)`; a list of expressions gives a
    list of tensors."""
    taken = Arguments("popops::map", arguments, debug, options)
    several, expressions, operands = _expressions(expr, taken)
    program = taken.program()
    made = map_views(graph, expressions, operands, program, *taken.end())
    return made if several else made[0]


def mapInPlace(graph: Graph, expr: Any, *arguments: Any, debug: Any = "", options: Any = None) -> None:
    """`mapInPlace(graph, expression, tensors, prog)`: the first tensor becomes the result."""
    taken = Arguments("popops::mapInPlace", arguments, debug, options)
    _, expressions, operands = _expressions(expr, taken)
    program = taken.program()
    map_views(graph, expressions, operands, program, *taken.end(), into=operands[: len(expressions)])


def mapWithOutput(graph: Graph, expr: Any, *arguments: Any, debug: Any = "", options: Any = None) -> None:
    """`mapWithOutput(graph, expression, tensors, out, prog)`: `out` becomes the result."""
    taken = Arguments("popops::mapWithOutput", arguments, debug, options)
    several, expressions, operands = _expressions(expr, taken)
    out = list(taken.sequence("outs")) if several else [taken.view("out")]
    program = taken.program()
    map_views(graph, expressions, operands, program, *taken.end(), into=out)


def _expressions(expr: Any, taken: Arguments) -> tuple[bool, list[Expr], list[View]]:
    """Whether several expressions were given, the expressions, and the tensors that follow them."""
    if isinstance(expr, _OPERATIONS):
        made = of_operation(expr)
        return False, [made], [taken.view(f"operand {number + 1}") for number in range(made.count)]
    several = isinstance(expr, Sequence) and not (len(expr) and isinstance(expr[0], str))
    expressions = [as_expression(each) for each in expr] if several else [as_expression(expr)]
    if taken.next_is(View):  # a tensor alone, for a list of one
        return several, expressions, [taken.view("ts")]
    return several, expressions, list(taken.sequence("ts"))


def _operands(taken: Arguments, count: int) -> tuple[list[Any], list[View]]:
    """The next `count` operands as parts of an expression, and the tensors among them."""
    parts: list[Any] = []
    views: list[View] = []
    for number in range(count):
        if count == 2 and taken.next_is_number():
            parts.append(as_expression(taken.any("operand")))
        else:
            views.append(taken.view(f"operand {number + 1}"))
            parts.append(PlaceHolder(len(views)))
    return parts, views


def _functions(name: str, operation: Any) -> dict[str, Callable[..., Any]]:
    count = len(of_operation(operation).arguments)

    def function(graph: Graph, *arguments: Any, debug: Any = "", options: Any = None) -> Tensor:
        taken = Arguments(f"popops::{name}", arguments, debug, options)
        parts, views = _operands(taken, count)
        program = taken.program()
        expression: Expr = of_operation(operation, *parts)
        if taken.next_is(Type):
            expression = Cast(expression, taken.take("dstType", Type))
        return as_tensor(map_views(graph, [expression], views, program, *taken.end())[0])

    def in_place(graph: Graph, *arguments: Any, debug: Any = "", options: Any = None) -> None:
        taken = Arguments(f"popops::{name}InPlace", arguments, debug, options)
        parts, views = _operands(taken, count)
        program = taken.program()
        if not isinstance(parts[0], PlaceHolder):
            raise PoplibsError(
                f"popops::{name}InPlace: the first operand is written, so it has to be a tensor"
            )
        map_views(graph, [of_operation(operation, *parts)], views, program, *taken.end(), into=views[:1])

    def with_output(graph: Graph, *arguments: Any, debug: Any = "", options: Any = None) -> None:
        taken = Arguments(f"popops::{name}WithOutput", arguments, debug, options)
        parts, views = _operands(taken, count)
        out, program = taken.view("out"), taken.program()
        map_views(graph, [of_operation(operation, *parts)], views, program, *taken.end(), into=[out])

    made = {name: function, f"{name}InPlace": in_place, f"{name}WithOutput": with_output}
    forms = {
        name: "a new tensor",
        f"{name}InPlace": "into the first operand",
        f"{name}WithOutput": "into the tensor after the operands",
    }
    for public, each in made.items():
        each.__name__ = each.__qualname__ = public
        each.__doc__ = f"{operation.name}, element by element, {forms[public]}."
    return made


#: public name -> operation
NAMES = {
    "abs": "ABSOLUTE", "asin": "ASIN", "bitwiseNot": "BITWISE_NOT", "cbrt": "CBRT", "ceil": "CEIL", "cos": "COS",
    "countLeadingZeros": "COUNT_LEADING_ZEROS",
    "erf": "ERF", "exp": "EXPONENT", "exp2": "EXPONENT2", "expm1": "EXPONENT_MINUS_ONE", "floor": "FLOOR",
    "geluErf": "GELU_ERF", "inv": "INVERSE", "isFinite": "IS_FINITE", "isInf": "IS_INF", "isNaN": "IS_NAN",
    "log": "LOGARITHM", "log1p": "LOGARITHM_ONE_PLUS", "logicalNot": "LOGICAL_NOT", "nearbyint": "NEARBY_INT",
    "neg": "NEGATE", "popcount": "POPCOUNT", "round": "ROUND", "rsqrt": "RSQRT", "sigmoid": "SIGMOID",
    "signum": "SIGNUM", "sin": "SIN", "sqrt": "SQRT", "square": "SQUARE", "tan": "TAN", "tanh": "TANH",
    "trunc": "TRUNC",
    "add": "ADD", "atan2": "ATAN2", "bitwiseAnd": "BITWISE_AND", "bitwiseOr": "BITWISE_OR",
    "bitwiseXor": "BITWISE_XOR", "bitwiseXnor": "BITWISE_XNOR", "div": "DIVIDE", "eq": "EQUAL",
    "gt": "GREATER_THAN", "gteq": "GREATER_THAN_EQUAL", "invStdDevToVariance": "INV_STD_DEV_TO_VARIANCE",
    "logicalAnd": "LOGICAL_AND", "logicalOr": "LOGICAL_OR", "lt": "LESS_THAN", "lteq": "LESS_THAN_EQUAL",
    "max": "MAXIMUM", "min": "MINIMUM", "mul": "MULTIPLY", "neq": "NOT_EQUAL", "pow": "POWER", "rem": "REMAINDER",
    "shiftLeft": "SHIFT_LEFT", "shiftRight": "SHIFT_RIGHT", "shiftRightSignExtend": "SHIFT_RIGHT_SIGN_EXTEND",
    "sub": "SUBTRACT", "varianceToInvStdDev": "VARIANCE_TO_INV_STD_DEV",
    "clamp": "CLAMP", "select": "SELECT",
}  # fmt: skip
#: in C++ only the tests whose result may have the operand's type have a form in place
WITHOUT_IN_PLACE = frozenset({"isFinite", "isInf", "isNaN"})

FUNCTIONS: dict[str, Callable[..., Any]] = {}
for _name, _operation in NAMES.items():
    FUNCTIONS.update(_functions(_name, BY_NAME[_operation]))
for _name in WITHOUT_IN_PLACE:
    del FUNCTIONS[f"{_name}InPlace"]
globals().update(FUNCTIONS)

__all__ = ["map", "mapInPlace", "mapWithOutput", *FUNCTIONS]
