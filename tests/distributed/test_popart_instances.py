"""PopART sessions in several instances train what one instance with all replicas does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from .poprun_program import poprun

#: accumulation, a batch norm's statistics, clipped gradients, weights that differ between groups of replicas
_TRAINING = """
import popart
import popdist.popart

total, local, first = popdist.getNumTotalReplicas(), popdist.getNumLocalReplicas(), popdist.getReplicaIndexOffset()
random = np.random.RandomState(7)
options = popart.SessionOptions()
popdist.popart.configureSessionOptions(options)
options.enableGradientAccumulation, options.accumulationFactor = True, 2
options.accumulationAndReplicationReductionType = popart.ReductionType.Mean
strategy = popart.MeanReductionStrategy
options.meanAccumulationAndReplicationReductionStrategy = strategy.Running if {running} else strategy.Post

builder = popart.Builder()
x = builder.addInputTensor("FLOAT", [4, 6])
w = builder.addInitializedInputTensor(random.rand(6, 5).astype(np.float32), "w")
pairs = popart.VariableSettings(popart.CommGroup(popart.CommGroupType.Orthogonal, 2))
bias = builder.addInitializedInputTensor(random.rand(2, 5).astype(np.float32), pairs, "bias")
norm = [
    builder.addInitializedInputTensor(np.full(5, value, np.float32), name)
    for name, value in (("scale", 1), ("shift", 0), ("mean", 0), ("var", 1))
]
y = builder.aiOnnx.unsqueeze([builder.aiOnnx.matmul([x, w])], [2])
y = builder.aiOnnx.squeeze([builder.aiOnnx.batchnormalization([y, *norm], 5)[0]], [2])
y = builder.aiOnnx.add([y, bias])
loss = builder.aiGraphcore.l1loss([y], 0.3)
optimizer = popart.Adam(
    {{"defaultLearningRate": (0.05, False)}},
    clip_norm_settings=[popart.ClipNormSettings.clipAllWeights(0.5)],
)
session = popart.TrainingSession(
    builder.getModelProto(),
    popart.DataFlow(3, {{loss: popart.AnchorReturnType("All")}}),
    loss,
    optimizer,
    popart.DeviceManager().createIpuModelDevice({{"numIPUs": local}}),
    userOptions=options,
)
session.prepareDevice()
session.weightsFromHost()
anchors = session.initAnchorArrays()
data = random.rand(2, 3, 2, total, 4, 6).astype(np.float32) - 0.5
for each in data[:, :, :, first : first + local]:
    session.run(popart.PyStepIO({{x: np.ascontiguousarray(each)}}, anchors))
session.weightsToHost()
held = {{name: np.zeros(shape, np.float32) for name, shape in
        {{w: (6, 5), bias: (2, 5), "scale": 5, "mean": 5, "var": 5}}.items()}}
session.readWeights(popart.PyWeightsIO(held))
leave(loss=anchors[loss].reshape(3, 2, local), **held)
"""


@pytest.mark.parametrize("running", [False, True])
def test_training_is_that_of_one_instance(tmp_path: Path, running: bool) -> None:
    program = _TRAINING.format(running=running)
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
    (alone,) = poprun(folders[0], program, 1, 4)
    found = poprun(folders[1], program, 2, 4)
    for name, value in alone.items():
        if name == "loss":
            whole = np.concatenate([each[name] for each in found], 2)
            np.testing.assert_allclose(whole, value, rtol=1e-4, err_msg=name)
            continue
        np.testing.assert_array_equal(found[0][name], found[1][name], err_msg=name)
        np.testing.assert_allclose(found[0][name], value, rtol=1e-4, atol=1e-5, err_msg=name)
    assert not np.allclose(alone["bias"][0], alone["bias"][1])


_COLLECTIVES = """
import popart
import popdist.popart

local, first = popdist.getNumLocalReplicas(), popdist.getReplicaIndexOffset()
options = popart.SessionOptions()
popdist.popart.configureSessionOptions(options)
builder = popart.Builder()
x = builder.addInputTensor("FLOAT", [3])
w = builder.addInitializedInputTensor(np.full(3, 1 + first, np.float32), "w")
y = builder.aiOnnx.mul([x, w])
group = popart.CommGroup(popart.CommGroupType.Orthogonal, 2)
every = builder.aiGraphcore.replicatedallreduce([y])
across = builder.aiGraphcore.replicatedallreduce([y], commGroup=group)
session = popart.InferenceSession(
    builder.getModelProto(),
    popart.DataFlow(1, {every: popart.AnchorReturnType("All"), across: popart.AnchorReturnType("All")}),
    popart.DeviceManager().createIpuModelDevice({"numIPUs": local}),
    userOptions=options,
)
if {broadcast}:
    session.broadcastWeights(1)
session.prepareDevice()
anchors = session.initAnchorArrays()
data = np.arange(12, dtype=np.float32).reshape(4, 3)[first : first + local]
session.run(popart.PyStepIO({x: np.ascontiguousarray(data)}, anchors))
leave(every=anchors[every], across=anchors[across])
"""


@pytest.mark.parametrize("broadcast", [True, False])
def test_collectives_reach_over_instances_and_weights_can_be_broadcast(
    tmp_path: Path, broadcast: bool
) -> None:
    data = np.arange(12, dtype=np.float32).reshape(4, 3)
    # the weights of instance 1 are 3, and those of instance 0 are 1
    data *= 3 if broadcast else np.array([[1], [1], [3], [3]])
    for each in poprun(tmp_path, _COLLECTIVES.replace("{broadcast}", str(broadcast)), 2, 4):
        np.testing.assert_allclose(each["every"], [data.sum(0)] * 2)
        np.testing.assert_allclose(each["across"], [data[0] + data[2], data[1] + data[3]])
    warned = "differ between instance 0 and instance 1: w." in (tmp_path / "output.txt").read_text()
    assert warned != broadcast
