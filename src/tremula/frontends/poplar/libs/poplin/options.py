"""Options of products of matrices and of convolutions: the share of memory, the type of partial sums and the pass go to
the planner; the others choose between plans, which the chip model makes itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tremula.frontends.poplar.errors import InvalidOption
from tremula.frontends.poplar.libs.options import PLANNED_BY_THE_MODEL, check, share
from tremula.frontends.poplar.lines import user_line

Options = Mapping[str, str]

_SHARED = (
    "use128BitConvUnitLoad",
    "enableMultiStageReduce",
    "enableFastReduce",
    "remapOutputTensor",
    "disableSRForAMPVertices",
    "planConstraints",
)
_MATMUL = (*_SHARED, "inputRHSIsPreArranged", "gatherOutput")
_CONV = (
    *_SHARED,
    "enableConvDithering",
    "gatherConvOutput",
    "disableTransformations",
    "insertTransformsCycleCountProgs",
    "experimental.convTransformsEstimates",
    "experimental.slicVmac16",
    "enableTileLevelExpandDims",
    "partialsType.interTile",
    "partialsType.interIPU",
    "planConstraintsOutputFilename",
    "numIPUs",
    "tilesPerIPU",
)
_PASSES = ("NONE", "INFERENCE_FWD", "TRAINING_FWD", "TRAINING_BWD", "TRAINING_WU")
_CONV_PASSES = (*_PASSES, "NONE_MATMUL", *(f"FC_{name}" for name in _PASSES[1:]))
_ROLES = {"TRAINING_BWD": "input_gradient", "TRAINING_WU": "weight_gradient"}
_TYPES = {"half": "fp16", "float": "fp32"}


@dataclass(frozen=True)
class Planning:
    """What the planner is told."""

    partials: str = "fp32"
    proportion: float = 0.6
    role: str = "forward"


def choice(where: str, options: Options, name: str, words: tuple[str, ...], default: str) -> str:
    """The value of an option that is one of some words."""
    found = str(options.get(name, default))
    if found not in words:
        raise InvalidOption(
            f"option {name!r} of {where} is one of {', '.join(words)}, not {found!r} ({user_line()})"
        )
    return found


def partials_type(where: str, options: Options) -> str:
    """The type of partial sums, as the chip model names it."""
    return _TYPES[choice(where, options, "partialsType", tuple(_TYPES), "float")]


def matmul_planning(where: str, options: Options | None) -> Planning:
    """What the options of a product of matrices mean for the planner."""
    return _planning(where, options or {}, "fullyConnectedPass", _PASSES, _MATMUL)


def conv_planning(where: str, options: Options | None) -> Planning:
    """What the options of a convolution mean for the planner."""
    return _planning(where, options or {}, "pass", _CONV_PASSES, _CONV)


def _planning(
    where: str, options: Options, pass_name: str, passes: tuple[str, ...], others: tuple[str, ...]
) -> Planning:
    honoured = ("availableMemoryProportion", "partialsType", pass_name)
    check(where, options, honoured, dict.fromkeys(others, PLANNED_BY_THE_MODEL))
    chosen = choice(where, options, pass_name, passes, "NONE").removeprefix("FC_")
    return Planning(
        partials_type(where, options),
        share(where, options, "availableMemoryProportion", 0.6),
        _ROLES.get(chosen, "forward"),
    )
