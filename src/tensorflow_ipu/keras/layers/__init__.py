"""`tensorflow.python.ipu.keras.layers`, which is `ipu_tensorflow_addons.keras.layers` now."""

from ipu_tensorflow_addons.keras.layers import (
    AssumeEqualAcrossReplicas,
    Dropout,
    Embedding,
    GroupNorm,
    GroupNormalization,
    InstanceNorm,
    InstanceNormalization,
    LayerNorm,
    LayerNormalization,
    RecomputationCheckpoint,
)
