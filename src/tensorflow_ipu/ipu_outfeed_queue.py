"""Outfeed queues."""

from tremula.frontends.tensorflow.feeds.outfeed import (
    IPUOutfeedMode,
    IPUOutfeedQueue,
    IPUOutfeedQueueIterator,
    ScopedIPUOutfeedQueue,
)

__all__ = ["IPUOutfeedMode", "IPUOutfeedQueue", "IPUOutfeedQueueIterator", "ScopedIPUOutfeedQueue"]
