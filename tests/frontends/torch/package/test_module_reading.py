"""Module trees as data: restored without pickle, without constructors, and only from imported classes."""

from __future__ import annotations

import copy
import inspect
import json
import sys
from typing import Any, NoReturn

import pytest
import torch

from tremula.errors import Error
from tremula.frontends.torch.package.container import BadData
from tremula.frontends.torch.package.module_reading import ExportedModel, decode_module, find_class
from tremula.frontends.torch.package.module_writing import encode_module


class Model(torch.nn.Module):
    """Tied weights, a shared layer, plain attributes, buffers of both kinds."""

    made = 0

    def __init__(self) -> None:
        super().__init__()
        Model.made += 1
        self.embedding = torch.nn.Embedding(5, 4)
        self.head = torch.nn.Linear(4, 5, bias=False)
        self.head.weight = self.embedding.weight
        self.layers = torch.nn.ModuleList([torch.nn.Linear(4, 4), torch.nn.LayerNorm(4)])
        self.again = self.layers[0]
        self.register_buffer("scale", torch.full((), 2.0))
        self.register_buffer("temporary", torch.ones(1), persistent=False)
        self.register_parameter("nothing", None)
        self.settings = {"shape": (4, 4), "dtype": torch.float32, "limit": float("inf")}
        self.table = torch.arange(3.0)
        self.layers[0].bias.requires_grad_(False)

    def forward(self, x: torch.Tensor, factor: float = 1.0, *, flag: bool = False) -> torch.Tensor:
        hidden = self.again(self.layers[1](self.layers[0](self.embedding(x))))
        out: torch.Tensor = self.head(hidden) * self.scale * self.temporary * self.table[2] * factor
        return out


class WithCallable(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = torch.nn.Linear(2, 2)
        self.act = lambda x: x

    def forward(self, x: torch.Tensor) -> Any:
        return self.act(self.fc(x))


class Explosive(torch.nn.Module):
    """Goes off when anything of it is run."""

    def __new__(cls, *args: Any) -> NoReturn:
        raise AssertionError("__new__ was called")

    def __init__(self) -> None:
        raise AssertionError("__init__ was called")

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AssertionError("__setattr__ was called")

    def __setstate__(self, state: Any) -> NoReturn:
        raise AssertionError("__setstate__ was called")


def _no_hooks(data: Any) -> NoReturn:
    raise AssertionError("there are no hooks")


def _written(module: torch.nn.Module) -> tuple[Any, dict[str, torch.Tensor]]:
    tensors: dict[str, torch.Tensor] = {}
    data = encode_module(module, tensors)
    return json.loads(json.dumps(data)), {key: tensor.detach().clone() for key, tensor in tensors.items()}


def _through_file(module: torch.nn.Module) -> torch.nn.Module:
    return decode_module(*_written(module), decode_hook=_no_hooks)[0]


def test_a_tree_comes_back() -> None:
    model = Model().train()
    model.layers.eval()
    before = Model.made
    other = _through_file(model)
    assert type(other) is Model
    assert Model.made == before, "no constructor may run"
    assert other.head.weight is other.embedding.weight
    assert other.again is other.layers[0]
    assert other.settings == model.settings
    assert other.nothing is None
    assert [m.training for m in other.modules()] == [m.training for m in model.modules()]
    assert not other.layers[0].bias.requires_grad
    assert other.head.weight.requires_grad
    assert list(other.state_dict()) == list(model.state_dict())
    x = torch.tensor([0, 3])
    assert torch.equal(other(x), model(x))
    assert repr(other) == repr(model)


@pytest.mark.parametrize(
    "module",
    [
        torch.nn.Conv2d(2, 4, 3, padding=1),
        torch.nn.BatchNorm2d(2),
        torch.nn.Sequential(torch.nn.Conv2d(2, 3, 1), torch.nn.GELU(), torch.nn.Flatten()),
    ],
    ids=lambda module: type(module).__name__,
)
def test_layers_of_torch_come_back(module: torch.nn.Module) -> None:
    x = torch.randn(1, 2, 5, 5)
    other = _through_file(module.eval())
    assert torch.equal(other(x), module(x))


def test_recurrent_layers_come_back_with_their_lists_of_weights() -> None:
    module = torch.nn.LSTM(3, 4, num_layers=2, bidirectional=True)
    other = _through_file(module)
    x = torch.randn(2, 1, 3)
    assert torch.equal(other(x)[0], module(x)[0])
    other.weight_ih_l0.data.zero_()
    assert not torch.equal(other(x)[0], module(x)[0])


def test_functions_of_torch_as_attributes_come_back() -> None:
    module = torch.nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0).eval()
    x = torch.randn(3, 1, 4)
    assert torch.allclose(_through_file(module)(x), module(x))


def test_nothing_of_a_class_runs_when_it_is_restored() -> None:
    data, tensors = _written(torch.nn.Linear(1, 1))
    data["modules"][0]["class"] = f"{__name__}:Explosive"
    restored, _ = decode_module(data, tensors, decode_hook=_no_hooks)
    assert type(restored) is Explosive


def test_a_stand_in_has_the_state_and_says_why_it_cannot_run() -> None:
    class Local(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = Model()

        def forward(self, first: torch.Tensor, second: int = 3) -> Any:
            return self.inner(first)

    model = Local()
    other = _through_file(model)
    assert isinstance(other, ExportedModel)
    assert list(other.state_dict()) == list(model.state_dict())
    assert other.inner.head.weight is other.inner.embedding.weight
    assert inspect.signature(other.forward) == inspect.signature(model.forward).replace(
        parameters=[
            p.replace(annotation=inspect.Parameter.empty)
            for p in inspect.signature(model.forward).parameters.values()
        ],
        return_annotation=inspect.Signature.empty,
    )
    with pytest.raises(Error, match=r"Local is defined inside a function.*Import the module"):
        other(torch.tensor([1]))
    other.load_state_dict(model.state_dict())
    assert isinstance(copy.deepcopy(other), ExportedModel)


def test_attributes_that_are_not_data_make_a_stand_in() -> None:
    with pytest.raises(Error, match=r"the model\.act is a builtins\.function, which is not plain data"):
        _through_file(WithCallable())(torch.ones(1, 2))


def test_a_hook_that_cannot_be_written_down_makes_a_stand_in() -> None:
    module = torch.nn.Linear(1, 1)
    module.register_forward_hook(lambda *_: None)
    with pytest.raises(Error, match=r"a hook \(forward_hooks\) of the model"):
        _through_file(module)(torch.ones(1, 1))


def test_a_class_that_is_not_imported_is_not_looked_for() -> None:
    data, tensors = _written(torch.nn.Linear(1, 1))
    data["modules"][0]["class"] = "antigravity:Anything"
    restored, _ = decode_module(data, tensors, decode_hook=_no_hooks)
    assert "antigravity" not in sys.modules
    with pytest.raises(Error, match="antigravity:Anything is not imported in this process"):
        restored(torch.ones(1, 1))


@pytest.mark.parametrize(
    "name",
    [
        "os:system",
        "builtins:object",
        "subprocess:Popen",
        "torch:nn.Linear",  # not where it is defined
        "torch.nn:Linear",
        "torch.fx.graph_module:GraphModule",
        "torch.jit._script:RecursiveScriptModule",
        "torch.nn.modules.linear:torch",
        "torch.nn.modules.linear:Linear.forward",
        "",
        ":",
    ],
)
def test_only_layers_can_be_named(name: str) -> None:
    assert find_class(name) is None


def test_layers_are_found_where_they_are_defined() -> None:
    assert find_class("torch.nn.modules.linear:Linear") is torch.nn.Linear


def _member(name: str, value: Any) -> Any:
    return lambda data: data["modules"][0]["attributes"].update({name: value})


@pytest.mark.parametrize(
    "tamper",
    [
        _member("_forward_hooks", {"dict": []}),
        _member("__class__", "x"),
        _member("act", {"function": "system"}),
        _member("act", {"device": "cuda"}),
        _member("weights", {"tensor": "nowhere"}),
        lambda data: data["modules"][0]["children"].update(loop=0),
        lambda data: data["modules"][0]["children"].update({"a.b": 1}),
        lambda data: data["modules"][0]["parameters"].update(weight="nowhere"),
        lambda data: data["modules"][0].update(extra=1),
        lambda data: data.update(signature=[["x", "SOMEHOW"]]),
        lambda data: data.update(signature=[["not a name", "KEYWORD_ONLY"]]),
        lambda data: data.update(modules=[]),
    ],
)
def test_tampering_is_refused(tamper: Any) -> None:
    data, tensors = _written(torch.nn.Linear(1, 1))
    tamper(data)
    with pytest.raises(BadData):
        decode_module(data, tensors, decode_hook=_no_hooks)
