"""The session options of an IR: PopART's, with the values that PopXL begins with."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import popart
from popart import VirtualGraphMode

from tremula import log


class _Options(SimpleNamespace):
    """The options that PopXL programs set, while `popart` has no class for them."""

    def getGlobalReplicationFactor(self) -> int:
        """Replicas of all instances."""
        return self.globalReplicationFactor if self.enableDistributedReplicatedGraphs else self.replicatedGraphCount

    def __setattr__(self, name: str, value: Any) -> None:
        if self.__dict__ and name not in self.__dict__:
            raise AttributeError(f"session options have no option {name}")
        super().__setattr__(name, value)


_DEFAULTS: dict[str, Any] = {
    "replicatedGraphCount": 1,
    "enableReplicatedGraphs": False,
    "enableDistributedReplicatedGraphs": False,
    "globalReplicationFactor": 1,
    "globalReplicaOffset": 0,
    "enableOutlining": True,
    "outlineThreshold": 1.0,
    "enablePrefetchDatastreams": True,
    "defaultBufferingDepth": 1,
    "bufferingDepthMap": {},
    "enableEngineCaching": False,
    "enableStochasticRounding": False,
    "enableFloatingPointChecks": False,
    "enableLoadAndOffloadRNGState": False,
    "cachePath": "session_cache",
    "numIOTiles": 0,
    "partialsTypeMatMuls": "",
    "engineOptions": {},
    "convolutionOptions": {},
    "matmulOptions": {},
    "reportOptions": {},
    "gclOptions": {},
    "instrumentWithHardwareCycleCounter": False,
    "dotChecks": set(),
    "logDir": "",
    "constantWeights": True,
    "throwIfLog2ScaleTensorNotInRange": True,
    "automaticLossScalingSettings": None,
    "subgraphCopyingStrategy": None,
    "kahnTieBreaker": "greedy",
    "groupHostSync": False,
    "autoRecomputation": None,
    "enableConstantFoldingOfMultipleConsumers": True,
    "_enableRngStateManagement": False,
    "ensureFp32LossScaleTensor": False,
    "enableRNGStateManagement": False,
    "dotOpNames": False,
    "firstDotOp": 0,
    "finalDotOp": 10000,
    "separateCallOpPdfs": True,
    "useLoopCandidateCreator": False,
    "enableMergeExchange": True,
    "enableSupportedDataTypeCasting": True,
    "swapLimitScheduler": 1000000000,
    "transitiveClosureOptimizationThreshold": 100000,
    "virtualGraphMode": None,
    "useHostCopyOps": False,
    "aliasZeroCopy": False,
    "enableExplicitMainLoops": False,
    "explicitRecomputation": False,
    "enableInplaceAmbiguityChecking": False,
    "enableVariablesCaching": True,
    "decomposeGradSum": False,
}
#: what PopXL sets when an IR is made
_OWN: dict[str, Any] = {
    "virtualGraphMode": VirtualGraphMode.Manual,
    "useHostCopyOps": True,
    "aliasZeroCopy": True,
    "enableExplicitMainLoops": True,
    "explicitRecomputation": True,
    "enableInplaceAmbiguityChecking": True,
    "enableVariablesCaching": False,
    "decomposeGradSum": True,
}
#: options whose effect is on memory or speed of hardware alone
_RECORDED = ("numIOTiles", "enablePrefetchDatastreams", "defaultBufferingDepth", "enableOutlining", "outlineThreshold")


def session_options() -> Any:
    """New options."""
    try:
        options = popart.SessionOptions()
    except AttributeError:
        copies = {key: value.copy() if isinstance(value, dict | set) else value for key, value in _DEFAULTS.items()}
        options = _Options(**copies)
    for name, value in _OWN.items():
        setattr(options, name, value)
    return options


def tell_effects(options: Any) -> None:
    """Say once of options that were set that they change no results."""
    for name in _RECORDED:
        if getattr(options, name, _DEFAULTS[name]) != _DEFAULTS[name]:
            log.info_once(
                f"popxl option {name}",
                f"The PopXL session option {name} changes no results: it says how hardware is used.",
            )
    if getattr(options, "enableStochasticRounding", False):
        log.no_effect("enableStochasticRounding of PopXL", "halves are rounded to the nearest value")
    if getattr(options, "enableFloatingPointChecks", False):
        log.no_effect("enableFloatingPointChecks of PopXL", "torch does not stop at invalid numbers")
