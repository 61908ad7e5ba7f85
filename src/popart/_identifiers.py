"""Names that the graph compiler keeps for itself, and what identifies operators."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

#: function (without `reserved` and `Prefix`) -> prefix
_PREFIXES = {
    "Gradient": "Gradient___",
    "UpdatedVar": "UpdatedVar___",
    "Accum": "Accum___",
    "Accl": "Accl___",
    "Accl1": "Accl1___",
    "Accl2": "Accl2___",
    "Accl3": "Accl3___",
    "Step": "Step___",
    "AcclToReduce": "AcclIntoReduce___",
    "AcclToUpdate": "AcclIntoUpdate___",
    "AcclFinalOut": "AcclOutOfAcclUpdate___",
    "FinalReducedGrad": "FinalReducedGradient___",
    "AdamUpdater": "AdamUpdater___",
    "LambR1Sq": "LambR1Sq___",
    "LambR2Sq": "LambR2Sq___",
    "Stashed": "Stashed___",
    "Restored": "Restored___",
    "LossScaling": "lossScaling_",
    "RandomSeed": "randomSeed___",
    "SeedModifier": "randomSeedModifier___",
    "RemoteArg": "RemoteArg___",
    "ConstValue": "ConstValue___",
    "DefaultWeightDecayScaleFactor0": "weightDecayScaleFactor0___default___",
    "SpecificWeightDecayScaleFactor0": "weightDecayScaleFactor0___specific___",
    "DefaultScaledLearningRate0": "scaledLearningRate0___default___",
    "SpecificScaledLearningRate0": "scaledLearningRate0___specific___",
    "DefaultScaledWeightDecay1": "scaledWeightDecay1___default___",
    "SpecificScaledWeightDecay1": "scaledWeightDecay1___specific___",
    "DefaultScaledLearningRate1": "scaledLearningRate1___default___",
    "SpecificScaledLearningRate1": "scaledLearningRate1___specific___",
    "DefaultDampeningScaleFactor1": "dampeningScaleFactor1___default___",
    "SpecificDampeningScaleFactor1": "dampeningScaleFactor1___specific___",
    "DefaultScaledMomentum1": "scaledMomentum1___default___",
    "SpecificScaledMomentum1": "scaledMomentum1___specific___",
    "DefaultLearningRate": "learningRate___default___",
    "SpecificLearningRate": "learningRate___specific___",
    "DefaultWeightDecay": "weightDecay___default___",
    "SpecificWeightDecay": "weightDecay___specific___",
    "DefaultLossScaling": "lossScaling___default___",
    "SpecificLossScaling": "lossScaling___specific___",
    "DefaultMaxWeightNorm": "maxWeightNorm___default___",
    "SpecificMaxWeightNorm": "maxWeightNorm___specific___",
    "AutomaticLossScale": "AutomaticLossScaleProxy___",
}


def _returns(prefix: str) -> Callable[[], str]:
    return lambda: prefix


#: the functions by their names
RESERVED = {f"reserved{name}Prefix": _returns(prefix) for name, prefix in _PREFIXES.items()}


@dataclass(frozen=True)
class OperatorIdentifier:
    """Domain, type and version of an operator."""

    domain: str
    type: str
    version: int
    numInputs: tuple[int, int] = (0, 0)
    numOutputs: int = 0


globals().update(RESERVED)
__all__ = ["OperatorIdentifier", *RESERVED]
