"""Ops on single elements."""

from __future__ import annotations

from .. import dtypes
from ..dtypes import dtype as Dtype
from ..tensor import Tensor, TensorLike, constant
from ._create import create
from .utils import cast_if_needed

_FLOAT8 = (dtypes.float8_143, dtypes.float8_152)


def abs(t: Tensor) -> Tensor:
    """Absolute values."""
    return create("Abs", {"t": t}, "abs_out")


def add(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Sums."""
    return create("Add", {"lhs": lhs, "rhs": rhs}, "add_out")


def add_(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Sums, in the memory of `lhs`."""
    return create("AddLhsInplace", {"lhs": lhs, "rhs": rhs}, "add_lhs_inplace_out")


def sub(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Differences."""
    return create("Subtract", {"lhs": lhs, "rhs": rhs}, "sub_out")


def mul(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Products."""
    return create("Mul", {"lhs": lhs, "rhs": rhs}, "mul_out")


def div(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Quotients."""
    return create("Div", {"lhs": lhs, "rhs": rhs}, "div_out")


def fmod(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Remainders with the sign of `lhs`."""
    return create("Fmod", {"lhs": lhs, "rhs": rhs}, "fmod_out")


def pow(t: Tensor, e: TensorLike) -> Tensor:
    """Powers."""
    if not isinstance(e, Tensor):
        e = constant(e)
    return create("Pow", {"t": t, "e": e}, "pow_out")


def maximum(*ts: Tensor) -> Tensor:
    """The largest of several tensors, element by element."""
    return create("Max", {f"ts_{i}": t for i, t in enumerate(ts)}, "maximum_out")


def negate(t: Tensor) -> Tensor:
    """Negative values."""
    return create("Negate", {"t": t}, "negate_out")


def ceil(t: Tensor) -> Tensor:
    """The next integers upwards."""
    return create("Ceil", {"t": t}, "ceil_out")


def floor(t: Tensor) -> Tensor:
    """The next integers downwards."""
    return create("Floor", {"t": t}, "floor_out")


def sign(t: Tensor) -> Tensor:
    """Signs: -1, 0 or 1."""
    return create("Sign", {"t": t}, "sign_out")


def cos(t: Tensor) -> Tensor:
    """Cosines."""
    return create("Cos", {"t": t}, "cos_out")


def sin(t: Tensor) -> Tensor:
    """Sines."""
    return create("Sin", {"t": t}, "sin_out")


def sqrt(t: Tensor) -> Tensor:
    """Square roots."""
    return create("Sqrt", {"t": t}, "sqrt_out")


def tanh(t: Tensor) -> Tensor:
    """Hyperbolic tangents."""
    return create("Tanh", {"t": t}, "tanh_out")


def exp(t: Tensor) -> Tensor:
    """Exponentials."""
    return create("Exp", {"t": t}, "exp_out")


def exp_(t: Tensor) -> Tensor:
    """Exponentials, in place."""
    return create("ExpInplace", {"t": t}, "exp_inplace_out")


def log(t: Tensor) -> Tensor:
    """Natural logarithms."""
    return create("Log", {"t": t}, "log_out")


def log2(t: Tensor) -> Tensor:
    """Logarithms to base 2."""
    return log(t) / log(constant(2, t.dtype))


def gelu(t: Tensor) -> Tensor:
    """Gaussian error linear units, in the approximation with tanh."""
    return create("Gelu", {"t": t}, "gelu_out")


def gelu_(t: Tensor) -> Tensor:
    """GELU, in place."""
    return create("GeluInplace", {"t": t}, "gelu_inplace_out")


def geluerf(t: Tensor) -> Tensor:
    """Gaussian error linear units."""
    return create("GeluErf", {"t": t}, "geluerf_out")


def geluerf_(t: Tensor) -> Tensor:
    """GELU with the error function, in place."""
    return create("GeluErfInplace", {"t": t}, "geluerf_inplace_out")


def relu(t: Tensor) -> Tensor:
    """Rectified linear units."""
    return create("Relu", {"t": t}, "relu_out")


def relu_(t: Tensor) -> Tensor:
    """ReLU, in place."""
    return create("ReluInplace", {"t": t}, "relu_inplace_out")


def swish(t: Tensor) -> Tensor:
    """`t` times its sigmoid."""
    return create("Swish", {"t": t}, "swish_out")


def swish_(t: Tensor) -> Tensor:
    """Swish, in place."""
    return create("SwishInplace", {"t": t}, "swish_inplace_out")


def clip(t: Tensor, min: float = float("-inf"), max: float = float("inf")) -> Tensor:
    """Values between `min` and `max`."""
    return create("Clip", {"t": t}, "clip_out", {"min": min, "max": max})


clamp = clip


def increment_mod(t: Tensor, increment: float, modulus: float) -> Tensor:
    """`(t + increment) % modulus`."""
    attributes = {"increment": increment, "modulus": modulus}
    return create("IncrementMod", {"t": t}, "increment_mod_out", attributes)


def increment_mod_(t: Tensor, increment: float, modulus: float) -> Tensor:
    """Increment modulo a number, in place."""
    attributes = {"increment": increment, "modulus": modulus}
    return create("IncrementModInplace", {"t": t}, "increment_mod_inplace_out", attributes)


def _scaled(kind: str, name: str, X: Tensor, Y: Tensor, a: float | Tensor, b: float | Tensor) -> Tensor:
    tensors, places, numbers = {"X": X, "Y": Y}, [0, 1], {"a": 1.0, "b": 1.0}
    for place, (key, value) in enumerate((("a", a), ("b", b)), 2):
        if isinstance(value, Tensor):
            tensors[key] = value
            places.append(place)
        else:
            numbers[key] = value
    return create(kind, tensors, name, numbers, places=places)


def scaled_add(X: Tensor, Y: Tensor, a: float | Tensor = 1.0, b: float | Tensor = 1.0) -> Tensor:
    """`a * X + b * Y`."""
    return _scaled("ScaledAdd", "scaled_add_out", X, Y, a, b)


def scaled_add_(X: Tensor, Y: Tensor, a: float | Tensor = 1.0, b: float | Tensor = 1.0) -> Tensor:
    """Add scaled tensors, in the memory of `X`."""
    return _scaled("ScaledAddLhsInplace", f"scaled_add__{X.name}", X, Y, a, b)


def equal(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Where elements are equal."""
    return create("Equal", {"lhs": lhs, "rhs": rhs}, "equal_out")


def greater(input: Tensor, another: Tensor) -> Tensor:
    """Where elements of the first tensor are larger."""
    return create("Greater", {"input": input, "another": another}, "greater_out")


def logical_and(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Where both are true."""
    tensors = {"lhs": cast_if_needed(lhs, dtypes.bool), "rhs": cast_if_needed(rhs, dtypes.bool)}
    return create("And", tensors, "and_out")


def logical_or(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Where one is true, or both."""
    tensors = {"lhs": cast_if_needed(lhs, dtypes.bool), "rhs": cast_if_needed(rhs, dtypes.bool)}
    return create("Or", tensors, "or_out")


def logical_not(t: Tensor) -> Tensor:
    """Where it is false."""
    return create("Not", {"t": cast_if_needed(t, dtypes.bool)}, "not_out")


def isnan(t: Tensor) -> Tensor:
    """Whether each element is NaN."""
    return create("IsNaN", {"t": t}, "isnan_out")


def isinf(t: Tensor) -> Tensor:
    """Where values are infinite."""
    return create("IsInf", {"t": t}, "isinf_out")


def isfinite(t: Tensor) -> Tensor:
    """Whether each element is finite."""
    return identity(~(isnan(t) | isinf(t)), "isfinite_out")


def where(condition: Tensor, lhs: Tensor, rhs: Tensor) -> Tensor:
    """Elements of `lhs` where the condition is true, of `rhs` elsewhere."""
    tensors = {"condition": cast_if_needed(condition, dtypes.bool), "lhs": lhs, "rhs": rhs}
    return create("Where", tensors, "where_out")


def identity(t: Tensor, output_name: str | None = None) -> Tensor:
    """A copy of the tensor."""
    return create("Identity", {"t": t}, output_name or f"identity_{t.name}")


rename = identity


def detach(t: Tensor) -> Tensor:
    """The tensor without a gradient."""
    return create("Detach", {"t": t}, "detach_out")


def detach_(t: Tensor) -> Tensor:
    """The tensor without a gradient, in the same memory."""
    return create("DetachInplace", {"t": t}, "detach_out")


def cast(t: Tensor, data_type: Dtype) -> Tensor:
    """The values in another type, which is not float8."""
    if data_type in _FLOAT8:
        raise TypeError(
            f"ops.cast has no {data_type}: use ops.pow2scale_cast_to_fp8 and ops.pow2scale_cast_from_fp8."
        )
    return create("Cast", {"t": t}, f"{t.name}_{data_type.name}", {"to": data_type.name})


def _check_log2_scale(log2_scale: Tensor) -> None:
    if log2_scale.rank > 0:
        raise ValueError(f"The log2 scale must be a scalar tensor; it has the shape {log2_scale.shape}.")
    if log2_scale.dtype != dtypes.int32:
        raise TypeError(f"The log2 scale must be of type popxl.int32, not {log2_scale.dtype}.")


def pow2scale_cast_to_fp8(t: Tensor, log2_scale: Tensor, data_type: Dtype) -> Tensor:
    """The values times a power of two in float8."""
    if data_type not in _FLOAT8:
        raise TypeError(f"{data_type} is not a float8 type.")
    _check_log2_scale(log2_scale)
    tensors = {"t": t, "log2_scale": log2_scale}
    return create(
        "Pow2ScaleThenCast", tensors, f"{t.name}_{data_type.name}", {"to": data_type.name}, together=False
    )


def pow2scale_cast_from_fp8(t: Tensor, log2_scale: Tensor, data_type: Dtype) -> Tensor:
    """Float8 values times a power of two in another type."""
    if data_type not in (dtypes.float16, dtypes.float32):
        raise TypeError(f"Float8 values become float16 or float32, not {data_type}.")
    _check_log2_scale(log2_scale)
    tensors = {"t": t, "log2_scale": log2_scale}
    return create(
        "CastThenPow2Scale", tensors, f"{t.name}_{data_type.name}", {"to": data_type.name}, together=False
    )


__all__ = [
    "abs",
    "add",
    "add_",
    "cast",
    "ceil",
    "clamp",
    "clip",
    "cos",
    "detach",
    "detach_",
    "div",
    "equal",
    "exp",
    "exp_",
    "floor",
    "fmod",
    "gelu",
    "gelu_",
    "geluerf",
    "geluerf_",
    "greater",
    "identity",
    "increment_mod",
    "increment_mod_",
    "isfinite",
    "isinf",
    "isnan",
    "log",
    "log2",
    "logical_and",
    "logical_not",
    "logical_or",
    "maximum",
    "mul",
    "negate",
    "pow",
    "pow2scale_cast_from_fp8",
    "pow2scale_cast_to_fp8",
    "relu",
    "relu_",
    "rename",
    "scaled_add",
    "scaled_add_",
    "sign",
    "sin",
    "sqrt",
    "sub",
    "swish",
    "swish_",
    "tanh",
    "where",
]
