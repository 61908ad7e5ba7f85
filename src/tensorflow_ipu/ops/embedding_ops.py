"""Embeddings on the device and on the host."""

from tremula.frontends.tensorflow.ops.embeddings import embedding_lookup
from tremula.frontends.tensorflow.ops.host_embeddings import (
    HostEmbedding,
    HostEmbeddingOptimizerSpec,
    HostEmbeddingScope,
    HostEmbeddingSGDGAOptimizerSpec,
    create_host_embedding,
)

__all__ = [
    "HostEmbedding",
    "HostEmbeddingOptimizerSpec",
    "HostEmbeddingSGDGAOptimizerSpec",
    "HostEmbeddingScope",
    "create_host_embedding",
    "embedding_lookup",
]
