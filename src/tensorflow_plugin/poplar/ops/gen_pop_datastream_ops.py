"""Ops on tables in the memory of the host, and outfeeds by name."""

from tremula.frontends.tensorflow.ops.host_tables import deregister as ipu_host_embedding_deregister
from tremula.frontends.tensorflow.ops.host_tables import device_lookup as ipu_device_embedding_lookup
from tremula.frontends.tensorflow.ops.host_tables import device_notify as ipu_device_embedding_notify
from tremula.frontends.tensorflow.ops.host_tables import device_update_add as ipu_device_embedding_update_add
from tremula.frontends.tensorflow.ops.host_tables import register as ipu_host_embedding_register
from tremula.frontends.tensorflow.ops.native.datastream import (
    ipu_delete_outfeed,
    pop_datastream_outfeed_dequeue,
    pop_datastream_outfeed_enqueue,
)

__all__ = [
    "ipu_delete_outfeed",
    "ipu_device_embedding_lookup",
    "ipu_device_embedding_notify",
    "ipu_device_embedding_update_add",
    "ipu_host_embedding_deregister",
    "ipu_host_embedding_register",
    "pop_datastream_outfeed_dequeue",
    "pop_datastream_outfeed_enqueue",
]
