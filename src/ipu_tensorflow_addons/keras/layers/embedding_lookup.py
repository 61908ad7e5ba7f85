"""Embeddings."""

from tremula.frontends.tensorflow.addons.layers.embedding import Embedding

__all__ = ["Embedding"]
