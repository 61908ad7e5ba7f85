"""Step 1 of the conversion: a U-shaped network learns to tell tracks from showers, in plain PyTorch."""

import argparse

import torch
from events import Events, overlap
from torch import nn
from torch.utils.data import DataLoader


def block(inputs, outputs):
    """A convolution, a norm and an activation."""
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, kernel_size=3, padding=1, bias=False),
        nn.BatchNorm2d(outputs),
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

    def forward(self, images):
        full = self.enter(images)
        half = self.down1(self.shrink(full))
        quarter = self.down2(self.shrink(half))
        x = self.deepest(self.shrink(quarter))
        x = self.up2(torch.cat([self.grow(x), quarter], dim=1))
        x = self.up1(torch.cat([self.grow(x), half], dim=1))
        x = self.leave(torch.cat([self.grow(x), full], dim=1))
        return self.classify(x)


def pixel_loss(logits, labels):
    """Cross entropy in which the rare pixels that belong to something count five times."""
    weights = 1.0 + 4.0 * (labels > 0).float()
    losses = nn.functional.cross_entropy(logits, labels, reduction="none")
    return (weights * losses).sum() / weights.sum()


def train(model, events, args):
    """Some epochs of training."""
    loader = DataLoader(events, batch_size=8, drop_last=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for epoch in range(1, args.epochs + 1):
        losses = []
        for images, labels in loader:
            optimizer.zero_grad()
            loss = pixel_loss(model(images), labels)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        print(f"epoch {epoch}: loss {sum(losses) / len(losses):.6f}")


def test(model, events):
    """How well events are tagged that the network has not seen."""
    model.eval()
    with torch.no_grad():
        predicted = [model(images).argmax(dim=1) for images, _ in DataLoader(events, batch_size=8)]
    scores = overlap(torch.cat(predicted), events.labels)
    print("test: " + ", ".join(f"{name} IoU {score:.3f}" for name, score in scores.items()))


def main():
    parser = argparse.ArgumentParser(description="Tag the pixels of tracks and showers.")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--events", type=int, default=96, help="number of training events")
    parser.add_argument("--size", type=int, default=64, help="size of the images, in pixels")
    parser.add_argument("--width", type=int, default=8, help="channels of the first level")
    parser.add_argument("--lr", type=float, default=0.005)
    args = parser.parse_args()

    torch.manual_seed(1)
    model = UNet(args.width)
    train(model, Events(args.events, args.size, seed=1), args)
    test(model, Events(16, args.size, seed=2))


if __name__ == "__main__":
    main()
