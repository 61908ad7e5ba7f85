"""The user's lines of the nodes of models that were made in this process, by the model's bytes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping

from tremula.program.op import SourceLine

#: models that are remembered
_MOST = 16
_known: OrderedDict[tuple[int, int], Mapping[str, SourceLine]] = OrderedDict()


def remember(model: bytes, sources: Mapping[str, SourceLine]) -> None:
    """Keep the lines of a model's nodes."""
    key = (len(model), hash(model))
    _known[key] = dict(sources)
    _known.move_to_end(key)
    while len(_known) > _MOST:
        _known.popitem(last=False)


def lines_of(model: bytes) -> Mapping[str, SourceLine]:
    """The lines of a model's nodes; none for a model that came from elsewhere."""
    return _known.get((len(model), hash(model)), {})
