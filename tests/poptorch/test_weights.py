"""Where the weights are, and when they travel between host and device."""

import copy
import io

import pytest
import torch

import poptorch


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 2)
        self.norm = torch.nn.BatchNorm1d(2)

    def forward(self, x, y=None):
        out = self.norm(self.layer(x))
        return out if y is None else (out, torch.nn.functional.mse_loss(out, y))


X, Y = torch.randn(4, 3), torch.randn(4, 2)


def trained(model, calls=1):
    executor = poptorch.trainingModel(model, optimizer=poptorch.optim.SGD(model.parameters(), lr=0.1))
    for _ in range(calls):
        executor(X, Y)
    return executor


def copies(executor):
    """Count the copies to the host from now on."""
    count = []
    original = executor.copyWeightsToHost
    executor.copyWeightsToHost = lambda: (count.append(1), original())
    return count


def test_training_leaves_the_host_alone_until_somebody_looks():
    model = Network()
    executor = trained(model)
    count = copies(executor)
    executor(X, Y)
    executor(X, Y)
    assert count == []
    model.state_dict()
    model.state_dict()
    assert count == [1]


@pytest.mark.parametrize(
    "look",
    [
        lambda model: model.layer.weight,
        lambda model: next(model.parameters()),
        lambda model: dict(model.named_parameters())["layer.bias"],
        lambda model: str(model.layer.weight),
        lambda model: model.norm.running_mean.clone(),
        lambda model: torch.equal(model.layer.weight, torch.zeros(2, 3)),
        lambda model: copy.deepcopy(model),
    ],
)
def test_every_way_of_looking_brings_the_weights_up_to_date(look):
    model = Network()
    executor = trained(model)
    device = executor._session.executable.read_state()["layer.weight"].clone()
    look(model)
    assert torch.equal(model.layer.weight.detach(), device)


def test_changes_on_the_host_reach_the_device_only_when_copied():
    model = Network()
    inference = poptorch.inferenceModel(model.eval())
    before = inference(X)
    with torch.no_grad():
        model.layer.bias.add_(1.0)
        model.norm.running_mean.zero_()
    assert torch.equal(inference(X), before)
    inference.copyWeightsToDevice()
    torch.testing.assert_close(inference(X), model(X).detach())


def test_inference_follows_training_of_the_same_module():
    model = Network()
    training = trained(model)
    inference = poptorch.inferenceModel(model)
    first = inference(X)
    training(X, Y)
    assert not torch.equal(inference(X), first)


def test_loading_a_checkpoint_reaches_the_device():
    model = Network()
    executor = trained(model, calls=3)
    checkpoint = {name: torch.zeros_like(value) for name, value in model.state_dict().items()}
    executor.load_state_dict(checkpoint)
    assert not executor._session.executable.read_state()["layer.weight"].any()


def test_state_and_copies_are_plain():
    model = Network()
    trained(model)
    assert all(type(value) is torch.Tensor for value in model.state_dict().values())
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    other = Network()
    other.load_state_dict(torch.load(file, weights_only=True))
    assert torch.equal(other.layer.weight, model.layer.weight)


def test_destroy_gives_the_module_back():
    model = Network()
    executor = trained(model)
    assert type(model) is not Network
    executor.destroy()
    assert type(model) is Network
    assert type(model.layer.weight) is torch.nn.Parameter
    trained(model).destroy()


def test_tied_weights_stay_tied():
    class Tied(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = torch.nn.Linear(3, 3, bias=False)
            self.second = torch.nn.Linear(3, 3, bias=False)
            self.second.weight = self.first.weight

        def forward(self, x):
            out = self.second(self.first(x))
            return poptorch.identity_loss(out**2, reduction="mean")

    model = Tied()
    reference = copy.deepcopy(model)
    executor = poptorch.trainingModel(model, optimizer=poptorch.optim.SGD(model.parameters(), lr=0.1))
    optimizer = torch.optim.SGD(reference.parameters(), lr=0.1)
    for _ in range(3):
        executor(X)
        optimizer.zero_grad()
        (reference.second(reference.first(X)) ** 2).mean().backward()
        optimizer.step()
    assert model.first.weight is model.second.weight
    torch.testing.assert_close(model.first.weight.detach(), reference.first.weight.detach())


def test_frozen_weights_do_not_move():
    model = Network()
    model.layer.weight.requires_grad_(False)
    before = model.layer.weight.detach().clone()
    bias = model.layer.bias.detach().clone()
    trained(model, calls=3)
    assert torch.equal(model.layer.weight.detach(), before)
    assert not torch.equal(model.norm.bias.detach(), bias)


def test_a_failing_call_changes_nothing():
    model = Network()
    executor = trained(model)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    with pytest.raises(poptorch.Error, match="Shape mismatch"):
        executor(torch.randn(5, 3), torch.randn(5, 2))
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name])
    executor(X, Y)


def test_detach_and_attach_keep_everything():
    model = Network()
    executor = poptorch.trainingModel(
        model, optimizer=poptorch.optim.Adam(model.parameters(), lr=0.1, betas=(0.9, 0.99))
    )
    reference_model = copy.deepcopy(model)
    reference = poptorch.trainingModel(
        reference_model,
        optimizer=poptorch.optim.Adam(reference_model.parameters(), lr=0.1, betas=(0.9, 0.99)),
    )
    for step in range(4):
        executor(X, Y)
        reference(X, Y)
        if step == 1:
            executor.detachFromDevice()
            assert not executor.isAttachedToDevice()
    torch.testing.assert_close(model.layer.weight.detach(), reference_model.layer.weight.detach())


def lost_in(function, capfd):
    """What is said about lost weights while `function` runs."""
    function()
    return [line for line in capfd.readouterr().err.splitlines() if "are lost" in line]


@pytest.mark.parametrize(
    "look",
    [
        lambda model: model.state_dict(),
        lambda model: model(X),
        lambda model: str(model.layer.weight),
        lambda model: poptorch.inferenceModel(model)(X),
    ],
)
def test_a_look_at_weights_that_were_lost_with_their_executor_is_announced_once(look, capfd):
    model = Network()
    before = model.layer.weight.detach().clone()
    trained(model)  # nobody keeps what it returns
    assert "lost" not in capfd.readouterr().err
    (line,) = lost_in(lambda: look(model), capfd)
    assert "The trained weights of Network" in line
    assert f"{__file__}:" in line
    assert "copyWeightsToHost() or detachFromDevice()" in line
    assert lost_in(lambda: look(model), capfd) == []
    assert torch.equal(model.layer.weight, before)


@pytest.mark.parametrize(
    "end",
    [
        lambda executor: executor.copyWeightsToHost(),
        lambda executor: executor.detachFromDevice(),
        lambda executor: executor.destroy(),
        lambda executor: executor.state_dict(),
    ],
)
def test_weights_that_were_copied_are_not_lost(end, capfd):
    model = Network()
    before = copy.deepcopy(model.state_dict())
    end(trained(model))
    assert lost_in(model.state_dict, capfd) == []
    assert not torch.equal(model.state_dict()["layer.weight"], before["layer.weight"])


def test_a_model_that_goes_with_its_executor_is_no_loss(capfd):
    assert lost_in(lambda: trained(Network()), capfd) == []
