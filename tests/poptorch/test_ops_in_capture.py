"""poptorch.ops while a program is captured: what is recorded, and blocks."""

from __future__ import annotations

import copy
import pickle
import re
from collections.abc import Callable
from typing import Any

import pytest
import torch

from poptorch import _strategies as strategies
from poptorch import enums, ops
from poptorch._printing import module_repr
from poptorch._printing import print as print_module
from tremula.errors import Error
from tremula.frontends.torch.capture.context import Capture, capturing
from tremula.frontends.torch.graphs.program import Annotation

X = torch.arange(4.0)


class Seen(torch.utils._python_dispatch.TorchDispatchMode):
    """Notes the annotation in force at every op."""

    def __init__(self, capture: Capture) -> None:
        super().__init__()
        self._capture = capture
        self.ops: list[tuple[str, Annotation]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.ops.append((func.__name__.partition(".")[0], self._capture.annotation()))
        return func(*args, **(kwargs or {}))


def observe(
    model: Callable[[], Any], strategy: Any = None, training: bool = False
) -> list[tuple[str, Annotation]]:
    capture = Capture(training, (strategy or strategies.PipelinedExecution())._placement_rule())
    seen = Seen(capture)
    with capturing(capture), seen:
        model()
    return seen.ops


@pytest.mark.parametrize(
    ("call", "attributes"),
    [
        (lambda: ops.nop(X), {"kind": "nop"}),
        (lambda: ops.recomputationCheckpoint(X), {"kind": "recomputation_checkpoint"}),
        (lambda: ops.set_available_memory(X, 0.3), {"kind": "available_memory", "proportion": 0.3}),
        (
            lambda: ops.set_overlap_for_input(X, enums.OverlapMode.OverlapAccumulationLoop),
            {"kind": "overlap_input", "mode": "overlap_accumulation_loop"},
        ),
    ],
)
def test_hints_are_recorded_on_an_alias(call: Any, attributes: dict[str, Any]) -> None:
    ((name, annotation),) = observe(call)
    assert name == "alias"
    assert annotation.attributes == attributes


def test_serialised_products_carry_their_settings() -> None:
    mode = enums.MatMulSerializationMode.ReducingDim
    (_, annotation) = observe(lambda: ops.serializedMatMul(X[None], X[:, None], mode, 2))[-1]
    assert annotation.attributes["matmul_serialization"] == {
        "mode": "reducing_dim",
        "factor": 2,
        "keep_precision": False,
    }


def test_name_scopes_and_attributes_nest() -> None:
    def model() -> None:
        with ops.NameScope("a"), ops.Attribute(__outline={"x": "1"}):
            with ops.NameScope("b"), ops.Attribute(__outline={"y": "2"}):
                X.abs()
            X.neg()
        X.exp()

    inner, outer, outside = (annotation for _, annotation in observe(model))
    assert (inner.scope, outer.scope, outside.scope) == (("a", "b"), ("a",), ())
    assert inner.attributes == {"user_attributes": {"__outline": {"x": "1", "y": "2"}}}
    assert outer.attributes == {"user_attributes": {"__outline": {"x": "1"}}}
    assert outside.attributes == {}


def test_cpu_is_refused_in_training() -> None:
    cpu = ops.CPU(lambda x: x, "mine")
    with pytest.raises(Error, match="CPU mine is only supported in inference"):
        observe(lambda: cpu(X), training=True)


def ipus(model: Callable[[], Any], strategy: Any = None) -> list[tuple[int, str | None]]:
    return [(a.placement.ipu, a.placement.block) for _, a in observe(model, strategy)]


def test_blocks_as_context_start_and_decorator() -> None:
    @ops.BlockFunction(ipu_id=3)
    def last() -> None:
        X.exp()

    def model() -> None:
        X.abs()
        with ops.Block(ipu_id=1):
            X.neg()
        ops.Block.start("named", ipu_id=2)
        X.sin()
        last()

    assert last.__name__ == "last"
    assert ipus(model) == [(0, None), (1, "0"), (2, "named"), (3, "1")]


def test_auto_ids_begin_anew() -> None:
    def model() -> None:
        for _ in range(2):
            ops.Block.useAutoId()
            with ops.Block(ipu_id=0):
                X.abs()

    assert ipus(model) == [(0, "0"), (0, "0")]


def test_an_op_after_a_block_is_refused() -> None:
    def model() -> None:
        with ops.Block(ipu_id=0):
            X.abs()
        X.neg()

    with pytest.raises(Error, match="No active Block"):
        observe(model)


def test_begin_block_marks_the_module_and_all_after_it() -> None:
    layers = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.ReLU(), torch.nn.ReLU())
    assert ops.BeginBlock(layers[1], ipu_id=1) is layers[1]
    assert ipus(lambda: layers(X)) == [(0, None), (1, "0"), (1, "0")]
    # called twice in one capture, it is one block
    assert ipus(lambda: layers(layers(X)))[-2:] == [(1, "0"), (1, "0")]
    with pytest.raises(Error, match="module has already been assigned to a block"):
        ops.BeginBlock(layers[1], ipu_id=1)
    ops.removeBlocks(layers)
    assert ipus(lambda: layers(X)) == [(0, None)] * 3


def test_begin_block_takes_functions_but_nothing_else() -> None:
    block = ops.BeginBlock(torch.neg, 1, 2)
    assert (block._user_id, block._ipu_id) == (1, 2)
    assert ipus(lambda: block(X)) == [(2, "1")]
    with pytest.raises(Error, match=r"takes a torch\.nn\.Module or a function"):
        ops.BeginBlock(5)


def test_blocks_show_and_survive_copies(capsys: pytest.CaptureFixture[str]) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(1, 2), torch.nn.ReLU())
    plain = module_repr(model)
    assert plain == repr(model)
    ops.BeginBlock(model[0], user_id="in", ipu_id=1)
    pickled = pickle.dumps(model)
    for each in (model, copy.deepcopy(model), pickle.loads(pickled)):  # noqa: S301 - our own bytes
        text = module_repr(each)
        assert re.search(r"\(0\): BeginBlock\(user_id=in, ipu_id=1\) Linear\(in_features=1", text)
        assert text.count("BeginBlock") == 1
    print_module(model)
    print_module(3)
    assert capsys.readouterr().out == f"{module_repr(model)}\n3\n"
