"""Element-wise ops: torch's name to the passes over the data that the device's libraries make of it.

A pass is one vertex walk over all elements, by a name that the cycle table of `plan.elementwise_table` has, or
several joined by "+", which are one expression. Passes separated by commas follow each other. GELU is the tanh
form whatever the program asks for, as PopTorch has it (ActivationOps.cpp).
"""

from __future__ import annotations

from collections.abc import Iterable

from torch import fx

from tremula.frontends.torch.rules.call import Call
from tremula.frontends.torch.rules.operand import Operand
from tremula.lowering.elementwise import parsed, passes_over, power
from tremula.program.lowered import Lowered
from tremula.program.work import Elementwise, Random, Work

_UNARY = """
    abs neg exp log sqrt rsqrt square reciprocal tanh sigmoid relu gelu silu erf sin cos tan asin acos atan sinh
    cosh asinh acosh atanh floor ceil round trunc sign expm1 log1p logical_not bitwise_not isnan isinf isfinite
    exp2 log2 log10 frac softplus log_sigmoid mish elu selu celu leaky_relu hardsigmoid hardswish hardshrink
    softshrink threshold clamp hardtanh relu6 nan_to_num logit softsign positive
    sgn: sign           signbit: lt         deg2rad: mul        erfc: erf+sub       special_expit: sigmoid
    isposinf: eq        isneginf: eq        clamp_min: max      clamp_max: min      log_sigmoid_forward: log_sigmoid
    rrelu_with_noise: leaky_relu            rad2deg: mul
"""

_SEVERAL = """
    add sub rsub mul div true_divide floor_divide pow remainder fmod maximum minimum eq ne lt le gt ge atan2
    logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor where masked_fill logaddexp xlogy
    addcmul addcdiv lerp
    float_power: pow    fmax: max           fmin: min           hypot: square+square+add+sqrt
    __and__: bitwise_and                    __or__: bitwise_or                      __xor__: bitwise_xor
    __lshift__: shift_left                  bitwise_left_shift: shift_left
    __rshift__: shift_right                 bitwise_right_shift: shift_right
    _prelu_kernel: prelu                    heaviside: lt+select                    isclose: sub+abs+le
    copysign: abs+lt+neg+select             special_xlog1py: log1p+mul
"""

_GRADIENTS = """
    threshold_backward: relu_gradient       sigmoid_backward: sigmoid_gradient
    tanh_backward: tanh_gradient            gelu_backward: gelu_gradient            silu_backward: silu_gradient
    leaky_relu_backward: leaky_relu_gradient                    elu_backward: elu_gradient
    hardtanh_backward: hardtanh_gradient    hardsigmoid_backward: hardsigmoid_gradient
    hardswish_backward: hardswish_gradient  softplus_backward: softplus_gradient
    hardshrink_backward: hardshrink+mul     softshrink_backward: softshrink+mul
    log_sigmoid_backward: log_sigmoid_gradient                  mish_backward: mish_gradient
    rrelu_with_noise_backward: leaky_relu_gradient              logit_backward: sub+mul+div
    _prelu_kernel_backward: prelu_gradient, prelu_gradient
"""


#: torch's name -> the passes over the data
PASSES: dict[str, tuple[str, ...]] = {**parsed(_UNARY), **parsed(_SEVERAL), **parsed(_GRADIENTS)}

_SEVERAL_NAMES = frozenset(parsed(_SEVERAL))

#: on truth values the device has logical ops only
_ON_TRUTHS = {
    "bitwise_and": "logical_and", "bitwise_or": "logical_or", "bitwise_xor": "logical_xor",
    "bitwise_not": "logical_not", "__and__": "logical_and", "__or__": "logical_or", "__xor__": "logical_xor",
}  # fmt: skip


def elementwise(call: Call) -> Lowered:
    """Any op of the table above."""
    if call.node in call.facts.dropouts:
        return _dropout(call)
    if len(call.outputs) == 0:
        return call.unknown()
    return call.lowered(element_passes(call, passes_of(call), call.tensors(), call.output))


def passes_of(call: Call) -> tuple[str, ...]:
    """The passes that the op's arguments ask for."""
    name = call.name
    if name in ("add", "sub", "rsub") and call.argument("alpha", 1) != 1:
        return ("scaled_add",)
    if name in _ON_TRUTHS and call.output.dtype == "bool":
        return (_ON_TRUTHS[name],)
    if name == "pow":
        exponent = call.argument("exponent")
        return ("cube" if exponent == 3 else power(exponent),)
    if name == "div" and call.argument("rounding_mode") in ("floor", "trunc"):
        return (f"div+{call.argument('rounding_mode')}",)
    if name in ("addcmul", "addcdiv") and call.argument("value", 1) in (1, -1):
        return ("mul+add",) if name == "addcmul" else ("div+add",)
    return PASSES[name]


def element_passes(call: Call, passes: Iterable[str], operands: list[Operand], result: Operand) -> list[Work]:
    """The passes over the data, after what has to be cast or rearranged for them."""
    scalar = call.name in _SEVERAL_NAMES and not passes_are_unary(call)
    return passes_over(passes, operands, result, in_place=call.in_place, scalar=scalar)


def passes_are_unary(call: Call) -> bool:
    """Whether a constant operand has become part of the function, as in x ** 2."""
    return call.name == "pow" and power(call.argument("exponent")) != "pow"


def _dropout(call: Call) -> Lowered:
    """The product with a dropout mask: the device makes the mask from its seed on the way, in both passes."""
    mask = call.facts.dropouts[call.node]
    result = call.output
    kept = tuple(name for name in call.op.inputs if name != mask.name)
    return call.lowered((Random("dropout", result.elements, result.dtype),), reads=kept)


def foreach(call: Call) -> Lowered:
    """`_foreach_add` and its like: one pass over all tensors of the list, as if they were one."""
    first = call.node.args[0]
    listed = (
        [call.of(item) for item in first if isinstance(item, fx.Node)]
        if isinstance(first, list | tuple)
        else []
    )
    tensors = [o for o in listed if o is not None]
    passes = PASSES.get(call.name.removeprefix("_foreach_"))
    if not tensors or passes is None:
        return call.unknown()
    elements = sum(o.elements for o in tensors)
    several = call.name.removeprefix("_foreach_") in _SEVERAL_NAMES
    scalar = several and not any(isinstance(a, list | tuple) for a in call.node.args[1:])
    return call.lowered([
        Elementwise(
            operation,
            elements,
            tensors[0].dtype,
            operands=2 if several else 1,
            broadcast_elements=1 if scalar else None,
            in_place=call.in_place,
        )
        for operation in passes
    ])  # fmt: skip


def gated(call: Call) -> Lowered:
    """glu: one half of a tensor times the sigmoid of the other."""
    result = call.output
    return call.lowered((
        Elementwise("sigmoid", result.elements, result.dtype),
        Elementwise("mul", result.elements, result.dtype, operands=2, in_place=True),
    ))  # fmt: skip


def gated_gradient(call: Call) -> Lowered:
    """The gradient of both halves."""
    elements, dtype = call.output.elements // 2, call.output.dtype
    product = Elementwise("mul", elements, dtype, operands=2)
    return call.lowered((
        Elementwise("sigmoid", elements, dtype),
        product,
        product,
        Elementwise("sigmoid_gradient", elements, dtype, operands=2),
    ))  # fmt: skip
