"""Wrapped models give the numbers of plain PyTorch: options x batch sizes x dtypes x output modes.

The reference is a direct computation: a loop over micro-batches with torch's autograd and optimizers.
"""

import copy

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import poptorch


@pytest.fixture(autouse=True, scope="module")
def any_number_of_ipus():
    """An IPU model: hardware hands out powers of two, and three replicas have to be right as well."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TREMULA_VIRTUAL_IPUS", "0")
        yield


PROFILE = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])


class Network(torch.nn.Module):
    def __init__(self, features=3):
        super().__init__()
        self.inner = torch.nn.Sequential(torch.nn.Linear(features, 5), torch.nn.Tanh(), torch.nn.Linear(5, 2))

    def forward(self, x, y=None):
        out = self.inner(x)
        if y is None:
            return out
        return out, torch.nn.functional.mse_loss(out, y)


def options_for(iterations, accumulation, replicas, mode, reduction):
    options = poptorch.Options().deviceIterations(iterations).replicationFactor(replicas).outputMode(mode)
    options.Training.gradientAccumulation(accumulation)
    options.Training.accumulationAndReplicationReductionType(reduction)
    options.showCompilationProgressBar(False)
    return options


def train_directly(model, optimizer, xs, ys, iterations, micro_batches, reduction):
    """`iterations` updates of `micro_batches` each; returns all outputs and losses in order."""
    outputs, losses = [], []
    xs, ys = xs.chunk(iterations * micro_batches), ys.chunk(iterations * micro_batches)
    for iteration in range(iterations):
        optimizer.zero_grad()
        for micro in range(micro_batches):
            index = iteration * micro_batches + micro
            out, loss = model(xs[index], ys[index])
            scale = micro_batches if reduction == poptorch.ReductionType.Mean else 1
            (loss / scale).backward()
            outputs.append(out.detach())
            losses.append(loss.detach())
        optimizer.step()
    return outputs, losses


@PROFILE
@given(
    iterations=st.integers(1, 3),
    accumulation=st.integers(1, 3),
    replicas=st.integers(1, 3),
    micro_batch=st.integers(1, 3),
    mode=st.sampled_from([poptorch.OutputMode.All, poptorch.OutputMode.Final, poptorch.OutputMode.Sum]),
    reduction=st.sampled_from([poptorch.ReductionType.Mean, poptorch.ReductionType.Sum]),
    kind=st.sampled_from(["SGD", "Adam", "AdamW", "RMSprop"]),
    seed=st.integers(0, 1000),
)
def test_training_equals_a_direct_loop(
    iterations, accumulation, replicas, micro_batch, mode, reduction, kind, seed
):
    torch.manual_seed(seed)
    model = Network()
    reference = copy.deepcopy(model)
    turns = accumulation * replicas
    x = torch.randn(iterations * turns * micro_batch, 3)
    y = torch.randn(iterations * turns * micro_batch, 2)
    options = options_for(iterations, accumulation, replicas, mode, reduction)
    wrapped = poptorch.trainingModel(
        model, options, getattr(poptorch.optim, kind)(model.parameters(), lr=0.01)
    )
    optimizer = getattr(torch.optim, kind)(reference.parameters(), lr=0.01)
    for _ in range(2):
        out, loss = wrapped(x, y)
        outputs, losses = train_directly(reference, optimizer, x, y, iterations, turns, reduction)
        if mode == poptorch.OutputMode.All:
            expected_out, expected_loss = torch.cat(outputs), torch.stack(losses)
        elif mode == poptorch.OutputMode.Final:
            expected_out, expected_loss = torch.cat(outputs[-replicas:]), torch.stack(losses[-replicas:])
        else:
            expected_out = torch.cat([sum(outputs[r::replicas]) for r in range(replicas)])
            expected_loss = torch.stack([sum(losses[r::replicas]) for r in range(replicas)])
        torch.testing.assert_close(out, expected_out)
        torch.testing.assert_close(loss.reshape(-1), expected_loss)
    for name, parameter in reference.named_parameters():
        torch.testing.assert_close(
            model.get_parameter(name).detach(), parameter.detach(), rtol=1e-4, atol=1e-5
        )
    wrapped.destroy()


@PROFILE
@given(
    accumulation=st.integers(1, 4),
    replicas=st.integers(1, 4),
    micro_batch=st.integers(1, 2),
    seed=st.integers(0, 1000),
)
def test_accumulation_and_replicas_equal_one_big_batch(accumulation, replicas, micro_batch, seed):
    torch.manual_seed(seed)
    model = Network()
    reference = copy.deepcopy(model)
    count = accumulation * replicas * micro_batch
    x, y = torch.randn(count, 3), torch.randn(count, 2)
    options = options_for(1, accumulation, replicas, poptorch.OutputMode.Final, poptorch.ReductionType.Mean)
    wrapped = poptorch.trainingModel(model, options, poptorch.optim.SGD(model.parameters(), lr=0.1))
    wrapped(x, y)
    optimizer = torch.optim.SGD(reference.parameters(), lr=0.1)
    reference(x, y)[1].backward()
    optimizer.step()
    for name, parameter in reference.named_parameters():
        torch.testing.assert_close(
            model.get_parameter(name).detach(), parameter.detach(), rtol=1e-4, atol=1e-6
        )
    wrapped.destroy()


@PROFILE
@given(
    iterations=st.integers(1, 4),
    replicas=st.integers(1, 3),
    micro_batch=st.integers(1, 3),
    dtype=st.sampled_from([torch.float32, torch.float16, torch.float64]),
    seed=st.integers(0, 1000),
)
def test_inference_equals_forward_in_the_device_dtype(iterations, replicas, micro_batch, dtype, seed):
    torch.manual_seed(seed)
    model = Network().to(dtype)
    x = torch.randn(iterations * replicas * micro_batch, 3, dtype=dtype)
    options = poptorch.Options().deviceIterations(iterations).replicationFactor(replicas)
    options.showCompilationProgressBar(False)
    out = poptorch.inferenceModel(model, options)(x)
    assert out.dtype == (torch.float16 if dtype is torch.float16 else torch.float32)
    tolerance = 5e-3 if dtype is torch.float16 else 1e-5
    torch.testing.assert_close(
        out.double(), model.double()(x.double()).detach(), rtol=tolerance, atol=tolerance
    )


@pytest.mark.parametrize(
    "dtype", [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool]
)
def test_integers_are_narrowed_as_on_the_device(dtype):
    class Same(torch.nn.Module):
        def forward(self, x):
            return x.clone(), x.dtype == torch.int32

    out, seen_as_int32 = poptorch.inferenceModel(Same())(torch.ones(3, dtype=dtype))
    narrowed = torch.int32 if dtype is torch.int64 else dtype
    assert out.dtype == narrowed
    assert seen_as_int32 == (narrowed is torch.int32)
    assert out.bool().all()


def test_pipelined_numbers_equal_unpipelined_ones():
    class Staged(Network):
        def forward(self, x, y):
            with poptorch.Block("a", ipu_id=0):
                x = self.inner[1](self.inner[0](x))
            with poptorch.Block("b", ipu_id=1):
                out = self.inner[2](x)
                return out, torch.nn.functional.mse_loss(out, y)

    torch.manual_seed(0)
    plain = Network()
    staged = Staged()
    staged.load_state_dict(plain.state_dict())
    x, y = torch.randn(8, 3), torch.randn(8, 2)
    losses = []
    for model, strategy in ((plain, None), (staged, poptorch.PipelinedExecution("a", "b"))):
        options = options_for(1, 4, 1, poptorch.OutputMode.All, poptorch.ReductionType.Mean)
        if strategy is not None:
            options.setExecutionStrategy(strategy)
        training = poptorch.trainingModel(model, options, poptorch.optim.SGD(model.parameters(), lr=0.1))
        losses.append([training(x, y)[1] for _ in range(3)])
    for ours, theirs in zip(*losses, strict=True):
        torch.testing.assert_close(ours, theirs)


def test_replicas_keep_their_own_batch_statistics():
    class Normed(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = torch.nn.BatchNorm1d(1, momentum=1.0)

        def forward(self, x):
            return poptorch.identity_loss(self.norm(x), reduction="sum")

    model = Normed()
    options = poptorch.Options().replicationFactor(2)
    training = poptorch.trainingModel(model, options)
    training(torch.tensor([[0.0], [2.0], [10.0], [30.0]]))
    # the host sees the first replica's statistics, of the batch [0, 2]
    assert model.norm.running_mean.item() == 1.0


def test_dropout_differs_between_replicas_and_repeats_under_a_seed():
    def run(seed):
        options = poptorch.Options().replicationFactor(2).randomSeed(seed)
        return poptorch.inferenceModel(torch.nn.Dropout(0.5), options)(torch.ones(2, 64))

    first, again, other = run(3), run(3), run(4)
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert not torch.equal(first[0], first[1])


def test_the_hosts_random_state_is_left_alone():
    model = poptorch.inferenceModel(torch.nn.Dropout(0.5))
    model(torch.ones(8))
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    model(torch.ones(8))
    assert torch.equal(torch.rand(3), expected)
