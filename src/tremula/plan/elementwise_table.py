"""Cycles of element-wise operations: the inner loops of the vertices that do them.

Each entry is (cycles, elements, arithmetic): one worker's turn of the loop, loads and stores included; the
elements that a turn handles; the cycles of arithmetic alone for one 64-bit vector, which is what the operation
adds to a fused pass. The first two are facts of PopLibs popopsCycleEstimators.hpp, popopsCycleEstimators.cpp
(its loop overheads added) and popnn/PerformanceEstimation.hpp; the third is this model's estimate, the loop less
what it spends on loads, stores and branches. Types that PopLibs does not list are estimates too.
Transcendental functions take a time that depends on their argument: these are means, as there.
"""

from __future__ import annotations

from typing import NamedTuple

SOURCE = "PopLibs popopsCycleEstimators.{hpp,cpp}, popnn/PerformanceEstimation.hpp"


class Loop(NamedTuple):
    """A turn of a worker's inner loop."""

    cycles: float
    elements: int
    #: per 64-bit vector, in a pass that loads and stores for several operations at once
    arithmetic: float


Entry = dict[str, tuple[float, int, float]]

# --- one operand ------------------------------------------------------------------------------------------
UNARY: dict[str, Entry] = {
    "abs": {"fp32": (5, 1, 1), "fp16": (5, 1, 1), "int32": (6, 1, 4), "int64": (14, 1, 10)},
    "asin": {"fp32": (106, 1, 204), "fp16": (106, 1, 408)},
    "bitwise_not": {"int32": (5, 2, 1), "int64": (7, 1, 3), "int16": (2, 4, 1)},
    "cbrt": {"fp32": (31, 2, 27), "fp16": (21, 4, 17)},
    "ceil": {"fp32": (6, 2, 2), "fp16": (6, 4, 2)},
    "clz": {"int32": (5, 1, 2)},
    "cos": {"fp32": (2304, 1, 4600), "fp16": (25, 1, 92)},
    # x ** 3 by the vertex of powers, which PopART calls whatever the exponent: 50 cycles, by the difference between
    # BERT with and without GELU in single ops (graphcore/PopRT, examples/bert: 0.19 to 0.21 ms in 8 pairs of rows)
    "cube": {"fp32": (50, 1, 96), "fp16": (50, 1, 192)},
    "erf": {"fp32": (41, 1, 78), "fp16": (13, 1, 48)},
    "exp": {"fp32": (6, 2, 6), "fp16": (4, 4, 4)},
    "exp2": {"fp32": (6, 2, 6), "fp16": (4, 4, 4)},
    "expm1": {"fp32": (8, 1, 8), "fp16": (9, 4, 5)},
    "floor": {"fp32": (6, 2, 2), "fp16": (6, 4, 2)},
    "gelu_erf": {"fp32": (22, 1, 40), "fp16": (16, 1, 60)},
    "isfinite": {"fp32": (9, 2, 5), "fp16": (9, 4, 5)},
    "isinf": {"fp32": (7, 2, 3), "fp16": (9, 4, 5)},
    "isnan": {"fp32": (7, 2, 3), "fp16": (7, 4, 3)},
    "log": {"fp32": (12, 2, 12), "fp16": (4, 4, 4)},
    "log1p": {"fp32": (22, 2, 18), "fp16": (22, 4, 18)},
    "logical_not": {"bool": (21, 1, 68)},
    "neg": {"fp32": (2, 2, 1), "fp16": (2, 4, 1), "int32": (6, 1, 4), "int64": (9, 1, 5)},
    "popcount": {"int32": (5, 1, 2)},
    "reciprocal": {"fp32": (6, 2, 6), "fp16": (15, 4, 12)},
    "relu": {"fp32": (3, 2, 1), "fp16": (3, 4, 1)},
    "round": {"fp32": (6, 2, 2), "fp16": (6, 4, 2)},
    "rsqrt": {"fp32": (8, 2, 8), "fp16": (19, 4, 16)},
    "sigmoid": {"fp32": (12, 2, 10), "fp16": (6, 4, 4)},
    "sign": {"fp32": (9, 2, 5), "fp16": (9, 4, 5), "int32": (9, 1, 10)},
    "sin": {"fp32": (2304, 1, 4600), "fp16": (25, 1, 92)},
    "sqrt": {"fp32": (10, 2, 10), "fp16": (23, 4, 20), "int32": (114, 1, 220)},
    "square": {"fp32": (2, 2, 1), "fp16": (2, 4, 1), "int32": (5, 2, 1)},
    "tan": {"fp32": (5100, 1, 10192), "fp16": (5700, 1, 22784)},
    "tanh": {"fp32": (12, 2, 10), "fp16": (4, 4, 2)},
    "trunc": {"fp32": (3, 2, 1), "fp16": (11, 4, 8)},
}
#: where the vertex that overwrites its operand differs
UNARY_IN_PLACE: dict[str, Entry] = {
    "abs": {"fp32": (5, 2, 1), "fp16": (5, 4, 1)},
    "log": {"fp32": (14, 2, 12), "fp16": (6, 4, 4)},
    "neg": {"fp32": (3, 2, 1), "fp16": (3, 4, 1)},
    "relu": {"fp32": (2, 2, 1), "fp16": (2, 4, 1)},
    "sigmoid": {"fp32": (10, 2, 10), "fp16": (4, 4, 4)},
    "tanh": {"fp32": (10, 2, 10), "fp16": (2, 4, 2)},
    "trunc": {"fp32": (4, 2, 1), "fp16": (11, 4, 8)},
}

# --- two operands of one shape ----------------------------------------------------------------------------
_COMPARE: Entry = {
    "fp32": (14, 4, 5), "fp16": (9, 4, 5), "int32": (22, 4, 8), "int64": (56, 4, 11), "int16": (22, 4, 16),
    "bool": (28, 4, 40),
}  # fmt: skip
_NOT_EQUAL: Entry = {
    "fp32": (20, 4, 8), "fp16": (11, 4, 7), "int32": (22, 4, 8), "int64": (48, 4, 9), "int16": (22, 4, 16),
    "bool": (5, 4, 3),
}  # fmt: skip
_BITWISE: Entry = {"int32": (7, 1, 2), "int64": (9, 1, 2), "int16": (3, 4, 1)}
_SHIFT: Entry = {"int32": (7, 1, 2), "int64": (18, 1, 10)}

BINARY: dict[str, Entry] = {
    "add": {"fp32": (3, 2, 1), "fp16": (3, 4, 1), "int32": (7, 1, 2), "int64": (11, 1, 3)},
    "sub": {"fp32": (3, 2, 1), "fp16": (3, 4, 1), "int32": (7, 1, 2), "int64": (11, 1, 3)},
    "mul": {"fp32": (3, 2, 1), "fp16": (3, 4, 1), "int32": (7, 1, 2), "int64": (30, 1, 24)},
    "div": {"fp32": (10, 2, 6), "fp16": (21, 4, 16), "int32": (277, 1, 544), "int64": (130, 1, 124)},
    "max": {"fp32": (3, 2, 1), "fp16": (4, 4, 2), "int32": (7, 1, 4), "int64": (15, 1, 9)},
    "min": {"fp32": (3, 2, 1), "fp16": (4, 4, 2), "int32": (7, 1, 4), "int64": (15, 1, 9)},
    "pow": {"fp32": (312, 1, 616), "fp16": (325, 1, 1284), "int32": (32, 1, 56)},
    "remainder": {
        "fp32": (133, 2, 129),
        "fp16": (300, 4, 296),
        "int32": (292, 1, 576),
        "int64": (166, 1, 160),
    },
    "atan2": {"fp32": (272, 2, 268), "fp16": (578, 4, 574)},
    "eq": {**_COMPARE, "bool": (6, 4, 3)},
    "ne": _NOT_EQUAL,
    "compare": _COMPARE,
    "logical_and": {"bool": (5, 4, 2)},
    "logical_or": {"bool": (5, 4, 2)},
    "bitwise_and": _BITWISE,
    "bitwise_or": _BITWISE,
    "bitwise_xor": {**_BITWISE, "int16": (5, 2, 4)},
    "shift_left": _SHIFT,
    "shift_right": _SHIFT,
}
BINARY_IN_PLACE: dict[str, Entry] = {
    "max": {"fp32": (4, 2, 1)},
    "min": {"fp32": (4, 2, 1)},
    "mul": {"int64": (28, 1, 24)},
}

# --- one operand and a scalar -----------------------------------------------------------------------------
_SCALAR_COMPARE: Entry = {
    "fp32": (12, 4, 5), "fp16": (8, 4, 5), "int32": (16, 4, 8), "int64": (38, 4, 11), "bool": (12, 4, 12),
}  # fmt: skip

SCALAR: dict[str, Entry] = {
    "add": {"fp32": (2, 2, 1), "fp16": (2, 4, 1), "int32": (6, 1, 2), "int64": (9, 1, 3)},
    "sub": {"fp32": (2, 2, 1), "fp16": (2, 4, 1), "int32": (6, 1, 2), "int64": (9, 1, 3)},
    "mul": {"fp32": (2, 2, 1), "fp16": (2, 4, 1), "int32": (6, 1, 2), "int64": (26, 1, 24)},
    "div": {"fp32": (6, 2, 6), "fp16": (8, 2, 12), "int32": (277, 1, 544), "int64": (103, 1, 97)},
    "max": {"fp32": (3, 2, 1), "fp16": (3, 4, 1), "int32": (6, 1, 4), "int64": (14, 1, 9)},
    "min": {"fp32": (3, 2, 1), "fp16": (3, 4, 1), "int32": (6, 1, 4), "int64": (14, 1, 9)},
    "remainder": {"fp32": (93, 2, 89), "fp16": (225, 4, 221), "int32": (280, 1, 552), "int64": (137, 1, 130)},
    "eq": _SCALAR_COMPARE,
    "ne": {**_SCALAR_COMPARE, "fp32": (18, 4, 8), "fp16": (10, 4, 7), "bool": (4, 4, 3)},
    "compare": _SCALAR_COMPARE,
    "logical_and": {"bool": (4, 4, 2)},
    "logical_or": {"bool": (4, 4, 2)},
    "bitwise_and": {"int32": (6, 1, 2), "int64": (7, 1, 2), "int16": (2, 4, 1)},
    "bitwise_or": {"int32": (6, 1, 2), "int64": (7, 1, 2), "int16": (2, 4, 1)},
    "bitwise_xor": {"int32": (6, 1, 2), "int64": (7, 1, 2), "int16": (4, 2, 4)},
    "shift_left": {"int32": (6, 1, 2), "int64": (16, 1, 10)},
    "shift_right": {"int32": (6, 1, 2), "int64": (5, 1, 2)},
}

# --- activations of popnn: pipelined loops whose first and last vector cost `latency` more -------------------
ACTIVATION: dict[str, Entry] = {
    "gelu": {"fp32": (10, 2, 10), "fp16": (5, 4, 5)},
    "silu": {"fp32": (11, 2, 11), "fp16": (5, 4, 5)},
}
ACTIVATION_LATENCY = {"gelu": {"fp32": 10, "fp16": 5}, "silu": {"fp32": 6, "fp16": 3}}

ACTIVATION_GRADIENT: dict[str, Entry] = {
    "relu_gradient": {"fp32": (3, 2, 2), "fp16": (3, 4, 2)},
    "sigmoid_gradient": {"fp32": (3, 2, 3), "fp16": (3, 4, 3)},
    "tanh_gradient": {"fp32": (3, 2, 2), "fp16": (3, 4, 2)},
    "gelu_gradient": {"fp32": (10, 2, 10), "fp16": (5, 4, 5)},
    "gelu_erf_gradient": {"fp32": (30, 2, 30), "fp16": (15, 4, 15)},
    "silu_gradient": {"fp32": (15, 2, 13), "fp16": (9, 4, 7)},
}

# --- three operands: vertices of one worker each ------------------------------------------------------------
TERNARY: dict[str, Entry] = {
    "select": {
        "fp32": (5, 1, 2),
        "fp16": (5, 1, 2),
        "int32": (5, 1, 2),
        "bool": (5, 1, 8),
        "int64": (10, 1, 4),
    },
    "clamp": {"fp32": (2, 2, 1), "fp16": (2, 4, 1), "int32": (7, 1, 4)},
}

# --- a x + b y in place, a and b scalars ------------------------------------------------------------------------
SCALED: dict[str, Entry] = {
    "scaled_add": {"fp32": (3, 2, 1), "fp16": (3, 4, 1), "int32": (26 / 3, 1, 3)},
    "axpby": {"fp32": (3, 2, 2), "fp16": (3, 4, 2), "int32": (26 / 3, 1, 4)},
}

#: other names of the same vertices
ALIASES = {
    "negate": "neg", "negative": "neg", "absolute": "abs", "inverse": "reciprocal", "multiply": "mul",
    "subtract": "sub", "rsub": "sub", "divide": "div", "true_divide": "div", "maximum": "max", "minimum": "min",
    "fmod": "remainder", "where": "select", "masked_fill": "select", "pow_scalar": "pow", "swish": "silu",
    "swish_gradient": "silu_gradient", "nearby_int": "round", "signum": "sign", "log_e": "log",
    "gt": "compare", "ge": "compare", "lt": "compare", "le": "compare", "logical_xor": "ne", "bitwise": "bitwise_and",
    "logical": "logical_and", "shift": "shift_left", "relu6": "clamp", "hardtanh": "clamp", "axpy": "scaled_add",
    "scaled_subtract": "scaled_add", "dropout_mask": "mul", "clip": "clamp", "positive": "add", "invert": "bitwise_not",
}  # fmt: skip

#: operations without a vertex of their own, taken as one expression and so as one generated vertex (popops::map);
#: how a framework writes each of them is an assumption of this model
EXPRESSIONS = {
    "acos": "asin+sub",
    "acosh": "square+sub+sqrt+add+log",
    "addcdiv": "div+mul+add",
    "addcmul": "mul+mul+add",
    "asinh": "square+add+sqrt+add+log",
    "atan": "square+add+rsqrt+mul+asin",
    "atanh": "add+sub+div+log+mul",
    "celu": "mul+expm1+mul+compare+select",
    "cosh": "exp+neg+exp+add+mul",
    "elu": "expm1+mul+compare+select",
    "elu_gradient": "exp+mul+compare+select+mul",
    "erf_gradient": "square+neg+exp+mul+mul",
    "floor_divide": "div+floor",
    "frac": "trunc+sub",
    "hardsigmoid": "mul+add+clamp",
    "hardsigmoid_gradient": "compare+compare+mul+select",
    "hardshrink": "abs+compare+select",
    "hardswish": "add+clamp+mul+mul",
    "hardswish_gradient": "compare+compare+mul+add+select+mul",
    "hardtanh_gradient": "compare+compare+mul+select",
    "leaky_relu": "compare+mul+select",
    "leaky_relu_gradient": "compare+mul+select",
    "lerp": "sub+mul+add",
    "log10": "log+mul",
    "log2": "log+mul",
    "logaddexp": "sub+abs+neg+exp+log1p+max+add",
    "logit": "sub+div+log",
    "log_sigmoid": "neg+abs+exp+log1p+min+sub",
    "log_sigmoid_gradient": "sigmoid+sub+mul",
    "mish": "abs+neg+exp+log1p+max+add+tanh+mul",
    "mish_gradient": "exp+log1p+tanh+sigmoid+square+sub+mul+mul+add+mul",
    "nan_to_num": "isnan+select+clamp",
    "prelu": "compare+mul+select",
    "prelu_gradient": "compare+mul+select+mul",
    "selu": "expm1+mul+compare+select+mul",
    "sinh": "exp+neg+exp+sub+mul",
    "softplus": "abs+neg+exp+log1p+max+add",
    "softplus_gradient": "sigmoid+mul",
    "softshrink": "abs+sub+compare+select",
    "softsign": "abs+add+div",
    "square_difference": "sub+square",
    "threshold": "compare+select",
    "trunc_divide": "div+trunc",
    "xlogy": "log+mul",
}

#: worker cycles before and after the loop, and supervisor cycles per call
UNARY_SETUP, EXP_SETUP, UNARY_IN_PLACE_SETUP, UNARY_CALL = 17, 33, 55, 20
BINARY_SETUP = {"fp32": 29}
BINARY_SETUP_OTHERS, BINARY_IN_PLACE_SETUP, BINARY_CALL = 26, 58, 11
SCALAR_SETUP = 20
ACTIVATION_SETUP, ACTIVATION_CALL = 20, 9
TERNARY_SETUP = 11
SCALED_SETUP, SCALED_CALL = 25, 57
AXPBY_SETUP, AXPBY_CALL = 24, 69

#: an operation that is not in the table: loads, one instruction per element and a store, as compiled from C++
UNKNOWN: Entry = {
    "fp32": (5, 1, 2),
    "fp16": (5, 1, 4),
    "int32": (7, 1, 4),
    "int64": (11, 1, 6),
    "bool": (6, 1, 16),
}

#: floating-point operations per element where it is not one
FLOPS = {
    "gelu": 8, "gelu_erf": 8, "silu": 2, "gelu_gradient": 15, "gelu_erf_gradient": 15, "silu_gradient": 5,
    "sigmoid_gradient": 2, "tanh_gradient": 2, "scaled_add": 2, "axpby": 3, "remainder": 3, "clamp": 2, "select": 0,
    "logical_and": 0, "logical_or": 0, "logical_not": 0, "bitwise_and": 0, "bitwise_or": 0, "bitwise_xor": 0,
    "bitwise_not": 0, "shift_left": 0, "shift_right": 0, "clz": 0, "popcount": 0,
}  # fmt: skip

#: operations done by calls into a compiled library, whose code is large
LIBRARY = frozenset({"sin", "cos", "tan", "asin", "pow", "atan2", "remainder"})

#: types that the table has, for those that it has not
TYPES = {
    "fp32": "fp32", "fp16": "fp16", "bf16": "fp16", "fp8": "fp16", "int32": "int32", "uint32": "int32",
    "int16": "int16", "uint16": "int16", "int8": "int32", "uint8": "int32", "bool": "bool", "int64": "int64",
}  # fmt: skip
