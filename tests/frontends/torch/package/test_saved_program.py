"""A captured program in a file: it computes the same when it comes back, and tampering is found out."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tremula.errors import Error
from tremula.frontends.torch.graphs.program import record_of
from tremula.frontends.torch.optimize.spec import GroupSpec, HyperValue, Kind, OptimizerSpec
from tremula.frontends.torch.package.container import BadData
from tremula.frontends.torch.package.saved_program import decode_saved, encode_saved
from tremula.frontends.torch.restoring import restore, saved_program
from tremula.frontends.torch.session import Session
from tremula.frontends.torch.settings import SessionSettings
from tremula.frontends.torch.structure import flattenTensorStructure
from tremula.program.loops import Loops


class Net(torch.nn.Module):
    """Batch norm (written buffers), dropout (random), split (several results), a constant, tied weights."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = torch.nn.Linear(6, 6)
        self.tied = torch.nn.Linear(6, 6)
        self.tied.weight = self.fc.weight
        self.norm = torch.nn.BatchNorm1d(6)
        self.drop = torch.nn.Dropout(0.5)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
        out = self.tied(self.drop(torch.relu(self.norm(self.fc(x)))))
        left, right = out.split([2, 4], dim=1)
        loss = torch.nn.functional.mse_loss(out, y + torch.tensor([1.0, float("inf")])[0].to("ipu"))
        return {"pair": (left, right), "loss": loss}


_INPUTS = [torch.linspace(-1, 1, 24).reshape(4, 6), torch.linspace(0, 1, 24).reshape(4, 6)]


def _spec() -> OptimizerSpec:
    names = ("fc.weight", "fc.bias", "tied.bias", "norm.weight", "norm.bias")
    values = {
        "learningRate": HyperValue(0.1),
        "beta1": HyperValue(0.9, True),
        "beta2": HyperValue(0.999, True),
        "eps": HyperValue(1e-8, True),
        "weightDecay": HyperValue(0.0, True),
    }
    return OptimizerSpec(Kind.ADAM, (GroupSpec(names, values),))


def _settings(training: bool) -> SessionSettings:
    accumulation = 2 if training else 1
    return SessionSettings(training, loops=Loops(gradient_accumulation=accumulation), seed=7)


def _compiled(module: torch.nn.Module, training: bool) -> Session:
    session = Session(_settings(training), _spec() if training else None)
    session.compile(
        module, lambda values: module(*values), _INPUTS, ["input", "input/1"], flattenTensorStructure
    )
    return session


def _through_file(session: Session) -> tuple[Any, dict[str, torch.Tensor]]:
    tensors: dict[str, torch.Tensor] = {}
    return json.loads(json.dumps(encode_saved(saved_program(session), tensors), allow_nan=False)), tensors


@pytest.mark.parametrize("training", [True, False])
def test_a_restored_program_computes_the_same(training: bool) -> None:
    module = Net()
    session = _compiled(module, training)
    saved = decode_saved(*_through_file(session))
    spec = _spec() if training else None
    other = restore(_settings(training), spec, module, _INPUTS, saved)
    batch = [torch.cat([tensor, tensor + 1]) if training else tensor for tensor in _INPUTS]
    for _ in range(3):
        first, second = session.run(batch)[0], other.run(batch)[0]
        assert len(first) == len(second) == 3
        assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))
    for name, value in session.executable.read_state().items():
        assert torch.equal(value, other.executable.read_state()[name]), name


def test_names_records_and_nesting_come_back() -> None:
    session = _compiled(Net(), True)
    saved = decode_saved(*_through_file(session))
    other = restore(_settings(True), _spec(), Net(), _INPUTS, saved)
    assert other.tensor_names() == session.tensor_names()
    assert list(other.result) == ["pair", "loss"]
    assert type(other.result["pair"]) is tuple
    pairs = zip(session.program.nodes(), other.program.nodes(), strict=True)
    assert all(record_of(one) == record_of(two) for one, two in pairs)
    assert saved.program.mutated_buffers == session.program.mutated_buffers


def test_anchors_are_not_part_of_the_file_but_can_be_set_anew() -> None:
    module = Net().eval()
    plain = _compiled(module, False)
    anchored = SessionSettings(False, anchors={"norm/BatchNormalization:0": plain.settings.outputs}, seed=7)
    names = [name for name in plain.tensor_names() if name.startswith("norm/")]
    anchored = SessionSettings(False, anchors={names[0]: plain.settings.outputs}, seed=7)
    first = Session(anchored)
    first.compile(module, lambda v: module(*v), _INPUTS, ["input", "input/1"], flattenTensorStructure)
    saved = decode_saved(*_through_file(first))
    assert saved.program.interface.anchors == ()
    second = restore(anchored, None, module, _INPUTS, saved)
    assert torch.equal(first.run(_INPUTS)[1][0], second.run(_INPUTS)[1][0])


def test_the_order_of_the_optimizers_tensors_is_that_of_the_compilation() -> None:
    """All biases have one shape: a mix-up would not be noticed by shapes."""
    module = Net()
    session = _compiled(module, True)
    group = _spec().groups[0]
    turned = OptimizerSpec(Kind.ADAM, (GroupSpec(group.parameters[::-1], group.values),))
    saved = decode_saved(*_through_file(session))
    other = restore(_settings(True), turned, module, _INPUTS, saved)
    batch = [torch.cat([tensor, tensor]) for tensor in _INPUTS]
    for _ in range(3):
        session.run(batch)
        other.run(batch)
    for name, value in session.executable.read_state().items():
        assert torch.equal(value, other.executable.read_state()[name]), name


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"settings": SessionSettings(False)}, "compiled for training"),
        (
            {"settings": SessionSettings(True, loops=Loops(gradient_accumulation=3))},
            "gradient_accumulation was 2",
        ),
        ({"module": torch.nn.Linear(6, 6)}, "the parameter fc.weight is not in the model"),
        ({"inputs": _INPUTS[:1]}, "it takes 2 tensors and there are 1"),
        ({"inputs": [_INPUTS[0], _INPUTS[1].int()]}, r"input/1 was \[4, 6\] torch.float32"),
        ({"spec": OptimizerSpec(Kind.SGD, _spec().groups)}, "compiled with ADAM"),
    ],
)
def test_what_does_not_fit_is_listed(change: dict[str, Any], message: str) -> None:
    saved = decode_saved(*_through_file(_compiled(Net(), True)))
    given: dict[str, Any] = {"settings": _settings(True), "spec": _spec(), "module": Net(), "inputs": _INPUTS}
    given.update(change)
    with pytest.raises(Error, match=message):
        restore(saved=saved, **given)


_SAVED = _through_file(_compiled(Net(), True))


def _calls(data: Any) -> list[Any]:
    return [node for node in data["program"]["step"] if node["kind"] == "call"]


def _hostile() -> Iterator[Any]:
    injected = "x'); __import__('os').system('touch pwned'); ('"
    yield pytest.param(lambda d: _calls(d)[0].update(op="aten::save.default"), id="operator")
    yield pytest.param(lambda d: _calls(d)[0].update(op=injected), id="operator with code")
    yield pytest.param(
        lambda d: _calls(d)[0].update(kwargs={"dict": [[injected, 1]]}), id="keyword with code"
    )
    yield pytest.param(
        lambda d: _calls(d)[0]["args"].append({"code": injected}), id="unknown kind of argument"
    )
    yield pytest.param(lambda d: _calls(d)[0]["args"].append({"node": 10_000}), id="argument from nowhere")
    yield pytest.param(lambda d: _calls(d)[0]["result"][0].__setitem__(0, [1 << 40]), id="shape")
    yield pytest.param(lambda d: _calls(d)[0].update(record=-1), id="record")
    yield pytest.param(lambda d: d["program"]["records"][0].update(phase="later"), id="phase")
    yield pytest.param(lambda d: d["program"]["step"].pop(), id="no output")
    yield pytest.param(lambda d: d["program"]["step"].insert(5, _calls(d)[-1]), id="order")
    yield pytest.param(lambda d: d["program"].update(extra=1), id="unexpected field")
    yield pytest.param(lambda d: d["program"]["interface"]["parameters"].pop(), id="interface")
    yield pytest.param(lambda d: d["result"]["dict"].pop(), id="nesting")
    yield pytest.param(lambda d: d.update(spec=None), id="optimizer")
    yield pytest.param(lambda d: d["result"].update({"named": ["os:system", []]}), id="tuple class")


@pytest.mark.parametrize("tamper", list(_hostile()))
def test_tampering_is_refused(tamper: Any) -> None:
    data = copy.deepcopy(_SAVED[0])
    tamper(data)
    with pytest.raises(BadData):
        decode_saved(data, _SAVED[1])


def _places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        yield from _places(value, (*path, key))


_PLACES = list(_places(_SAVED[0]))[1:]
_JUNK = st.none() | st.booleans() | st.integers(-3, 100) | st.floats() | st.text() | st.just([]) | st.just({})


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=60)
@given(place=st.sampled_from(_PLACES), junk=_JUNK)
def test_any_change_is_refused_or_leaves_a_sound_program(place: tuple[Any, ...], junk: Any) -> None:
    data = copy.deepcopy(_SAVED[0])
    holder = data
    for key in place[:-1]:
        holder = holder[key]
    holder[place[-1]] = junk
    try:
        saved = decode_saved(data, _SAVED[1])
        restore(_settings(True), _spec(), Net(), _INPUTS, saved)
    except (BadData, Error):
        pass


def test_names_and_texts_of_a_file_do_not_reach_the_generated_code() -> None:
    data = copy.deepcopy(_SAVED[0])
    data["program"]["interface"]["inputs"] = ["a'); import os #", "b\nimport os"]
    data["program"]["records"][0]["scope"] = ["'''\nimport os"]
    program = decode_saved(data, _SAVED[1]).program
    assert "import os" not in program.step.code
