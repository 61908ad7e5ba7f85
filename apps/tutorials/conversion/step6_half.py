"""Step 6 of the conversion, half precision: weights, images and activations are float16, the loss is not."""

import argparse

import poptorch
import torch
from events import Events, overlap
from torch import nn


def block(inputs, outputs):
    """A convolution, a norm and an activation."""
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, kernel_size=3, padding=1, bias=False),
        nn.GroupNorm(4, outputs),
        nn.ReLU(),
    )


class UNet(nn.Module):
    """Three levels down, three levels up; each level up sees the level down of the same size as well."""

    def __init__(self, width):
        super().__init__()
        self.enter = block(1, width)
        self.down1 = block(width, 2 * width)
        self.down2 = block(2 * width, 4 * width)
        self.deepest = block(4 * width, 4 * width)
        self.up2 = block(8 * width, 2 * width)
        self.up1 = block(4 * width, width)
        self.leave = block(2 * width, width)
        self.classify = nn.Conv2d(width, 3, kernel_size=1)
        self.shrink = nn.MaxPool2d(2)
        self.grow = nn.Upsample(scale_factor=2)

    def forward(self, images, labels=None):
        full = self.enter(images)
        half = self.down1(self.shrink(full))
        quarter = self.down2(self.shrink(half))
        x = self.deepest(self.shrink(quarter))
        x = self.up2(torch.cat([self.grow(x), quarter], dim=1))
        x = self.up1(torch.cat([self.grow(x), half], dim=1))
        x = self.leave(torch.cat([self.grow(x), full], dim=1))
        logits = self.classify(x)
        if labels is None:
            return logits.argmax(dim=1)
        return poptorch.identity_loss(pixel_loss(logits.float(), labels), reduction="none")


def pixel_loss(logits, labels):
    """Cross entropy in which the rare pixels that belong to something count five times."""
    weights = 1.0 + 4.0 * (labels > 0).float()
    losses = nn.functional.cross_entropy(logits, labels, reduction="none")
    return (weights * losses).sum() / weights.sum()


def train(model, events, args):
    """Some epochs of training."""
    options = poptorch.Options()
    options.Training.gradientAccumulation(args.accumulation)
    options.outputMode(poptorch.OutputMode.All)
    loader = poptorch.DataLoader(options, events, batch_size=1, drop_last=True)
    optimizer = poptorch.optim.Adam(model.parameters(), lr=args.lr, loss_scaling=args.loss_scaling)
    training_model = poptorch.trainingModel(model, options, optimizer)
    for epoch in range(1, args.epochs + 1):
        losses = []
        for images, labels in loader:
            loss = training_model(images.half(), labels)
            losses += loss.tolist()
        print(f"epoch {epoch}: loss {sum(losses) / len(losses):.6f}")
    training_model.detachFromDevice()


def test(model, events):
    """How well events are tagged that the network has not seen."""
    options = poptorch.Options().deviceIterations(8)
    inference_model = poptorch.inferenceModel(model.eval(), options)
    loader = poptorch.DataLoader(options, events, batch_size=1)
    predicted = [inference_model(images.half()) for images, _ in loader]
    inference_model.detachFromDevice()
    scores = overlap(torch.cat(predicted), events.labels)
    print("test: " + ", ".join(f"{name} IoU {score:.3f}" for name, score in scores.items()))


def main():
    parser = argparse.ArgumentParser(description="Tag the pixels of tracks and showers.")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--events", type=int, default=96, help="number of training events")
    parser.add_argument("--size", type=int, default=64, help="size of the images, in pixels")
    parser.add_argument("--width", type=int, default=8, help="channels of the first level")
    parser.add_argument("--accumulation", type=int, default=8, help="images per weight update")
    parser.add_argument("--lr", type=float, default=0.005)
    parser.add_argument("--loss-scaling", type=float, default=1024.0)
    args = parser.parse_args()

    torch.manual_seed(1)
    model = UNet(args.width).half()
    train(model, Events(args.events, args.size, seed=1), args)
    test(model, Events(16, args.size, seed=2))


if __name__ == "__main__":
    main()
