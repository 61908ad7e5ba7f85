"""`SessionOptions` and the groups of settings in it; what each does is in `tremula.settings.session_options`."""

from __future__ import annotations

from typing import Any, ClassVar

from tremula import log
from tremula.distributed.replica_share import ReplicaShare
from tremula.settings.environment import env
from tremula.settings.session_options import BY_NAME, OPTIONS, SETTINGS, SessionOption

from ._tensor_locations import TensorLocationSettings
from ._typed_fields import TypedFields


class AutomaticLossScalingSettings(TypedFields):
    """Whether and how the device adapts the factor on the loss."""

    _rows = SETTINGS["AutomaticLossScalingSettings"]


class ReplicatedCollectivesSettings(TypedFields):
    """The collectives that are merged."""

    _rows = SETTINGS["ReplicatedCollectivesSettings"]


class BatchSerializationSettings(TypedFields):
    """How a batch is computed in pieces."""

    _rows = SETTINGS["BatchSerializationSettings"]


class AutodiffSettings(TypedFields):
    """Where the backward pass of a subgraph gets the forward values from."""

    _rows = SETTINGS["AutodiffSettings"]


class ExecutionPhaseSettings(TypedFields):
    """Phased execution."""

    _rows = SETTINGS["ExecutionPhaseSettings"]


class AccumulateOuterFragmentSettings(TypedFields):
    """The order of the ops that run once per weight update."""

    _rows = SETTINGS["AccumulateOuterFragmentSettings"]


class ExperimentalSettings(TypedFields):
    """Settings that the real stack calls experimental."""

    _rows = SETTINGS["ExperimentalSettings"]


class NumIOTiles:
    """A number of tiles set aside for transfers."""

    def __init__(self, numIOTiles: int = 0) -> None:
        self._value = int(numIOTiles)

    def __int__(self) -> int:
        return self._value


_OLDER_NAMES = {
    "defaultPrefetchBufferingDepth": "defaultBufferingDepth",
    "prefetchBufferingDepthMap": "bufferingDepthMap",
    "serializedPoprithmsAnnealGraphsDir": "serializedPoprithmsShiftGraphsDir",
    **{
        f"_{name}": name
        for name in (
            "engineOptions", "convolutionOptions", "lstmOptions", "matmulOptions", "reportOptions", "gclOptions",
            "tensorLocationSettingsOverride",
        )
    },
}  # fmt: skip

#: say where something is kept or which instance this is, and nothing about the program; engine options are looked at
#: one by one
_NOT_OF_THE_PROGRAM = (
    "cachePath",
    "enableEngineCaching",
    "enableVariablesCaching",
    "engineOptions",
    "globalReplicaOffset",
)
_REPORTS = ("autoReport.", "debug.", "profiler.")
_DEPRECATED = ("defaultPrefetchBufferingDepth", "prefetchBufferingDepthMap")


class SessionOptions(TypedFields):
    """How a session compiles and runs its model."""

    _rows = tuple(row for row in OPTIONS if row.name not in _OLDER_NAMES)
    _classes: ClassVar[dict[str, type]] = {
        **{each.__name__: each for each in TypedFields.__subclasses__() if each.__name__ in SETTINGS},
        "TensorLocationSettings": TensorLocationSettings,
    }

    def __init__(self) -> None:
        super().__init__()
        cache = env.get("POPART_CACHE_DIR") or env.get("POPXL_CACHE_DIR")
        if cache:
            self.enableEngineCaching = True
            self.cachePath = str(cache)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "numIOTiles" and isinstance(value, NumIOTiles):
            value = int(value)
        if name in _DEPRECATED:
            log.layer("popart").warning("%s has been deprecated: use %s.", name, _OLDER_NAMES[name])
        super().__setattr__(_OLDER_NAMES.get(name, name), value)

    def __getattr__(self, name: str) -> Any:
        if name in _OLDER_NAMES:
            return getattr(self, _OLDER_NAMES[name])
        raise AttributeError(f"'SessionOptions' object has no attribute '{name}'", name=name, obj=self)

    def enableExplicitIR(self, enable: bool) -> None:
        """Main loops, host copies and recomputation are ops of the graph."""
        self.useHostCopyOps = enable
        self.enableExplicitMainLoops = enable
        self.explicitRecomputation = enable

    def getGlobalReplicationFactor(self) -> int:
        """Replicas over all instances."""
        if self.enableDistributedReplicatedGraphs:
            return int(self.globalReplicationFactor)
        return int(self.replicatedGraphCount) if self.enableReplicatedGraphs else 1

    def _share(self) -> ReplicaShare:
        """The replicas of this instance among those of the run; raises Error if the numbers do not fit."""
        local = int(self.replicatedGraphCount) if self.enableReplicatedGraphs else 1
        if not self.enableDistributedReplicatedGraphs:
            return ReplicaShare.alone(local)
        return ReplicaShare(int(self.globalReplicationFactor), int(self.globalReplicaOffset), local)

    def _of_program(self) -> dict[str, Any]:
        """What the options say about the program, for its executable."""
        return {
            "engine options": {
                name: str(value)
                for name, value in self.engineOptions.items()
                if not name.startswith(_REPORTS)
            },
            **{
                f"option {name}": getattr(self, name)
                for name in self.changed()
                if name not in _NOT_OF_THE_PROGRAM and not BY_NAME[name].effect.startswith("no effect")
            },
        }

    def report(self) -> None:
        """Say once of each option that was set and is not honoured what becomes of it."""
        for name in self.changed():
            option = BY_NAME[name]
            if option.effect.startswith("recorded"):
                log.recorded(f"SessionOptions.{name}")
            elif not option.honoured:
                log.no_effect(f"SessionOptions.{name}", option.reason)
            elif option.kind in SETTINGS:
                _report_fields(name, SETTINGS[option.kind], getattr(self, name))

    def changed(self) -> list[str]:
        """The options that differ from their defaults."""
        fresh = SessionOptions()
        return [row.name for row in self._rows if getattr(self, row.name) != getattr(fresh, row.name)]


def _report_fields(group: str, rows: tuple[SessionOption, ...], settings: TypedFields) -> None:
    """Say once of each field of an honoured group that was set and has no effect why that is."""
    fresh = type(settings)()
    for row in rows:
        if not row.honoured and getattr(settings, row.name) != getattr(fresh, row.name):
            log.no_effect(f"SessionOptions.{group}.{row.name}", row.reason)


__all__ = [
    "AccumulateOuterFragmentSettings",
    "AutodiffSettings",
    "AutomaticLossScalingSettings",
    "BatchSerializationSettings",
    "ExecutionPhaseSettings",
    "ExperimentalSettings",
    "NumIOTiles",
    "ReplicatedCollectivesSettings",
    "SessionOptions",
]
