"""The captured program: what every op carries, what the verifier refuses, how things are named."""

import pytest
import torch

import poptorch
from tremula.frontends.torch.graphs.listing import ops
from tremula.frontends.torch.graphs.program import RECORD, record_of
from tremula.frontends.torch.graphs.verify import InvalidProgram, verify
from tremula.program.op import Phase


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(4, 8)
        self.norm = torch.nn.BatchNorm1d(8)
        self.last = torch.nn.Linear(8, 2)

    def forward(self, x, y):
        with poptorch.Block("a", ipu_id=0):
            x = torch.relu(self.norm(self.first(x)))
        with poptorch.Block("b", ipu_id=1):
            x = self.last(x)
            return x, torch.nn.functional.cross_entropy(x, y)


@pytest.fixture(scope="module")
def session():
    options = poptorch.Options()
    options.Training.gradientAccumulation(4)
    network = Network()
    model = poptorch.trainingModel(network, options, poptorch.optim.Adam(network.parameters(), lr=0.1))
    model.compile(torch.randn(8, 4), torch.zeros(8, dtype=torch.long))
    yield model._session
    model.destroy()


def test_the_program_holds_the_whole_training_step(session):
    phases = {record_of(node).phase for node in session.program.nodes()}
    assert phases == set(Phase)


def test_every_op_has_shapes_a_phase_and_the_users_line(session):
    for node in session.program.step.graph.nodes:
        if node.op != "call_function":
            continue
        record = record_of(node)
        assert "val" in node.meta
        if record.phase is Phase.FORWARD:
            assert record.source is not None
            assert record.source.file == __file__


def test_backward_ops_are_placed_with_the_forward_ops_they_differentiate(session):
    by_phase: dict[Phase, set[int]] = {}
    for node in session.program.step.graph.nodes:
        if node.op == "call_function":
            record = record_of(node)
            by_phase.setdefault(record.phase, set()).add(record.annotation.placement.ipu)
    assert by_phase[Phase.FORWARD] == by_phase[Phase.BACKWARD] == {0, 1}


def test_the_listing_gives_every_op_with_its_tensors(session):
    listed = list(ops(session.program))
    products = [op for op in listed if op.target in ("aten::mm", "aten::addmm")]
    assert [op.phase for op in products].count(Phase.FORWARD) == 2
    first = products[0]
    assert first.outputs[0].shape == (2, 8)
    assert first.outputs[0].size_bytes == 2 * 8 * 4
    assert first.scope == ("first",)
    assert first.placement.block == "a"
    known = {tensor.name for op in listed for tensor in op.outputs}
    placeholders = {
        node.name
        for graph in session.program.graphs()
        for node in graph.graph.nodes
        if node.op == "placeholder"
    }
    assert all(name in known | placeholders for op in listed for name in op.inputs)


def test_ops_are_named_by_module_path(session):
    names = session.tensor_names()
    assert "first/MatMul:0" in names
    assert "last/MatMul:0" in names
    assert "Gradient___last.weight" in names
    assert "UpdatedVar___first.bias" in names
    assert len(names) == len(set(names))


def test_statistics_are_known_to_be_written(session):
    assert session.program.mutated_buffers >= {"norm.running_mean", "norm.running_var"}
    assert not session.program.mutated_inputs


def test_the_verifier_accepts_the_program_and_refuses_a_broken_one(session):
    program = session.program
    verify(program)
    node = next(n for n in program.step.graph.nodes if n.op == "call_function")
    record = node.meta.pop(RECORD)
    with pytest.raises(InvalidProgram, match=f"{node.name}.*no record"):
        verify(program)
    node.meta[RECORD] = record
    verify(program)


def test_results_keep_their_numbers_when_one_is_not_wanted() -> None:
    """A convolution of the model's inputs has no gradient for them; its other gradients stay where they were."""
    network = _Loss(torch.nn.Conv2d(1, 2, 3))
    model = poptorch.trainingModel(network, optimizer=torch.optim.SGD(network.parameters(), lr=0.1))
    model.compile(torch.zeros(1, 1, 8, 8))
    found = {op.target: op for op in ops(model._session.program)}
    gradient = found["aten::convolution_backward"]
    assert [output.name.partition(":")[2] for output in gradient.outputs] == ["1", "2"]


class _Loss(torch.nn.Module):
    def __init__(self, inner: torch.nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return poptorch.identity_loss(self.inner(x), reduction="sum")
