"""The chip model's facade: `estimate(program, deployment, system)`, and `estimate_of` a wrapped model."""

from tremula.estimate.estimate import VERSION, Estimate, OpTime, estimate, estimate_flat
from tremula.estimate.run import estimate_of

__all__ = ["VERSION", "Estimate", "OpTime", "estimate", "estimate_flat", "estimate_of"]
