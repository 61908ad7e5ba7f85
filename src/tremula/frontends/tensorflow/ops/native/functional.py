"""`gen_functional_ops`: what programs call of it themselves. Functions and pipelines are made by the modules above."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.ops import facts


def recomputation_checkpoint(inputs: Sequence[Any], name: str | None = None) -> list[Any]:
    """Tensors from which the device starts when it computes a stage again: facts for the chip model."""
    with tf.name_scope(name or "recomputation_checkpoint"):
        return [facts.record(tf.identity(tensor), recomputation_checkpoint=True) for tensor in inputs]
