"""`Patterns`: which rewrites of the graph are on.

A pattern changes how something is computed, not what. So the choice is kept, shown, and followed where ops are listed
(`_serializeIr`); numbers are the same with all of them and with none.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

from ._enums import PatternsLevel
from ._exceptions import popart_exception

# fmt: off
_MANDATORY = (
    "AllReduceToIdentity", "Atan2Arg0GradOp", "Atan2Arg1GradOp", "ConvDataGrad", "ConvFlipWeightsGradOp",
    "ConvTranspose", "CosGradOp", "CoshOp", "DivArg0GradOp", "DivArg1GradOp", "AbsGradOp", "SinGradOp", "ExpGradOp",
    "Expm1GradOp", "FmodArg0GradOp", "RandomNormalLikeOpPattern", "RandomUniformLikeOpPattern",
    "ZerosLikeOpPattern", "Log1pGradOp", "LogGradOp", "LoopScanOut", "MatMulOp", "MatMulLhsGradOp",
    "MatMulRhsGradOp", "MulArgGradOp", "PowArg0GradOp", "PowArg1GradOp", "ReciprocalGradOp", "ScanToLoop",
    "SqrtGradOp", "SubtractArg1GradOp",
)
# fmt: on
# fmt: off
_DEFAULT = (
    "ConvFlipWeightsDoubleFlip", "DecomposeBinaryConstScalar", "ExpandCast", "InitAccumulate",
    "LambSerialisedWeight", "NegativeOneScale", "NlllWithSoftmaxGradDirect", "OpToIdentity", "PackedDataBlock",
    "PadSum", "PostNRepl", "PreUniRepl", "RemoveUnnecessaryLossGradCast", "SoftmaxGradDirect",
    "SplitGradOpToConcat", "SplitOp", "SumToAdd", "TransposeToIdentityOrReshapePattern", "UpsampleToResize",
)
# fmt: on
_OPTIONAL = ("LSTMOp", "Slice2SliceSubsample", "SplitGather", "TiedGather", "TiedGatherAccumulate")
#: patterns that are steps of their own and not among those that levels choose from
_BESIDES = ("InPlace", "UpdateInplacePrioritiesForIpu")
_NAMES = (*_MANDATORY, *_DEFAULT, *_OPTIONAL)
#: properties whose names are not those of their patterns
_PROPERTIES = {
    "SoftMaxGradDirect": "SoftmaxGradDirect",
    "NlllWithSoftMaxGradDirect": "NlllWithSoftmaxGradDirect",
}


def _level(level: PatternsLevel) -> set[str]:
    if level is PatternsLevel.NoPatterns:
        return set()
    if level is PatternsLevel.Minimal:
        return set(_MANDATORY)
    enabled = {*_MANDATORY, *_DEFAULT, "InPlace"}
    return enabled | set(_OPTIONAL) if level is PatternsLevel.All else enabled


class Patterns:
    """The patterns of a level, or those of a list; each can be switched."""

    def __init__(self, level: PatternsLevel | Iterable[str] = PatternsLevel.Default, **named: Any) -> None:
        level = named.pop("patterns", level)
        if named:
            raise TypeError(f"Patterns takes a level or patterns, not {', '.join(named)}.")
        self.runtimeAsserts = True
        self._enabled: set[str] = set()
        if isinstance(level, PatternsLevel):
            self._enabled = _level(level)
            return
        for name in level:
            self.enablePattern(name, True)

    @classmethod
    def create(cls, patterns: Iterable[str]) -> Patterns:
        """Those of a list."""
        return cls(list(patterns))

    def isPatternEnabled(self, name: str) -> bool:
        """Whether a pattern is on."""
        return _known(name) in self._enabled

    def enablePattern(self, name: str, value: bool) -> Patterns:
        """Switch a pattern; returns self."""
        if value:
            self._enabled.add(_known(name))
        else:
            self._enabled.discard(_known(name))
        return self

    def enableRuntimeAsserts(self, value: bool) -> Patterns:
        """Whether runs without the mandatory patterns are refused; returns self."""
        self.runtimeAsserts = bool(value)
        return self

    def enabled(self) -> set[str]:
        """The patterns that are on."""
        return set(self._enabled)

    def missing(self) -> list[str]:
        """Mandatory patterns that are off."""
        return [name for name in _MANDATORY if name not in self._enabled]

    def __repr__(self) -> str:
        return "Patterns:\n" + "\n".join(
            f"  {name}: {'on' if name in self._enabled else 'off'}" for name in (*_NAMES, *_BESIDES)
        )


def _known(name: str) -> str:
    if name in _NAMES or name in _BESIDES:
        return name
    near = difflib.get_close_matches(name, (*_NAMES, *_BESIDES), n=1)
    hint = f", did you mean {near[0]}?" if near else ""
    raise popart_exception(f"Unknown pattern {name}{hint}")


def _switch(pattern: str) -> property:
    return property(
        lambda self: self.isPatternEnabled(pattern),
        lambda self, value: self.enablePattern(pattern, value) and None,
    )


for _name in (
    "PreUniRepl", "PostNRepl", "SoftMaxGradDirect", "NlllWithSoftMaxGradDirect", "OpToIdentity", "SubtractArg1GradOp",
    "MulArgGradOp", "MatMulOp", "MatMulLhsGradOp", "MatMulRhsGradOp", "InPlace",
):  # fmt: skip
    setattr(Patterns, _name, _switch(_PROPERTIES.get(_name, _name)))

__all__ = ["Patterns"]
