"""What a precision means for the network and the optimizer.

float32 is all single precision. float16 (IPU): weights and arithmetic half; the statistics of norms, the loss and the
optimizer's state stay single, and the loss is scaled. mixed and bfloat16: weights stay single and are cast to half or
bfloat16 inside each step, so small updates are not rounded away.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.func import functional_call

from cosmictagger.config.groups import Precision

_HALF_LOSS_SCALING = 128.0
_INSIDE = {Precision.mixed: torch.float16, Precision.bfloat16: torch.bfloat16}


class CastNetwork(nn.Module):
    """A network with single-precision weights that computes in a shorter format.

    Args:
        inner: the network.
        dtype: the format of the arithmetic.
    """

    def __init__(self, inner: nn.Module, dtype: torch.dtype) -> None:
        super().__init__()
        self.inner = inner
        self.dtype = dtype

    @property
    def head(self) -> nn.Module:
        """The last layer, whose type says what images are cast to before they come in."""
        return self.inner.head

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        """Logits, in the shorter format."""
        short = {name: weight.to(self.dtype) for name, weight in self.inner.named_parameters()}
        return functional_call(self.inner, short, (image.to(self.dtype),))


def prepared(network: nn.Module, precision: Precision) -> nn.Module:
    """The network as a step should have it. Its parameters are those of `network`, which becomes half itself."""
    if precision is Precision.float16:
        return network.half()
    if precision in _INSIDE:
        return CastNetwork(network, _INSIDE[precision])
    return network


def loss_scaling(asked: float | None, precision: Precision) -> float:
    """The factor on the loss: as asked, or one that suits the precision. bfloat16 has the range of single."""
    if asked is not None:
        return asked
    return _HALF_LOSS_SCALING if precision in (Precision.float16, Precision.mixed) else 1.0
