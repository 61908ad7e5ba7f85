"""Graphs on several IPUs as the chip model sees them: as it sees the same network in PopTorch."""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack
from typing import Any

import numpy as np
import pytest
import torch

import popart
import poptorch
from tremula.estimate.estimate import Estimate
from tremula.frontends.onnx.model import OnnxModel
from tremula.frontends.onnx.placing import pipeline_stages
from tremula.program.op import Phase
from tremula.schedule.recompute import recomputation

BATCH, WIDTH, STEPS, ACCUMULATION = 4, 64, 2, 4


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(WIDTH, 2 * WIDTH, bias=False)
        self.second = torch.nn.Linear(2 * WIDTH, WIDTH, bias=False)

    def forward(self, data: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        with poptorch.Block("first", ipu_id=0):
            hidden = torch.relu(self.first(data))
        with poptorch.Block("second", ipu_id=1):
            loss = (torch.relu(self.second(hidden)) - target).abs().sum()
            return poptorch.identity_loss(loss, reduction="none")


def in_poptorch(*, pipelined: bool, replicas: int) -> Any:
    """What the chip model says of `Net`."""
    options = poptorch.Options().deviceIterations(STEPS).replicationFactor(replicas)
    options.Training.gradientAccumulation(ACCUMULATION)
    options.Training.accumulationAndReplicationReductionType(poptorch.ReductionType.Sum)
    strategy = poptorch.PipelinedExecution if pipelined else poptorch.ShardedExecution
    options.setExecutionStrategy(strategy(poptorch.AutoStage.SameAsIpu))
    net = Net().train()
    optimizer = poptorch.optim.SGD(net.parameters(), lr=0.1, use_combined_accum=False)
    training = poptorch.trainingModel(net, options, optimizer)
    data = torch.ones(BATCH * STEPS * ACCUMULATION * replicas, WIDTH)
    training.compile(data, data)
    return training._modelled


def at(builder: popart.Builder, number: int, *, staged: bool) -> AbstractContextManager[Any]:
    """What is added inside is on IPU `number`, and in the stage of that number."""
    places = ExitStack()
    places.enter_context(builder.virtualGraph(number))
    if staged:
        places.enter_context(builder.pipelineStage(number))
    return places


def session_options(*, pipelined: bool = False, accumulation: int = ACCUMULATION) -> popart.SessionOptions:
    options = popart.SessionOptions()
    options.virtualGraphMode = popart.VirtualGraphMode.Manual
    options.enablePipelining = pipelined
    options.enableGradientAccumulation = accumulation > 1
    options.accumulationFactor = accumulation
    options.instrumentWithHardwareCycleCounter = True
    return options


def in_popart(
    options: popart.SessionOptions,
    *,
    staged: bool = True,
    anchor: str = "Final",
    marks: tuple[popart.RecomputeType, ...] = (),
) -> popart.TrainingSession:
    """A session of the same network; `marks` are of the ops on the first IPU."""
    builder = popart.Builder()
    data, target = (builder.addInputTensor(popart.TensorInfo("FLOAT", [BATCH, WIDTH])) for _ in range(2))
    first = builder.addInitializedInputTensor(np.ones((WIDTH, 2 * WIDTH), np.float32))
    second = builder.addInitializedInputTensor(np.ones((2 * WIDTH, WIDTH), np.float32))
    ops = builder.aiOnnx
    with at(builder, 0, staged=staged):
        product = ops.matmul([data, first])
        hidden = ops.relu([product])
    for name, mark in zip((product, hidden), marks, strict=False):
        builder.recomputeOutputInBackwardPass(name, mark)
    with at(builder, 1, staged=staged):
        result = ops.relu([ops.matmul([hidden, second])])
        loss = ops.reducesum([ops.abs([ops.sub([result, target])])], keepdims=0)
        loss = builder.aiGraphcore.identityloss([loss], popart.ReductionType.NoReduction)
    replicas = options.replicatedGraphCount if options.enableReplicatedGraphs else 1
    session = popart.TrainingSession(
        builder.getModelProto(),
        popart.DataFlow(STEPS, {loss: popart.AnchorReturnType(anchor)}),
        loss,
        popart.SGD({"defaultLearningRate": (0.1, False), "defaultWeightDecay": (0.0, True)}),
        popart.DeviceManager().createIpuModelDevice({"numIPUs": 2 * replicas}),
        userOptions=options,
    )
    session.prepareDevice()
    session.weightsFromHost()
    shape = [count for count in (STEPS, options.accumulationFactor, replicas) if count > 1]
    rows = np.ones((*shape, BATCH, WIDTH), np.float32)
    session.run(popart.PyStepIO({data: rows, target: rows}, session.initAnchorArrays()))
    return session


def bytes_by_ipu(found: Estimate) -> list[int]:
    return [each.total_bytes for each in found.memory.ipus]


@pytest.mark.parametrize(
    ("pipelined", "replicas"), [(True, 1), (False, 1), (True, 2)], ids=["pipeline", "sharded", "replicas"]
)
def test_figures_are_those_of_the_same_network_in_poptorch(pipelined: bool, replicas: int) -> None:
    wanted = in_poptorch(pipelined=pipelined, replicas=replicas)
    options = session_options(pipelined=pipelined)
    if pipelined:
        options.autoRecomputation = popart.RecomputationType.Pipeline
    options.enableReplicatedGraphs = replicas > 1
    options.replicatedGraphCount = replicas
    session = in_popart(options)
    assert session.getCycleCount() == pytest.approx(wanted.cycles_per_call(), rel=0.05)
    found = session._chip().estimate
    assert bytes_by_ipu(found) == pytest.approx(bytes_by_ipu(wanted.estimate), rel=0.05)
    assert session.getReport().compilation.target.numIPUs == 2 * replicas
    assert found.program.loops == wanted.estimate.program.loops


def test_what_anchors_return_counts() -> None:
    anchors = {"All": 1.0, "Final": 1.0 / (STEPS * ACCUMULATION), "Sum": 1.0 / (STEPS * ACCUMULATION)}
    found = {
        mode: in_popart(session_options(), anchor=mode)._chip()._deployment.returned_share for mode in anchors
    }
    assert found == anchors


def test_stages_follow_from_ipus_and_backward_ops_belong_to_their_node() -> None:
    program = in_popart(session_options(pipelined=True), staged=False)._chip().estimate.program
    assert {(op.ipu, op.stage) for op in program.ops if op.phase is Phase.FORWARD} == {(0, 0), (1, 1)}
    assert {(op.ipu, op.stage) for op in program.ops if op.phase is Phase.BACKWARD} == {(1, 1), (0, 2)}


def test_nodes_of_subgraphs_have_places_of_their_own() -> None:
    builder = popart.Builder()
    info = popart.TensorInfo("FLOAT", [4])
    data = builder.addInputTensor(info)
    inner = builder.createSubgraphBuilder()
    given = inner.addInputTensor(info)
    with inner.virtualGraph(0):
        first = inner.aiOnnx.sin([given])
    with inner.virtualGraph(1):
        inner.addOutputTensor(inner.aiOnnx.cos([first]))
    with builder.virtualGraph(0):
        (out,) = builder.aiGraphcore.call([data], 1, callee=inner)
        out = builder.aiOnnx.abs([out])
    session = popart.InferenceSession(
        builder.getModelProto(),
        popart.DataFlow(1, [out]),
        popart.DeviceManager().createIpuModelDevice({"numIPUs": 2}),
        userOptions=session_options(accumulation=1),
    )
    session.prepareDevice()
    program = session._chip().estimate.program
    where = {op.kind: op.ipu for op in program.ops}
    assert {name: where[f"aten::{name}"] for name in ("sin", "cos", "abs")} == {"sin": 0, "cos": 1, "abs": 0}


def test_marks_decide_what_runs_again() -> None:
    kept, again = popart.RecomputeType.Checkpoint, popart.RecomputeType.Recompute
    options = session_options(pipelined=True)
    marked = in_popart(options, marks=(again, again))._chip()
    plain = in_popart(options)._chip()

    def kinds(run: Any) -> list[str]:
        estimate = run.estimate
        found = recomputation(estimate.program, run._deployment)
        return [estimate.program.ops[number].kind for number in found.again]

    assert kinds(plain) == []
    assert [kind for kind in kinds(marked) if "detach" not in kind] == ["aten::mm", "aten::relu"]
    options.autoRecomputation = popart.RecomputationType.Pipeline
    assert "aten::mm" not in kinds(in_popart(options, marks=(kept,))._chip())
    with pytest.raises(popart.popart_exception, match="mixture of auto and manual recomputation"):
        in_popart(options, marks=(again,))


def test_figures_are_there_when_a_session_is_compiled_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREMULA_CHIP_MODEL", "compile")
    known = in_popart(session_options(pipelined=True))._chip().known
    assert known is not None
    assert "pipeline: 3 stages" in known.summary()


def test_stages_that_follow_each_other_on_one_ipu_are_one() -> None:
    builder = popart.Builder()
    data = builder.addInputTensor(popart.TensorInfo("FLOAT", [4]))
    for stage, ipu in enumerate((0, 0, 1, 0)):
        with builder.virtualGraph(ipu), builder.pipelineStage(stage):
            data = builder.aiOnnx.sin([data])
    nodes = OnnxModel.load(builder.getModelProto()).graph.nodes
    assert list(pipeline_stages(nodes).values()) == [0, 0, 1, 2]


def test_places_do_not_count_without_a_mode() -> None:
    options = session_options()
    options.virtualGraphMode = popart.VirtualGraphMode.Off
    assert {op.ipu for op in in_popart(options)._chip().estimate.program.ops} == {0}


def test_execution_phases_have_no_figures() -> None:
    options = session_options()
    options.virtualGraphMode = popart.VirtualGraphMode.ExecutionPhases
    with pytest.raises(popart.popart_exception, match="does not follow"):
        in_popart(options).getCycleCount()
