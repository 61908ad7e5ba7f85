"""Channels-last weights: only where nothing can tell the difference but the clock."""

import copy

import torch
from torch import nn

import poptorch
from tremula.frontends.torch.execute.memory_format import channels_last_parameters


def _chosen(executor, *inputs):
    executor.compile(*inputs)
    return channels_last_parameters(executor._session.program)


def test_convolution_weights_are_kept_channels_last(convolutional, data, training):
    executor = training(convolutional())
    assert _chosen(executor, *data(4, image=True)) == {"conv.weight"}
    weight = executor._session.executable.read_state()["conv.weight"]
    assert weight.is_contiguous(memory_format=torch.channels_last)


def test_dense_and_tiny_models_are_left_alone(dense, data, training):
    assert not _chosen(training(dense()), *data(4))


def test_training_gives_the_numbers_of_eager_torch(convolutional, data):
    model = convolutional()
    reference = copy.deepcopy(model)
    x, y = data(4, image=True)
    executor = poptorch.trainingModel(model, optimizer=poptorch.optim.SGD(model.parameters(), lr=0.1))
    optimizer = torch.optim.SGD(reference.parameters(), lr=0.1)
    for _ in range(3):
        out, loss = executor(x, y)
        optimizer.zero_grad()
        expected, expected_loss = reference(x, y)
        expected_loss.backward()
        optimizer.step()
        torch.testing.assert_close(out, expected.detach())
        torch.testing.assert_close(loss, expected_loss.detach())
    for name, value in reference.state_dict().items():
        torch.testing.assert_close(model.state_dict()[name], value)


def test_results_have_the_usual_order_in_memory(inference):
    model = nn.Conv2d(3, 16, 3)
    out = inference(model)(torch.randn(2, 3, 8, 8))
    assert out.is_contiguous()
    assert out.view(-1).shape == (2 * 16 * 6 * 6,)


def test_a_write_through_a_view_keeps_the_captured_order(training):
    class Writes(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(3, 8, 3)

        def forward(self, x):
            y = self.conv(x) * 1
            y.view(-1).mul_(2)
            return poptorch.identity_loss(y, reduction="sum")

    executor = training(Writes())
    assert not _chosen(executor, torch.randn(2, 3, 8, 8))
