"""Cut a PopTorch model over two IPUs and compare its modelled time with that on one."""

import poptorch
import torch
from torch import nn

from tremula import ask

WIDTH = 512


class Model(nn.Module):
    """A stack of layers whose second half begins a block of its own."""

    def __init__(self, pipelined):
        super().__init__()
        self.first = nn.Sequential(
            *[layer for _ in range(4) for layer in (nn.Linear(WIDTH, WIDTH), nn.ReLU())]
        )
        self.second = nn.Sequential(
            *[layer for _ in range(4) for layer in (nn.Linear(WIDTH, WIDTH), nn.ReLU())]
        )
        if pipelined:
            self.first = poptorch.BeginBlock(self.first, "first", ipu_id=0)
            self.second = poptorch.BeginBlock(self.second, "second", ipu_id=1)

    def forward(self, x, target):
        output = self.second(self.first(x))
        return output, nn.functional.mse_loss(output, target)


def samples_per_second(pipelined):
    """The modelled throughput."""
    torch.manual_seed(0)
    model = Model(pipelined)
    options = poptorch.Options()
    options.Training.gradientAccumulation(16)
    training_model = poptorch.trainingModel(model, options, poptorch.optim.SGD(model.parameters(), lr=0.01))
    batch = torch.rand(16 * 8, WIDTH)
    _, loss = training_model(batch, batch)
    figure = ask.estimate_of(training_model).throughput
    training_model.destroy()
    return figure, float(loss.mean())


def main():
    one, loss_one = samples_per_second(pipelined=False)
    two, loss_two = samples_per_second(pipelined=True)
    print(f"one IPU:  {one:,.0f} samples/s (modelled), loss {loss_one:.4f}")
    print(f"two IPUs: {two:,.0f} samples/s (modelled), loss {loss_two:.4f}")


if __name__ == "__main__":
    main()
