"""What a wrapped model takes and returns: nesting, optional arguments, layouts, writes to inputs, hooks."""

from typing import NamedTuple

import pytest
import torch

import poptorch


class Pair(NamedTuple):
    left: torch.Tensor
    right: torch.Tensor


class Function(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args, **kwargs):
        return self.function(*args, **kwargs)


def run(function, *args, **kwargs):
    return poptorch.inferenceModel(Function(function))(*args, **kwargs)


A, B = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])


def test_nested_arguments_and_results_keep_their_structure():
    result = run(
        lambda x: {"sum": x["a"] + x["b"][0], "pair": Pair(x["a"], x["b"][0] * 2)}, {"a": A, "b": [B]}
    )
    assert torch.equal(result["sum"], A + B)
    assert isinstance(result["pair"], Pair)
    assert torch.equal(result["pair"].right, B * 2)


def test_results_that_are_not_tensors_come_back_as_they_were():
    out, text, nothing = run(lambda x: (x + 1, "label", None), A)
    assert torch.equal(out, A + 1)
    assert (text, nothing) == ("label", None)


def test_optional_and_named_arguments():
    class Optional(torch.nn.Module):
        def forward(self, x, scale=2.0, bias=None):
            return x * scale if bias is None else x * scale + bias

    assert torch.equal(poptorch.inferenceModel(Optional())(A), A * 2)
    assert torch.equal(poptorch.inferenceModel(Optional())(A, bias=B), A * 2 + B)
    assert torch.equal(poptorch.inferenceModel(Optional())(A, 3.0), A * 3)


def test_python_values_are_part_of_the_program():
    model = poptorch.inferenceModel(Function(lambda x, n: x * n))
    assert torch.equal(model(A, 2), A * 2)
    with pytest.raises(poptorch.Error, match="Value mismatch"):
        model(A, 3)


def test_inputs_that_are_not_contiguous():
    wide = torch.arange(12.0).reshape(3, 4)
    assert torch.equal(run(lambda x: x + 1, wide.t()), wide.t() + 1)


def test_writes_to_inputs_come_back_to_the_caller():
    given = torch.tensor([1, 2, 3])  # int64: the device sees a narrowed copy

    def add_one(x):
        x += 1

    assert run(add_one, given) is None
    assert given.tolist() == [2, 3, 4]


def test_results_written_with_out_come_back_to_the_caller():
    given = torch.zeros(2, dtype=torch.int64)
    edges = torch.tensor([0.5, 1.5, 2.5])
    result = run(lambda x, edges, out: torch.bucketize(x, edges, out=out), A, edges, given)
    assert given.tolist() == result.tolist() == [1, 2]


def test_every_micro_batch_writes_to_its_part_of_an_input():
    given = torch.zeros(4, 1)
    options = poptorch.Options().deviceIterations(4)
    model = poptorch.inferenceModel(Function(lambda x: x.add_(1.0).sum()), options)
    model(given)
    assert given.flatten().tolist() == [1.0] * 4


def test_python_side_effects_happen_once_at_compilation():
    calls = []
    model = poptorch.inferenceModel(Function(lambda x: (calls.append(1), x * 2)[1]))
    for _ in range(3):
        model(A)
    assert calls == [1]


def test_forward_hooks_of_the_model_run():
    layer = torch.nn.Linear(2, 2)
    layer.register_forward_hook(lambda module, inputs, output: output * 10)
    torch.testing.assert_close(poptorch.inferenceModel(layer)(A), layer(A).detach())


def test_outputs_do_not_share_memory_with_the_device():
    class Counter(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.zeros(1))

        def forward(self):
            self.count += 1
            return self.count

    model = poptorch.inferenceModel(Counter())
    first, second = model(), model()
    assert (first.item(), second.item()) == (1.0, 2.0)


def test_running_on_ipu_only_inside_forward():
    seen = []
    run(lambda x: (seen.append(poptorch.isRunningOnIpu()), x)[1] + 1, A)
    assert seen == [True]
    assert not poptorch.isRunningOnIpu()
