"""Random numbers, as poprand draws them: uniform, normal, truncated normal; other distributions are made from those.

Keys and counters of TensorFlow's generators have no work here: the device keeps its own state of the generator.
"""

from __future__ import annotations

from tremula.frontends.tensorflow.rules.call import Call
from tremula.program.lowered import Lowered
from tremula.program.work import Elementwise, Random, Reduction, Sort, Work

_KINDS = {
    "TruncatedNormal": "truncated_normal",
    "Normal": "normal",
    "Uniform": "uniform",
    "Shuffle": "uniform",
    "Multinomial": "uniform",
    "Gamma": "normal",
    "Poisson": "uniform",
    "Binomial": "uniform",
}

_NAMES_TEXT = """
    RandomUniform RandomUniformInt RandomStandardNormal TruncatedNormal ParameterizedTruncatedNormal RandomShuffle
    RandomGamma RandomPoisson RandomPoissonV2 Multinomial StatelessMultinomial StatelessRandomUniform
    StatelessRandomUniformV2 StatelessRandomUniformInt StatelessRandomUniformIntV2 StatelessRandomUniformFullInt
    StatelessRandomUniformFullIntV2 StatelessRandomNormal StatelessRandomNormalV2 StatelessTruncatedNormal
    StatelessTruncatedNormalV2 StatelessParameterizedTruncatedNormal StatelessRandomGammaV2 StatelessRandomGammaV3
    StatelessRandomPoisson StatelessRandomBinomial StatelessShuffle StatefulUniform StatefulUniformInt
    StatefulUniformFullInt StatefulStandardNormal StatefulStandardNormalV2 StatefulTruncatedNormal
    StatefulRandomBinomial
"""
NAMES = frozenset(_NAMES_TEXT.split())

#: what is done with the numbers drawn, where the distribution is another
_MADE_FROM = {
    "Gamma": "square+mul+log+mul+sub+exp+mul",
    "Poisson": "log+neg+div+floor",
    "Binomial": "log+mul+floor",
}


def random(call: Call) -> Lowered:
    """Any op of the list above."""
    result = call.output
    name = next((part for part in _KINDS if part in call.type), "Uniform")
    works: list[Work] = [Random(_KINDS[name], result.elements, result.dtype)]
    if name == "Shuffle":
        rows = max(1, result.extent(0))
        works = [Random("uniform", rows, "fp32"), Sort(1, rows, "fp32")]
    elif name == "Multinomial":
        logits = call.given(0)
        columns = max(1, logits.extent(-1))
        samples = max(1, result.elements // max(1, logits.elements // columns))
        drawn = logits.elements * samples
        works = [
            Random("uniform", drawn, logits.dtype),
            Elementwise("log+neg+log+sub", drawn, logits.dtype, operands=2),
            Reduction(drawn // columns, columns, 1, logits.dtype, "argmax"),
        ]
    elif name in _MADE_FROM:
        works.append(Elementwise(_MADE_FROM[name], result.elements, result.dtype, in_place=True))
    return call.lowered(works, reads=() if "Multinomial" not in call.type else None)
