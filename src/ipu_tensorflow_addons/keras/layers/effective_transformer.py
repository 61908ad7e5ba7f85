"""The effective transformer."""

from tremula.frontends.tensorflow.addons.layers.effective_transformer import EffectiveTransformer

__all__ = ["EffectiveTransformer"]
