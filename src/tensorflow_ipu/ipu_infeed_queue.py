"""Infeed queues and iterators."""

from tremula.frontends.tensorflow.feeds.infeed import InfeedSpec as _IPUInfeedQueueSpec
from tremula.frontends.tensorflow.feeds.infeed import IPUInfeedQueue
from tremula.frontends.tensorflow.feeds.iterators import IPUIterator, IPUOwnedIterator

_internal_id = "_internal_id"

__all__ = ["IPUInfeedQueue", "IPUIterator", "IPUOwnedIterator"]
