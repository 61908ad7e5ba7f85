"""Recomputation checkpoints."""

from tremula.frontends.tensorflow.addons.layers.markers import RecomputationCheckpoint

__all__ = ["RecomputationCheckpoint"]
