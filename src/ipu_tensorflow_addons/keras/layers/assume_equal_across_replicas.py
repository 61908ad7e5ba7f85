"""AssumeEqualAcrossReplicas."""

from tremula.frontends.tensorflow.addons.layers.markers import AssumeEqualAcrossReplicas

__all__ = ["AssumeEqualAcrossReplicas"]
