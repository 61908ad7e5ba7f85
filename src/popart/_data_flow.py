"""Inputs and outputs of a session: `DataFlow`, `AnchorReturnType`, `InputShapeInfo`, `InputSettings`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tremula.frontends.onnx.run.anchors import ALL, EVERY_N, FINAL, SUM, AnchorRule

from ._enums import AnchorReturnTypeId, ExchangeStrategy, ReplicatedStreamMode, TileSet
from ._exceptions import popart_exception
from ._tensor_info import TensorInfo

_MODES = {
    AnchorReturnTypeId.Final: FINAL,
    AnchorReturnTypeId.EveryN: EVERY_N,
    AnchorReturnTypeId.All: ALL,
    AnchorReturnTypeId.Sum: SUM,
}
_WORDS = {each.name.upper(): each for each in AnchorReturnTypeId}


class AnchorReturnType:
    """The values of an anchored tensor that are returned: "Final", "EveryN" (of a period), "All" or "Sum"."""

    def __init__(
        self,
        anchorReturnTypeString: str = "All",
        *args: Any,
        returnPeriod: int | None = None,
        tileSet: TileSet = TileSet.Compute,
        exchangeStrategy: ExchangeStrategy = ExchangeStrategy.JustInTime,
    ) -> None:
        given = list(args)
        if given and not isinstance(given[0], TileSet):
            returnPeriod = int(given.pop(0))
        if given:
            tileSet = given.pop(0)
        if given:
            exchangeStrategy = given.pop(0)
        if given:
            raise TypeError(f"__init__(): incompatible constructor arguments: {args}.")
        found = _WORDS.get(anchorReturnTypeString.upper())
        if found is None:
            raise popart_exception(f"Invalid anchor return type ID supplied: {anchorReturnTypeString}")
        if found is AnchorReturnTypeId.EveryN and returnPeriod is None:
            raise popart_exception("Must specify return period with option 'EVERYN'")
        if found is not AnchorReturnTypeId.EveryN and returnPeriod is not None:
            raise popart_exception("A return period should not be supplied for this anchor return type")
        if returnPeriod is not None and returnPeriod <= 0:
            raise popart_exception("Anchor return period must be greater than zero")
        self._id, self._period = found, returnPeriod
        self._tileSet, self._exchangeStrategy = tileSet, exchangeStrategy

    def id(self) -> AnchorReturnTypeId:
        """The values that are returned."""
        return self._id

    def rp(self) -> int:
        """The period of EveryN."""
        if self._period is None:
            raise popart_exception("A return period should not be supplied for this anchor return type.")
        return self._period

    def tileSet(self) -> TileSet:
        """The tiles that send it."""
        return self._tileSet

    def exchangeStrategy(self) -> ExchangeStrategy:
        """When it is sent."""
        return self._exchangeStrategy

    def rule(self) -> AnchorRule:
        """The engine's word for it."""
        return AnchorRule(_MODES[self._id], self._period or 1)


class DataFlow:
    """The batches of a step, and the tensors that it returns."""

    def __init__(
        self,
        batchesPerStep: int = 0,
        anchorTensors: Mapping[str, AnchorReturnType] | Sequence[str] | None = None,
        anchorReturnType: AnchorReturnType | None = None,
        *,
        anchorIds: Sequence[str] | None = None,
    ) -> None:
        if isinstance(batchesPerStep, bool | float):
            raise TypeError(
                "__init__(): incompatible constructor arguments: batchesPerStep is a whole number."
            )
        if anchorIds is not None:
            anchorTensors = anchorIds
        if isinstance(anchorTensors, str) or anchorTensors is None:
            raise TypeError("__init__(): incompatible constructor arguments: anchors are a dict or a list.")
        if isinstance(anchorTensors, Mapping):
            self._anchors = dict(anchorTensors)
        else:
            shared = anchorReturnType or AnchorReturnType("All")
            self._anchors = dict.fromkeys(anchorTensors, shared)
        for each in self._anchors.values():
            if not isinstance(each, AnchorReturnType):
                raise TypeError(
                    "__init__(): incompatible constructor arguments: an anchor's value is an AnchorReturnType, "
                    f"not {type(each).__name__}."
                )
        self._batches = int(batchesPerStep)
        for each in self._anchors.values():
            if each.id() is AnchorReturnTypeId.EveryN and each.rp() > self._batches:
                raise popart_exception(
                    f"Anchor return period {each.rp()} must not be larger than the batches per step, {self._batches}."
                )

    def isAnchored(self, id: str) -> bool:
        """Whether a tensor is returned."""
        return id in self._anchors

    def nAnchors(self) -> int:
        """The number of anchored tensors."""
        return len(self._anchors)

    def batchesPerStep(self) -> int:
        """Batches of a step."""
        return self._batches

    def setBatchesPerStep(self, batchesPerStep: int) -> None:
        """Set the number of batches in a step."""
        self._batches = int(batchesPerStep)

    def anchors(self) -> list[str]:
        """The tensors that are returned."""
        return list(self._anchors)

    def art(self, id: str) -> AnchorReturnType:
        """The values of a tensor that are returned."""
        if id not in self._anchors:
            raise popart_exception(f"The tensor {id} is not anchored.")
        return self._anchors[id]

    def rules(self) -> dict[str, AnchorRule]:
        """The engine's words for them."""
        return {name: each.rule() for name, each in self._anchors.items()}


class InputShapeInfo:
    """Types of inputs that a model leaves open."""

    def __init__(self) -> None:
        self._infos: dict[str, TensorInfo] = {}

    def add(self, id: str, info: TensorInfo) -> None:
        """Set the type of an input."""
        self._infos[id] = info

    def get(self, id: str) -> TensorInfo:
        """The settings of an input."""
        if id not in self._infos:
            raise popart_exception(f"There are no settings for the input {id}.")
        return self._infos[id]

    def has(self, id: str) -> bool:
        """Whether anything was said about an input."""
        return id in self._infos

    def shapes(self) -> dict[str, list[int]]:
        """The shapes that were said."""
        return {name: info.shape() for name, info in self._infos.items()}


class InputSettings:
    """How an input is transferred to the device."""

    def __init__(self, *settings: Any, **named: Any) -> None:
        self._tileSet = TileSet.Compute
        self._exchangeStrategy = ExchangeStrategy.JustInTime
        self._replicatedStreamMode = ReplicatedStreamMode.Replicate
        for each in (*settings, *named.values()):
            if isinstance(each, TileSet):
                self._tileSet = each
            elif isinstance(each, ExchangeStrategy):
                self._exchangeStrategy = each
            elif isinstance(each, ReplicatedStreamMode):
                self._replicatedStreamMode = each
            else:
                raise TypeError(f"__init__(): incompatible constructor arguments: {each!r}.")

    def tileSet(self) -> TileSet:
        """The tiles that receive it."""
        return self._tileSet

    def exchangeStrategy(self) -> ExchangeStrategy:
        """When it is received."""
        return self._exchangeStrategy

    def replicatedStreamMode(self) -> ReplicatedStreamMode:
        """Whether all replicas get the same."""
        return self._replicatedStreamMode

    def setTileSet(self, tileSet: TileSet) -> None:
        """Have these tiles receive it."""
        self._tileSet = tileSet

    def setExchangeStrategy(self, exchangeStrategy: ExchangeStrategy) -> None:
        """Have it received then."""
        self._exchangeStrategy = exchangeStrategy

    def setReplicatedStreamMode(self, streamMode: ReplicatedStreamMode) -> None:
        """Have all replicas get the same, or not."""
        self._replicatedStreamMode = streamMode


__all__ = ["AnchorReturnType", "DataFlow", "InputSettings", "InputShapeInfo"]
