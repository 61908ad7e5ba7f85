"""Calls like the one before: recognised without a close look, and never mistaken for something else."""

import gc
import weakref

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import poptorch
from poptorch._args_parser import ArgsParser
from poptorch._steady_call import SteadyCall
from tremula.frontends.torch.structure import register_parser


class Difference(torch.nn.Module):
    def forward(self, x, y, scale=2.0, *, shift=None):
        out = (x - y) * scale
        return out if shift is None else out + shift


X, Y, Z = torch.tensor([5.0, 7.0]), torch.tensor([1.0, 2.0]), torch.tensor([0.5, 0.5])


def recognises(model, *args, **kwargs):
    return model._steady is not None and model._steady.recognised(args, kwargs) is not None


@given(
    st.permutations(["x", "y", "shift"]),
    st.integers(0, 2),
    st.sampled_from([None, 2.0]),
)
def test_tensors_come_in_the_order_of_the_program_however_they_are_passed(order, positional, scale):
    parser = ArgsParser(Difference())
    values = {"x": X, "y": Y, "shift": Z}
    args = (X, Y)[:positional]
    kwargs = {name: values[name] for name in order if name not in ("x", "y")[:positional]}
    if scale is not None:
        kwargs["scale"] = scale
    compiled_for = parser((X, Y), {"shift": Z})
    steady = steady_call(compiled_for)
    steady.learn(parser, args, kwargs)
    expected = parser(args, kwargs).asPackedFlatTuple(compiled_for)
    found = steady.recognised(args, kwargs)
    assert [id(tensor) for tensor in found] == [id(tensor) for tensor in expected]


def steady_call(compiled_for):
    class _Session:
        result = None

        class program:
            mutated_inputs = ()

    return SteadyCall(_Session(), compiled_for)


def test_the_same_call_again_is_recognised_and_gives_the_same():
    model = poptorch.inferenceModel(Difference())
    assert not recognises(model, X, Y)
    assert torch.equal(model(X, Y), (X - Y) * 2)
    assert recognises(model, X, Y)
    assert torch.equal(model(Y, X), (Y - X) * 2)
    assert torch.equal(model(y=X, x=Y), (Y - X) * 2)
    assert recognises(model, y=X, x=Y)
    assert not recognises(model, X, Y)
    assert torch.equal(model(X, Y), (X - Y) * 2)


def test_what_differs_is_still_refused_after_many_calls():
    model = poptorch.inferenceModel(Difference())
    for _ in range(3):
        model(X, Y, 2.0)
    with pytest.raises(poptorch.Error, match="Shape mismatch for y"):
        model(X, torch.zeros(3), 2.0)
    with pytest.raises(poptorch.Error, match="Data type mismatch for x"):
        model(X.int(), Y, 2.0)
    with pytest.raises(poptorch.Error, match="Value mismatch for scale"):
        model(X, Y, 3.0)
    with pytest.raises(poptorch.Error, match="Type mismatch for y"):
        model(X, 1.0, 2.0)
    with pytest.raises(poptorch.Error, match="mismatch"):
        model(X, Y, 2.0, shift=Z)
    with pytest.raises(AssertionError, match="Too many"):
        model(X, Y, 2.0, Z)
    assert torch.equal(model(X, Y, 2.0), (X - Y) * 2)


def test_tensors_that_need_care_take_the_long_way():
    model = poptorch.inferenceModel(Difference())
    model(X, Y)
    spread = torch.stack([X, Y], 1)[:, 0]
    trained = Y.clone().requires_grad_()
    for x, y in [(spread, Y), (X, trained), (torch.nn.Parameter(X.clone()), Y)]:
        assert not recognises(model, x, y)
        assert torch.equal(model(x, y), (X - Y) * 2)


def test_a_parser_that_is_registered_later_is_asked():
    class Parser(poptorch.ICustomArgParser):
        def yieldTensors(self, struct):
            yield struct

        def reconstruct(self, original_structure, tensor_iterator):
            return next(tensor_iterator)

    model = poptorch.inferenceModel(Difference())
    model(X, Y)
    register_parser(torch.nn.Parameter, Parser())
    try:
        assert not recognises(model, X, Y)
        assert torch.equal(model(X, Y), (X - Y) * 2)
    finally:
        register_parser(torch.nn.Parameter, None)
    assert recognises(model, X, Y)


def test_narrowed_inputs_that_are_written_come_back_on_every_call():
    class Counter(torch.nn.Module):
        def forward(self, x):
            x += 1
            return x * 2

    model = poptorch.inferenceModel(Counter())
    count = torch.zeros(2, dtype=torch.int64)
    for turn in range(1, 4):
        assert model(count).tolist() == [2 * turn, 2 * turn]
        assert count.tolist() == [turn, turn]
    assert recognises(model, count)


def test_nested_arguments_are_checked_one_by_one():
    class Nested(torch.nn.Module):
        def forward(self, pair):
            return pair[0] - pair[1]

    model = poptorch.inferenceModel(Nested())
    for _ in range(3):
        assert torch.equal(model((X, Y)), X - Y)
        assert not recognises(model, (X, Y))
    with pytest.raises(poptorch.Error, match=r"Shape mismatch for pair\[1\]"):
        model((X, torch.zeros(3)))


def test_a_detached_or_recompiled_model_is_not_run_by_mistake():
    model = poptorch.inferenceModel(Difference())
    model(X, Y)
    model.detachFromDevice()
    assert torch.equal(model(X, Y), (X - Y) * 2)
    assert model.isAttachedToDevice()
    model.destroy()
    longer = torch.ones(3)
    assert torch.equal(model(longer, longer), torch.zeros(3))
    with pytest.raises(poptorch.Error, match="Shape mismatch"):
        model(X, Y)


def test_destroy_lets_go_of_the_program():
    model = poptorch.inferenceModel(Difference())
    model(X, Y)
    session = weakref.ref(model._session)
    model.destroy()
    gc.collect()
    assert session() is None


def test_inference_follows_training_on_every_call():
    class Linear(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.tensor([1.0, 1.0]))

        def forward(self, x):
            out = x * self.weight
            return out, poptorch.identity_loss(out, "sum")

    module = Linear()
    training = poptorch.trainingModel(module, optimizer=torch.optim.SGD(module.parameters(), lr=1.0))
    inference = poptorch.inferenceModel(module)
    for turn in range(1, 4):
        training(Y)
        assert torch.equal(inference(Y)[0], Y * (1 - turn * Y))


def test_outputs_refuse_backward_on_every_call():
    model = poptorch.inferenceModel(Difference())
    for _ in range(2):
        with pytest.raises(poptorch.Error, match="backward"):
            model(X, Y).backward()
