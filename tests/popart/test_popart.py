"""What PopTorch programs use of PopART: enumerations and the version; everything else says that it is not there."""

from __future__ import annotations

import importlib
import pickle
import subprocess
import sys

import pytest
import torch

import popart
import poptorch
from tremula.settings import popart_options

#: options that take a number of an enumeration -> that enumeration
OPTION_ENUMS = {
    "accumulateOuterFragmentSettings.schedule": popart.AccumulateOuterFragmentSchedule,
    "accumulationAndReplicationReductionType": popart.ReductionType,
    "autoRecomputation": popart.RecomputationType,
    "autodiffSettings.stitchStrategy": popart.AutodiffStitchStrategy,
    "automaticLossScalingSettings.gradientTensorTrackingMethod": popart.GradientTensorTrackingMethod,
    "batchSerializationSettings.batchSchedule": popart.BatchSerializationBatchSchedule,
    "batchSerializationSettings.method": popart.BatchSerializationMethod,
    "batchSerializationSettings.transformContext": popart.BatchSerializationTransformContext,
    "connection_type": popart.DeviceConnectionType,
    "mergeVarUpdate": popart.MergeVarUpdateType,
    "subgraphCopyingStrategy": popart.SubgraphCopyingStrategy,
    "sync_pattern": popart.SyncPattern,
    "syntheticDataMode": popart.SyntheticDataMode,
    "virtualGraphMode": popart.VirtualGraphMode,
}

#: members whose values do not follow the order in which the documentation lists them
VALUES = {
    "AccumulateOuterFragmentSchedule.OverlapMemoryOptimized": 3,
    "AdamMode.AdaMax": 2,
    "AdamMode.Lamb": 3,
    "CommGroupType.Ungrouped": 3,
    "DataType.FLOAT": 11,
    "DataType.FLOAT8_143": 2,
    "GradientTensorTrackingMethod.ConvAndMatmulGradients": 1,
    "MergeVarUpdateType.AutoTight": 3,
    "PatternsLevel.All": 3,
    "RecomputationType.NoRecompute": 0,
    "RecomputationType.Pipeline": 3,
    "RecomputationType.RecomputeAll": 4,
    "ReductionType.Mean": 1,
    "ReplicatedStreamMode.Replicate": 1,
    "SubgraphCopyingStrategy.JustInTime": 1,
    "SyntheticDataMode.RandomNormal": 2,
    "TensorStorage.OffChip": 1,
    "VariableRetrievalMode.AllReplicas": 2,
}


@pytest.mark.parametrize(("member", "value"), VALUES.items())
def test_members_have_the_public_values(member: str, value: int) -> None:
    enumeration, _, name = member.partition(".")
    found = getattr(getattr(popart, enumeration), name)
    assert (int(found), found.value, found.name) == (value, value, name)


def test_members_behave_as_those_of_a_compiled_module() -> None:
    mode = popart.SyntheticDataMode.RandomNormal
    assert mode == popart.SyntheticDataMode(2)
    assert mode != 2
    assert popart.ReductionType.Sum != popart.ScatterReduction.Sum
    assert list(popart.ReductionType.__members__) == ["Sum", "Mean", "NoReduction"]
    assert popart.BatchSerializationTransformContext.Fwd is popart.BatchSerializationTransformContext.Forward
    assert [10, 20, 30][mode] == 30
    assert pickle.loads(pickle.dumps(mode)) is mode  # noqa: S301 - our own bytes
    assert f"{mode} {popart.DeviceType.IpuModel} {popart.SyncPattern.Full}" == (
        "SyntheticDataMode.RandomNormal ipu-model full"
    )


@pytest.mark.parametrize("option", OPTION_ENUMS)
def test_options_take_exactly_the_values_of_their_enumeration(option: str) -> None:
    values = [int(member) for member in OPTION_ENUMS[option]]
    known = popart_options.known(option)
    assert known is not None
    assert known.size == max(values) + 1
    for value in values:
        popart_options.validate({option: value})


def test_a_program_sets_options_by_enumeration() -> None:
    options = poptorch.Options()
    options._Popart.set("subgraphCopyingStrategy", int(popart.SubgraphCopyingStrategy.JustInTime))
    options._Popart.set("autoRecomputation", int(popart.RecomputationType.RecomputeAll))
    options._Popart.set(
        "accumulateOuterFragmentSettings.schedule",
        int(popart.AccumulateOuterFragmentSchedule.OverlapMemoryOptimized),
    )
    options.showCompilationProgressBar(False)
    model = poptorch.inferenceModel(torch.nn.Linear(2, 2), options)
    assert model(torch.ones(1, 2)).shape == (1, 2)


def test_the_version_is_that_of_the_stack_and_names_tremula() -> None:
    assert popart.__version__ == poptorch.__version__
    assert popart.versionString().startswith(f"{popart.__version__} (Tremula ")
    assert ".".join(map(str, popart.versionNumber())) == popart.__version__


def test_unknown_names_say_so_and_the_bindings_are_not_there_yet() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'NoSuchThing'"):
        popart.NoSuchThing
    with pytest.raises(ImportError, match="_internal is not there yet"):
        importlib.import_module("popart._internal.ir")


def test_importing_it_loads_no_framework() -> None:
    script = (
        "import popart, sys; print(*(name for name in ('torch', 'numpy', 'onnx') if name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
