"""The operations of expressions: their names, which types they take, and what the chip model calls them."""

from __future__ import annotations

from enum import Enum

from tremula.frontends.poplar.types import Type


class UnaryOpType(Enum):
    """Operations with one operand."""

    ABSOLUTE = 0
    ASIN = 1
    BITWISE_NOT = 2
    CBRT = 3
    CEIL = 4
    COS = 5
    COUNT_LEADING_ZEROS = 6
    ERF = 7
    EXPONENT = 8
    EXPONENT_MINUS_ONE = 9
    EXPONENT2 = 10
    FLOOR = 11
    GELU_ERF = 12
    INVERSE = 13
    IS_FINITE = 14
    IS_INF = 15
    IS_NAN = 16
    LOGARITHM = 17
    LOGARITHM_ONE_PLUS = 18
    LOGICAL_NOT = 19
    NEGATE = 20
    NEARBY_INT = 21
    POPCOUNT = 22
    RELU = 23
    SIGNUM = 24
    SIN = 25
    TAN = 26
    TANH = 27
    ROUND = 28
    SQRT = 29
    SQUARE = 30
    SIGMOID = 31
    RSQRT = 32
    TRUNC = 33


class BinaryOpType(Enum):
    """Operations with two operands."""

    ADD = 0
    ATAN2 = 1
    BITWISE_AND = 2
    BITWISE_OR = 3
    BITWISE_XOR = 4
    BITWISE_XNOR = 5
    DIVIDE = 6
    EQUAL = 7
    GREATER_THAN_EQUAL = 8
    GREATER_THAN = 9
    INV_STD_DEV_TO_VARIANCE = 10
    LESS_THAN_EQUAL = 11
    LOGICAL_AND = 12
    LOGICAL_OR = 13
    LESS_THAN = 14
    MAXIMUM = 15
    MINIMUM = 16
    MULTIPLY = 17
    NOT_EQUAL = 18
    POWER = 19
    REMAINDER = 20
    SHIFT_LEFT = 21
    SHIFT_RIGHT = 22
    SHIFT_RIGHT_SIGN_EXTEND = 23
    SUBTRACT = 24
    VARIANCE_TO_INV_STD_DEV = 25


class TernaryOpType(Enum):
    """Operations with three operands."""

    CLAMP = 0
    SELECT = 1


OpType = UnaryOpType | BinaryOpType | TernaryOpType

#: operation -> (kinds of types: f floating point, i integers, b truth values; name in the chip model's cycle table)
_TABLE = """
    ABSOLUTE fi abs          ASIN f asin             BITWISE_NOT i bitwise_not  CBRT f cbrt
    CEIL f ceil              COS f cos               COUNT_LEADING_ZEROS i clz   ERF f erf
    EXPONENT f exp           EXPONENT_MINUS_ONE f expm1    EXPONENT2 f exp2      FLOOR f floor
    GELU_ERF f gelu_erf      INVERSE f reciprocal    IS_FINITE f isfinite        IS_INF f isinf
    IS_NAN f isnan           LOGARITHM f log         LOGARITHM_ONE_PLUS f log1p  LOGICAL_NOT b logical_not
    NEGATE fi neg            NEARBY_INT f round      POPCOUNT i popcount         RELU f relu
    SIGNUM fi sign           SIN f sin               TAN f tan                   TANH f tanh
    ROUND f round            SQRT fi sqrt            SQUARE fi square            SIGMOID f sigmoid
    RSQRT f rsqrt            TRUNC f trunc
    ADD fi add               ATAN2 f atan2           BITWISE_AND i bitwise_and  BITWISE_OR i bitwise_or
    BITWISE_XOR i bitwise_xor    BITWISE_XNOR i bitwise_xor+bitwise_not        DIVIDE fi div
    EQUAL fib eq             GREATER_THAN_EQUAL fib compare    GREATER_THAN fib compare
    INV_STD_DEV_TO_VARIANCE f square+reciprocal+sub  LESS_THAN_EQUAL fib compare LOGICAL_AND b logical_and
    LOGICAL_OR b logical_or     LESS_THAN fib compare    MAXIMUM fi max        MINIMUM fi min
    MULTIPLY fi mul          NOT_EQUAL fib ne        POWER fi pow                REMAINDER fi remainder
    SHIFT_LEFT i shift_left  SHIFT_RIGHT i shift_right     SHIFT_RIGHT_SIGN_EXTEND i shift_right
    SUBTRACT fi sub          VARIANCE_TO_INV_STD_DEV f add+rsqrt
    CLAMP fi clamp           SELECT fib select
"""
_words = _TABLE.split()
KINDS = dict(zip(_words[::3], _words[1::3], strict=True))
WORK_NAMES = dict(zip(_words[::3], _words[2::3], strict=True))
BY_NAME: dict[str, OpType] = {
    each.name: each for kind in (UnaryOpType, BinaryOpType, TernaryOpType) for each in kind
}

#: results are truth values, whatever the operands are
TRUTHS = frozenset({
    "IS_FINITE", "IS_INF", "IS_NAN", "LOGICAL_NOT", "EQUAL", "GREATER_THAN_EQUAL", "GREATER_THAN", "LESS_THAN_EQUAL",
    "LESS_THAN", "NOT_EQUAL", "LOGICAL_AND", "LOGICAL_OR",
})  # fmt: skip


def kind_of(type: Type) -> str:
    """The letter of a type's kind: f, i or b."""
    if type.name == "BOOL":
        return "b"
    return "f" if type.is_floating else "i"


class Operation(Enum):
    """What a reduction does with two elements."""

    ADD = 0
    MUL = 1
    MIN = 2
    MAX = 3
    LOGICAL_AND = 4
    LOGICAL_OR = 5
    SQUARE_ADD = 6
    LOG_ADD = 7
