"""Element-wise ops: TensorFlow's op type to the passes over the data that the device's libraries make of it.

The names are those of the cycle table of `plan.elementwise_table`. Several joined by "+" are one expression. Which
nodes become one pass together is decided in `fusion`.
"""

from __future__ import annotations

from tremula.frontends.tensorflow.capture.nodes import Node
from tremula.frontends.tensorflow.rules.call import Call
from tremula.lowering.elementwise import parsed, power

_UNARY = """
    Abs: abs  Neg: neg  Exp: exp  Log: log  Sqrt: sqrt  Rsqrt: rsqrt  Square: square  Reciprocal: reciprocal
    Inv: reciprocal  Tanh: tanh  Sigmoid: sigmoid  Relu: relu  Erf: erf  Sin: sin  Cos: cos  Tan: tan  Asin: asin
    Acos: acos  Atan: atan  Sinh: sinh  Cosh: cosh  Asinh: asinh  Acosh: acosh  Atanh: atanh  Floor: floor  Ceil: ceil
    Round: round  Rint: round  Sign: sign  Expm1: expm1  Log1p: log1p  LogicalNot: logical_not  Invert: bitwise_not
    IsNan: isnan  IsInf: isinf  IsFinite: isfinite  Softplus: softplus  Softsign: softsign  Elu: elu  Selu: selu
    LeakyRelu: leaky_relu  Relu6: relu6  PopulationCount: popcount  Erfc: erf+sub  Conj: add
    Erfinv: log1p+sqrt+mul+add+mul+add+mul+add+mul+add+mul+add+select
    Ndtri: log1p+sqrt+mul+add+mul+add+mul+add+mul+add+mul+add+select
    Lgamma: log+log+div+add+mul+add+mul+add+mul+add+mul+add+select
    Digamma: log+div+div+add+mul+add+mul+add+mul+add+select
    BesselI0e: abs+mul+add+mul+add+mul+add+mul+add+rsqrt+select
    BesselI1e: abs+mul+add+mul+add+mul+add+mul+add+rsqrt+select
    BesselI0: abs+mul+add+mul+add+mul+add+exp+mul+select  BesselI1: abs+mul+add+mul+add+mul+add+exp+mul+select
    BesselJ0: square+mul+add+mul+add+mul+add+cos+select  BesselJ1: square+mul+add+mul+add+mul+add+sin+select
    BesselK0: log+mul+add+mul+add+mul+add+exp+select  BesselK1: log+mul+add+mul+add+mul+add+exp+select
    BesselK0e: log+mul+add+mul+add+mul+add+select  BesselK1e: log+mul+add+mul+add+mul+add+select
    BesselY0: log+mul+add+mul+add+mul+add+sin+select  BesselY1: log+mul+add+mul+add+mul+add+cos+select
    Dawsn: square+mul+add+mul+add+mul+add+div+select  Expint: log+mul+add+mul+add+mul+add+exp+select
    FresnelCos: square+mul+add+mul+add+sin+cos+select  FresnelSin: square+mul+add+mul+add+sin+cos+select
    Spence: log+mul+add+mul+add+mul+add+div+select  ToBool: ne  DataFormatDimMap: add+remainder
    RGBToHSV: max+min+sub+div+sub+mul+add+select+select+select
    HSVToRGB: mul+floor+sub+mul+sub+mul+select+select+select
    AdjustHue: max+min+sub+div+add+mul+sub+select+select+select  AdjustSaturation: max+min+sub+div+mul+clamp+mul+sub+add
    ComplexAbs: square+square+add+sqrt  Angle: atan2  Bucketize: compare+add
    FakeQuantWithMinMaxArgs: clamp+sub+mul+round+mul+add  FakeQuantWithMinMaxVars: clamp+sub+mul+round+mul+add
"""

_SEVERAL = """
    Add: add  AddV2: add  Sub: sub  Mul: mul  MulNoNan: eq+mul+select  Div: div  RealDiv: div  DivNoNan: eq+div+select
    FloorDiv: floor_divide  TruncateDiv: trunc_divide  FloorMod: remainder  Mod: remainder  TruncateMod: remainder
    Pow: pow  Maximum: max  Minimum: min  Equal: eq  NotEqual: ne  Less: lt  LessEqual: le  Greater: gt
    GreaterEqual: ge  ApproximateEqual: sub+abs+lt  Atan2: atan2  LogicalAnd: logical_and  LogicalOr: logical_or
    BitwiseAnd: bitwise_and  BitwiseOr: bitwise_or  BitwiseXor: bitwise_xor  LeftShift: shift_left
    RightShift: shift_right  Select: select  SelectV2: select  SquaredDifference: square_difference
    Xlogy: log+mul  Xdivy: eq+div+select  Xlog1py: log1p+mul  ClipByValue: clamp  NextAfter: add+select
    Igamma: log+mul+sub+exp+mul+add+mul+add+mul+add+div  Igammac: log+mul+sub+exp+mul+add+mul+add+mul+add+div
    Zeta: pow+add+pow+add+pow+add+div  Polygamma: pow+add+pow+add+pow+add+mul
    Betainc: log+mul+log1p+mul+add+exp+mul+add+mul+add+div  Complex: add
"""

_GRADIENTS = """
    ReluGrad: relu_gradient  Relu6Grad: hardtanh_gradient  EluGrad: elu_gradient  SeluGrad: elu_gradient
    LeakyReluGrad: leaky_relu_gradient  SoftplusGrad: softplus_gradient  SoftsignGrad: abs+add+square+div
    SigmoidGrad: sigmoid_gradient  TanhGrad: tanh_gradient  SqrtGrad: mul+div  RsqrtGrad: square+mul+mul+mul
    ReciprocalGrad: square+mul+neg  InvGrad: square+mul+neg  IgammaGradA: log+mul+sub+exp+mul+add+mul+add+div
    FakeQuantWithMinMaxVarsPerChannel: clamp+sub+mul+round+mul+add  RandomGammaGrad: log+mul+sub+exp+mul+add+div
    FakeQuantWithMinMaxArgsGradient: compare+compare+logical_and+select
"""

#: TensorFlow's op type -> the pass over the data; the types of `passes_of` are listed for their names
PASSES: dict[str, tuple[str, ...]] = {
    **parsed(_UNARY), **parsed(_SEVERAL), **parsed(_GRADIENTS), "AddN": ("add",), "AccumulateNV2": ("add",),
}  # fmt: skip

#: types that read several tensors: a number of the program's text may be one of them
SEVERAL = frozenset(parsed(_SEVERAL)) | {"AddN", "AccumulateNV2"}

#: a change of type belongs to the pass that it is next to
CAST = "Cast"


def is_elementwise(node: Node) -> bool:
    """Whether a node can be part of a pass."""
    return len(node.outputs) == 1 and (node.type in PASSES or node.type == CAST)


def operations_of(call: Call) -> tuple[str, ...]:
    """The names of what a node does to each element."""
    name = call.type
    if name in ("AddN", "AccumulateNV2"):
        return ("add",) * max(1, len(call.node.inputs) - 1)
    if name == "Pow":
        return (power_of(call),)
    if name == CAST:
        return ()
    return PASSES[name]


def power_of(call: Call) -> str:
    """The pass of Pow: simple where the exponent is known."""
    exponent = call.known(1)
    if exponent is None or exponent.size != 1:
        return "pow"
    return power(float(exponent.reshape(-1)[0]))
