"""The chip model's facade: `estimate(program, deployment, system)`."""

from tremula.estimate.estimate import VERSION, Estimate, OpTime, estimate

__all__ = ["VERSION", "Estimate", "OpTime", "estimate"]
