"""Images."""

from tremula.frontends.tensorflow.ops.images import normalise_image

__all__ = ["normalise_image"]
