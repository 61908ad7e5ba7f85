"""The networks compute what the Keras originals compute."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest
import torch
from cosmoflow.model import logarithms
from cosmoflow.network import VARIANTS, CosmoFlow, Variant, parameter_count


def recipe_weights(shapes: list[tuple[int, ...]]) -> list[np.ndarray]:
    """Weights that any program can make: fractions of multiples of pi times square roots of whole numbers."""
    arrays = []
    for k, shape in enumerate(shapes):
        i = np.arange(1, np.prod(shape) + 1, dtype=np.float64)
        scale = 0.1 if len(shape) == 1 else 2 * np.sqrt(3 / np.prod(shape[:-1]))
        values = ((i * np.sqrt(k + 2.0) * np.pi) % 1.0 - 0.5) * scale
        arrays.append(values.reshape(shape).astype(np.float32))
    return arrays


def recipe_counts(side: int) -> np.ndarray:
    """Counts that any program can make: mostly small, some up to 59."""
    i = np.arange(1, side**3 * 4 + 1, dtype=np.float64)
    return np.floor(60 * ((i * np.e) % 1.0) ** 4).reshape(1, side, side, side, 4).astype(np.int16)


def keras_shapes(variant: Variant) -> list[tuple[int, ...]]:
    """Shapes of `get_weights()` of the Keras model: kernels with output channels last, and biases."""
    channels = [4, *variant.channels]
    shapes: list[tuple[int, ...]] = []
    for before, after in itertools.pairwise(channels):
        shapes += [(variant.kernel,) * 3 + (before, after), (after,)]
    units = [channels[-1] * variant.side**3, 128, 64, 4]
    for before, after in itertools.pairwise(units):
        shapes += [(before, after), (after,)]
    return shapes


#: Computed by Keras 3.15.1 on TensorFlow 2.21.0 (CPU): Conv3D, LeakyReLU(0.3), MaxPool3D, Flatten, Dense, in float32,
#: with the weights and log(1 + counts) of the recipes above. Flattened cubes have more than one voxel in each.
KERAS = {
    "gc64": (64, 619_956, [-0.23677482, 0.47785687, -0.1160349, 0.16694045]),
    "mlperf128": (64, 5_237_540, [0.1737147, -0.04477629, 0.06314436, -0.07784063]),
    "v1": (128, 72_724, [0.09819654, 0.07161819, -0.01508113, 0.00898717]),
}


@pytest.mark.parametrize("name", KERAS)
def test_outputs_are_those_of_keras(name: str) -> None:
    side, parameters, expected = KERAS[name]
    network = CosmoFlow(dataclasses.replace(VARIANTS[name], size=side)).eval()
    assert parameter_count(network) == parameters
    network.load_keras(recipe_weights(keras_shapes(network.variant)))
    with torch.no_grad():
        found = network(logarithms(torch.from_numpy(recipe_counts(side)), torch.float32))
    np.testing.assert_allclose(found.numpy()[0], expected, atol=3e-6)


@pytest.mark.parametrize("name", VARIANTS)
def test_parameter_counts_are_the_published_ones(name: str) -> None:
    published = {"gc64": 619_956, "mlperf128": 8_907_556, "v1": 72_724, "demo": 96_060}
    assert VARIANTS[name].parameters == published[name]
    with torch.device("meta"):
        network = CosmoFlow(VARIANTS[name])
    assert parameter_count(network) == published[name]


def test_weights_of_another_network_are_refused() -> None:
    network = CosmoFlow(VARIANTS["demo"])
    with pytest.raises(ValueError, match="16 arrays were given, but the network has 14"):
        network.load_keras(recipe_weights(keras_shapes(VARIANTS["v1"])))
    arrays = recipe_weights(keras_shapes(VARIANTS["demo"]))
    arrays[0] = arrays[0][:1]
    with pytest.raises(ValueError, match="does not fit"):
        network.load_keras(arrays)


def test_volumes_that_are_too_small_are_named() -> None:
    with pytest.raises(ValueError, match=r"network\.size=16 is too small"):
        CosmoFlow(Variant(16, 4, 2, layers=5))


def test_half_precision_is_half() -> None:
    network = CosmoFlow(Variant(8, 4, 2, layers=2)).half().eval()
    counts = torch.from_numpy(recipe_counts(8))
    assert logarithms(counts, torch.float16).dtype == torch.float16
    assert network(logarithms(counts, torch.float16)).dtype == torch.float16
