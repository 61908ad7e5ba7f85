"""The CosmoFlow networks in their published sizes: convolutions and pooling, then three dense layers.

They compute what the Keras originals compute, from the same weights. Three habits of Keras matter: its leaky
ReLU has a slope of 0.3, 'same' padding of an even kernel adds only at the far end of an axis, and volumes are
flattened with channels last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional

#: channels of the input (redshifts) and parameters to predict
CHANNELS, TARGETS = 4, 4
#: slope of the leaky ReLU
SLOPE = 0.3
#: the prediction is this times a hyperbolic tangent, so that targets of -1 and 1 can be reached
REACH = 1.2


@dataclass(frozen=True)
class Variant:
    """One size of the network.

    Attributes:
        size: side of the input cube in voxels.
        conv_size: channels of the first convolution.
        kernel: side of the kernels.
        layers: convolutions, each followed by pooling.
        doubling: whether each convolution has twice the channels of the one before.
        padding: "same" or "valid".
        dropout: share of values dropped behind the dense layers while training.
        dropout_flat: whether flattened values are dropped from, too.
        parameters: number of weights and biases, where it is published.
    """

    size: int
    conv_size: int
    kernel: int
    layers: int = 5
    doubling: bool = True
    padding: str = "same"
    dropout: float = 0.0
    dropout_flat: bool = False
    parameters: int | None = None

    @property
    def channels(self) -> list[int]:
        """Channels after each convolution."""
        return [self.conv_size * 2**i if self.doubling else self.conv_size for i in range(self.layers)]

    @property
    def side(self) -> int:
        """Side of the cube that is flattened.

        Raises:
            ValueError: the input is too small, so that nothing would be left.
        """
        side = self.size
        for _ in range(self.layers):
            side = (side if self.padding == "same" else side - self.kernel + 1) // 2
        if side < 1:
            raise ValueError(
                f"network.size={self.size} is too small for {self.layers} convolutions with pooling: nothing is left "
                "to flatten. Give larger volumes or fewer network.layers."
            )
        return side


#: Published variants: Graphcore's example, the MLPerf HPC reference, its first version; and a small one for trying.
VARIANTS = {
    "gc64": Variant(64, 16, 2, dropout=0.2, parameters=619_956),
    "mlperf128": Variant(128, 32, 3, dropout=0.5, parameters=8_907_556),
    "v1": Variant(128, 16, 2, doubling=False, padding="valid", dropout_flat=True, parameters=72_724),
    "demo": Variant(32, 8, 2, layers=4, parameters=96_060),
}


class CosmoFlow(nn.Module):
    """Volumes [B, 4, D, D, D] of logarithms of counts to predictions [B, 4].

    Args:
        variant: the size.
    """

    def __init__(self, variant: Variant) -> None:
        super().__init__()
        if variant.padding not in ("same", "valid"):
            raise ValueError(f"padding={variant.padding!r} must be 'same' or 'valid'.")
        self.variant = variant
        channels = [CHANNELS, *variant.channels]
        self.convolutions = nn.ModuleList(
            nn.Conv3d(before, after, variant.kernel, padding=self._padding())
            for before, after in pairwise(channels)
        )
        self.dense = nn.ModuleList(
            [nn.Linear(channels[-1] * variant.side**3, 128), nn.Linear(128, 64), nn.Linear(64, TARGETS)]
        )
        self.dropout = nn.Dropout(variant.dropout)
        self.reset_parameters()

    @property
    def dtype(self) -> torch.dtype:
        """The type of the weights."""
        return next(self.parameters()).dtype

    def _padding(self) -> int:
        even = self.variant.kernel % 2 == 0
        return 0 if even or self.variant.padding == "valid" else self.variant.kernel // 2

    def reset_parameters(self) -> None:
        """Draw new weights as Keras does: Glorot's uniform distribution, biases zero."""
        for layer in (*self.convolutions, *self.dense):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, volume: torch.Tensor) -> torch.Tensor:
        """Predictions, between -1.2 and 1.2."""
        kernel = self.variant.kernel
        far_end = self.variant.padding == "same" and kernel % 2 == 0
        for convolution in self.convolutions:
            if far_end:
                volume = functional.pad(volume, ((kernel - 1) // 2, kernel // 2) * 3)
            volume = functional.max_pool3d(functional.leaky_relu(convolution(volume), SLOPE), 2)
        flat = volume.permute(0, 2, 3, 4, 1).flatten(1)
        if self.variant.dropout_flat:
            flat = self.dropout(flat)
        for layer in self.dense[:-1]:
            flat = self.dropout(functional.leaky_relu(layer(flat), SLOPE))
        return torch.tanh(self.dense[-1](flat)) * REACH

    def load_keras(self, arrays: Sequence[NDArray[np.floating]]) -> None:
        """Take over what `get_weights()` of the Keras model gives: kernel and bias of each layer in turn.

        Raises:
            ValueError: they are not those of this variant.
        """
        layers = [*self.convolutions, *self.dense]
        if len(arrays) != 2 * len(layers):
            raise ValueError(f"{len(arrays)} arrays were given, but the network has {2 * len(layers)}.")
        with torch.no_grad():
            for layer, kernel, bias in zip(layers, arrays[::2], arrays[1::2], strict=True):
                weight = torch.from_numpy(np.ascontiguousarray(np.moveaxis(kernel, (-1, -2), (0, 1))))
                if weight.shape != layer.weight.shape or bias.shape != tuple(layer.bias.shape):
                    raise ValueError(f"An array of shape {kernel.shape} does not fit {layer}.")
                layer.weight.copy_(weight)
                layer.bias.copy_(torch.from_numpy(bias))


def parameter_count(network: nn.Module) -> int:
    """Number of weights and biases."""
    return sum(parameter.numel() for parameter in network.parameters())
