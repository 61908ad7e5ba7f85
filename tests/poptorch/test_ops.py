"""poptorch.ops outside of a capture, and its argument checks."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from poptorch import enums, ops
from poptorch._utils import accessAttributes, combined_batch_generator
from tremula.errors import Error

X = torch.arange(4.0)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: ops.nop(1), Error, "nop"),
        (lambda: ops.ipu_print_tensor([X]), Error, "ipu_print_tensor"),
        (lambda: ops.ipu_print_tensor(X, float_format="hex"), KeyError, "auto, fixed"),
        (lambda: ops.set_available_memory("x", 0.5), Error, "set_available_memory"),
        (lambda: ops.set_overlap_for_input(3, enums.OverlapMode.NoOverlap), Error, "only tensors"),
        (lambda: ops.recomputationCheckpoint(X, 1), ValueError, "tensors only"),
        (lambda: ops.identity_loss(X, "max"), AssertionError, "Unsupported reduction"),
        (lambda: ops.ctc_beam_search_decoder(1, X), Error, "probs"),
        (lambda: ops.ctc_beam_search_decoder(X, [1]), Error, "lengths"),
        (lambda: ops.dynamic_slice(X, 0.5, X.int()[:1], 1, 1), Error, "dim must be an integer"),
        (lambda: ops.dynamic_slice(X, 0, 1, 1, 1), Error, "start"),
        (lambda: ops.dynamic_update(X, X[None], 0, X.int()[:1], 1), Error, r"dimensionality. \(1\) vs \(2\)"),
        (lambda: ops.dynamic_update(X, X.int(), 0, X.int()[:1], 1), Error, "same dtype"),
        (lambda: ops.for_loop(1, lambda x: x, X), ValueError, "Object is not list"),
        (lambda: ops.for_loop(1, lambda x: x, [X, 5]), ValueError, "at index 1 is not torch.tensor"),
        (lambda: ops.cond(X > 0, lambda: X, X, lambda: X, []), ValueError, "Object is not list"),
        (lambda: ops.fps(1, [0, 1]), Error, "src"),
        (lambda: ops.fps(X, (0, 4)), Error, "list of integers"),
        (lambda: ops.fps(X, [0]), Error, "at least 2"),
        (lambda: ops.fps(X, [0, 4], 1), Error, "float"),
        (lambda: ops.fps(X, [0, 4], 0.5, 1), Error, "bool"),
        (lambda: ops.nearest(1, X), Error, "the x of nearest"),
        (lambda: ops.nearest(X, X, "a"), Error, "tensors or lists"),
        (lambda: ops.serializedMatMul(X, X, "none"), AssertionError, "MatMulSerializationMode"),
        (lambda: ops.NameScope(1), AssertionError, "string"),
        (lambda: ops.MultiConv().partialsTypes("half"), ValueError, "Invalid partials types"),
        (lambda: ops.MultiConv().planType("parallel"), AssertionError, "Invalid plan type"),
        (lambda: ops.MultiConv().availableMemoryProportions([]), AssertionError, "Invalid available memory"),
        (lambda: ops.MultiConv().enableConvDithering([1]), ValueError, "bool"),
        (lambda: ops.MultiConv().cycleBackOff(1), AssertionError, "float"),
        (lambda: ops.MultiConv().perConvReservedTiles(1.0), AssertionError, "integer"),
    ],
)
def test_argument_checks(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({1: 2}, "keys must be strings"),
        ({"a": None}, "an attribute is a float"),
        ({"a": [1, 2.0]}, "mixes types"),
        ({"a": "\u1f00"}, "contains non-ASCII"),
        ({"a": ["x", "\u1f00"]}, "contains non-ASCII"),
    ],
)
def test_custom_op_attributes_are_checked(attributes: dict[Any, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ops.custom_op([X], "A", "b", 1, [X], attributes)


def test_hints_return_their_operand_outside_a_capture() -> None:
    assert ops.nop(X) is X
    assert ops.ipu_print_tensor(X) is X
    assert ops.set_available_memory(X, 0.1) is X
    assert ops.recomputationCheckpoint(X) is X
    mode = enums.OverlapMode.OverlapAccumulationLoop
    marked = ops.set_overlap_for_output({"a": (X, [X])}, mode)
    assert marked["a"][0] is X
    assert marked["a"][1][0] is X


def test_checkpoints_keep_the_container() -> None:
    assert isinstance(ops.recomputationCheckpoint([X, X]), list)
    assert isinstance(ops.recomputationCheckpoint((X,)), tuple)
    assert isinstance(ops.recomputationCheckpoint(X, X), tuple)


def test_contexts_do_nothing_outside_a_capture() -> None:
    with ops.MultiConv(), ops.MultiConv(), ops.NameScope("a"), ops.Attribute(__outline={"k": "v"}):
        pass
    assert ops.Attribute._current_attrs == {}


def test_values_outside_a_capture() -> None:
    assert ops.identity_loss(X, "mean").item() == 1.5
    assert ops.serializedMatMul(X, X, enums.MatMulSerializationMode.ReducingDim, 2).item() == 14.0
    assert ops.custom_op([X], "A", "b", 1, [X])[0].tolist() == [0.0] * 4
    assert ops.CPU(lambda x: x + 1, "plus")(X).tolist() == [1.0, 2.0, 3.0, 4.0]
    assert ops.fps(X.reshape(4, 1), [0, 4]).tolist() == [0, 3]
    assert ops.nearest(X.reshape(4, 1), X.reshape(4, 1)).tolist() == [0, 1, 2, 3]


def test_cpu_freezes_a_module_and_takes_positional_arguments() -> None:
    linear = torch.nn.Linear(1, 1)
    op = ops.CPU(linear, "linear")
    assert not linear.weight.requires_grad
    with pytest.raises(Error, match="positional arguments only"):
        op(input=torch.ones(1))


def test_attributes_from_their_text() -> None:
    assert accessAttributes('{"a": [1, 2]}') == {"a": [1, 2]}
    with pytest.raises(ValueError, match="Wrong type"):
        accessAttributes(5)
    with pytest.raises(ValueError, match="Invalid"):
        accessAttributes("attr:0x10")


def test_combined_batches() -> None:
    batches = [{"x": torch.full((2,), float(n))} for n in range(5)]
    combined = [batch["x"].tolist() for batch in combined_batch_generator(batches, 2)]
    assert combined == [[0, 0, 1, 1], [2, 2, 3, 3]]
    kept = [batch["x"].tolist() for batch in combined_batch_generator(batches, 2, drop_last=False)]
    assert kept[-1] == [4, 4]
