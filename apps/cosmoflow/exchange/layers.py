"""Which arrays of a file are the kernels and biases of which layer.

Published programs name layers as Keras does: `conv3d`, `conv3d_1`, ..., `dense`, `dense_1`, `dense_2`, perhaps below
a scope and counted on from an earlier model. Checkpoints of objects number them: `layer_with_weights-0`. What else is
in a file (slots of optimizers, the step, metrics) is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from cosmoflow.network import CHANNELS, TARGETS, Variant
from tremula.formatting import plain

_NAMED = re.compile(
    r"(?:.*/)?(?P<kind>conv3d|dense)(?:_(?P<number>\d{1,6}))?/(?P<part>kernel|bias)(?::0)?", re.ASCII
)
_IN_VARS = re.compile(
    r"(?:.*/)?(?P<kind>conv3d|dense)(?:_(?P<number>\d{1,6}))?/vars/(?P<part>[01])", re.ASCII
)
_COUNTED = re.compile(
    r"(?:.*/)?layer_with_weights-(?P<number>\d{1,6})/(?P<part>kernel|bias)/\.ATTRIBUTES/VARIABLE_VALUE",
    re.ASCII,
)
#: parts of names of what belongs to optimizers
_FOREIGN = re.compile(r"(?:^|/)(optimizer|optimizer_weights|training)(/|$)|\.OPTIMIZER_SLOT", re.IGNORECASE)
_BIAS = ("bias", "1")


class BadWeights(ValueError):
    """A file of weights cannot be used; the text names the file and the place in it."""

    def __init__(self, path: Path, where: str, what: str) -> None:
        super().__init__(plain(f"{path}: {f'{where[:120]}: ' if where else ''}{what}"))


@dataclass(frozen=True)
class Place:
    """An array that the network needs.

    Attributes:
        layer: the name that the published program gives the layer.
        bias: whether it is the bias, not the kernel.
        shape: its shape in TensorFlow's order of axes.
    """

    layer: str
    bias: bool
    shape: tuple[int, ...]

    @property
    def name(self) -> str:
        """As in checkpoints of the published program."""
        return f"{self.layer}/{'bias' if self.bias else 'kernel'}"


def places(variant: Variant) -> list[Place]:
    """Kernel and bias of each layer in turn, as `get_weights()` gives them."""
    channels = [CHANNELS, *variant.channels]
    units = [channels[-1] * variant.side**3, 128, 64, TARGETS]
    found = []
    for kind, sizes, kernel in (("conv3d", channels, (variant.kernel,) * 3), ("dense", units, ())):
        for i in range(len(sizes) - 1):
            layer = f"{kind}_{i}" if i else kind
            found.append(Place(layer, False, (*kernel, sizes[i], sizes[i + 1])))
            found.append(Place(layer, True, (sizes[i + 1],)))
    return found


def others(variant: Variant) -> list[str]:
    """Names of the layers of the published model that have no weights."""
    counts = {
        "leaky_re_lu": variant.layers + 2,
        "max_pooling3d": variant.layers,
        "flatten": 1,
        "dropout": 3 if variant.dropout_flat else 2,
        "lambda": 1,
    }
    return [f"{kind}_{i}" if i else kind for kind, count in counts.items() for i in range(count)]


def matched(path: Path, names: Iterable[str], variant: Variant) -> list[tuple[Place, str]]:
    """For each array that the network needs, its name in the file.

    Args:
        path: the file, for errors.
        names: those of all arrays in it.
        variant: the size of the network.

    Raises:
        BadWeights: the layers are not those of this network.
    """
    found: dict[tuple[str, int, bool], str] = {}
    for name in names:
        match = _NAMED.fullmatch(name) or _IN_VARS.fullmatch(name) or _COUNTED.fullmatch(name)
        if match is None or _FOREIGN.search(name):
            continue
        groups = match.groupdict()
        key = groups.get("kind") or "layer", int(groups["number"] or 0), groups["part"] in _BIAS
        if key in found:
            raise BadWeights(
                path, name, f"is there twice: also as {found[key]}. The file has several networks."
            )
        found[key] = name
    needed = places(variant)
    kernels, dense = variant.layers, len(needed) // 2 - variant.layers
    # conv3d before dense before layer, and each kind in the order of its numbers; the bias behind the kernel
    ordered = sorted(found)
    layers = sorted({key[:2] for key in found})
    counts = {kind: sum(layer[0] == kind for layer in layers) for kind in ("conv3d", "dense", "layer")}
    named = counts == {"conv3d": kernels, "dense": dense, "layer": 0}
    if len(found) != len(needed) or not (named or counts == {"conv3d": 0, "dense": 0, "layer": len(layers)}):
        raise BadWeights(
            path,
            "",
            f"has {counts['conv3d']} layers of 3D convolutions, {counts['dense']} dense layers and {counts['layer']} "
            f"numbered ones, {len(found)} arrays in all; the network has {kernels} convolutions and {dense} dense "
            f"layers, {len(needed)} arrays. Give the right --config-name or network.* settings.",
        )
    for key, place in zip(ordered, needed, strict=True):
        if key[2] != place.bias:
            raise BadWeights(path, found[key], "stands without the other part of its layer, kernel or bias.")
    return [(place, found[key]) for key, place in zip(ordered, needed, strict=True)]
