"""What calls of collectives move over the links between IPUs, as the chip model takes it."""

from __future__ import annotations

from tremula.frontends.poplar.program.library import LibraryCall
from tremula.program.placed import BetweenIpus


def between_ipus(call: LibraryCall) -> tuple[BetweenIpus, ...]:
    """The collectives of a library call; none of other functions."""
    attributes = call.attributes
    if call.function == "gcl.collective":
        if attributes["operator"] == "LOCAL":
            return ()
        ranks = len(attributes["groups"][0])
        return tuple(
            BetweenIpus(attributes["kind"], view.elements * view.type.size, ranks) for view in call.inputs
        )
    if call.function != "gcl.within":
        return ()
    if attributes["kind"] == "all_gather":
        largest = max(view.elements * view.type.size for view in call.inputs)
        return (BetweenIpus("all_gather", largest, len(call.inputs), replicas=False),)
    whole = call.inputs[0]
    ranks = whole.shape[0]
    part = whole.elements * whole.type.size // max(ranks, 1)
    return (BetweenIpus(attributes["kind"], part, ranks, replicas=False),)
