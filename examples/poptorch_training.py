"""Train a classifier with PopTorch: gradient accumulation, device iterations, and accuracy on unseen data."""

import poptorch
import torch
from torch import nn


class Classifier(nn.Module):
    """A network that returns its loss, as PopTorch trains it."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 2))
        self.loss = nn.CrossEntropyLoss()

    def forward(self, points, labels=None):
        output = self.layers(points)
        return output if labels is None else (output, self.loss(output, labels))


def make_data(count, seed):
    """Points in the plane; the class says whether a point lies inside a circle."""
    points = torch.rand(count, 2, generator=torch.Generator().manual_seed(seed)) * 2 - 1
    return torch.utils.data.TensorDataset(points, (points.norm(dim=1) < 0.8).long())


def main():
    torch.manual_seed(0)
    model = Classifier()
    options = poptorch.Options().deviceIterations(4)
    options.Training.gradientAccumulation(2)
    loader = poptorch.DataLoader(
        options, make_data(2048, seed=1), batch_size=16, shuffle=True, drop_last=True
    )
    optimizer = poptorch.optim.Adam(model.parameters(), lr=0.01)
    training_model = poptorch.trainingModel(model, options, optimizer)
    for epoch in range(10):
        for points, labels in loader:
            _, loss = training_model(points, labels)
        print(f"epoch {epoch}: loss {loss.mean():.3f}")
    training_model.destroy()

    inference_model = poptorch.inferenceModel(model)
    points, labels = make_data(512, seed=2).tensors
    correct = (inference_model(points).argmax(dim=1) == labels).float().mean()
    print(f"accuracy: {correct:.1%}")


if __name__ == "__main__":
    main()
