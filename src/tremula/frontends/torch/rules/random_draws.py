"""Random numbers, as poprand draws them: uniform, normal, Bernoulli; other distributions are made from those."""

from __future__ import annotations

from tremula.frontends.torch.rules.call import Call
from tremula.program.lowered import Lowered
from tremula.program.work import Elementwise, Random, Reduction, Sort, Work

_KINDS = {
    "rand": "uniform", "rand_like": "uniform", "uniform": "uniform", "random": "uniform", "randint": "uniform",
    "randint_like": "uniform", "randperm": "uniform", "randn": "normal", "randn_like": "normal",
    "normal": "normal", "normal_functional": "normal", "bernoulli": "bernoulli", "exponential": "uniform",
    "cauchy": "uniform", "geometric": "uniform", "log_normal": "normal", "native_dropout": "dropout",
    "native_dropout_backward": "dropout", "dropout": "dropout", "multinomial": "uniform",
}  # fmt: skip

#: what is done with the numbers drawn
_MADE_FROM = {
    "exponential": "log+neg", "cauchy": "tan", "geometric": "log+div+ceil", "log_normal": "exp",
}  # fmt: skip

NAMES = frozenset(_KINDS)


def random(call: Call) -> Lowered:
    """Any op of the table above."""
    result = call.output
    kind = _KINDS[call.name]
    works: list[Work] = [Random(kind, result.elements, result.dtype)]
    if call.name in _MADE_FROM:
        works.append(
            Elementwise(_MADE_FROM[call.name], result.elements, result.dtype, operands=1, in_place=True)
        )
    elif call.name == "randperm":
        works.append(Sort(1, result.elements, result.dtype))
    elif call.name == "multinomial":
        weights = call.given(0)
        columns = max(1, weights.extent(-1))
        works = [
            Random("uniform", weights.elements, weights.dtype),
            Elementwise("log+div", weights.elements, weights.dtype, operands=2),
            Reduction(weights.elements // columns, columns, 1, weights.dtype, "argmax"),
        ]
    elif call.name == "bernoulli" and len(call.tensors()) > (2 if call.in_place else 1):
        works.append(Elementwise("lt", result.elements, result.dtype, operands=2))
    # the old contents of a tensor that is overwritten are not read
    reads = () if call.in_place else None
    return call.lowered(works, reads=reads)
