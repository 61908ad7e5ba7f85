"""Messages of Poplar options."""

from tremula.frontends.tensorflow.config.messages import (
    PoplarOptionFlag,
    PoplarOptionFlags,
)

__all__ = [
    "PoplarOptionFlag",
    "PoplarOptionFlags",
]
