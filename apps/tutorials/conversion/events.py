"""Events of an imagined detector, which all steps of the tutorial train on: tracks, showers and noise.

A track is a long straight line, a shower a cone of scattered hits; both are equally bright, so that a network
has to look at shapes. Every event is drawn from its own seed.
"""

import numpy as np
import torch
from torch.utils.data import Dataset

CLASSES = ("background", "track", "shower")


class Events(Dataset):
    """Images of size x size pixels, each with the class of every pixel."""

    def __init__(self, count, size, seed):
        drawn = [draw(size, np.random.default_rng((seed, number))) for number in range(count)]
        self.images = torch.stack([image for image, _ in drawn])
        self.labels = torch.stack([label for _, label in drawn])

    def __len__(self):
        return len(self.images)

    def __getitem__(self, number):
        return self.images[number], self.labels[number]


def draw(size, random):
    """One event: charge [1, size, size] and class [size, size] of its pixels."""
    image = 0.5 * random.random((size, size)) * (random.random((size, size)) < 0.02)
    label = np.zeros((size, size), dtype=np.int64)

    def hit(x, y, kind):
        inside = (x >= 0) & (x < size) & (y >= 0) & (y < size)
        place = y[inside].astype(int), x[inside].astype(int)
        image[place] = random.uniform(0.6, 1.4, len(place[0]))
        label[place] = kind

    for _ in range(random.integers(2, 5)):
        angle, along = random.uniform(0, np.pi), np.linspace(-1.5 * size, 1.5 * size, 6 * size)
        x, y = random.uniform(0.2 * size, 0.8 * size, 2)
        hit(x + along * np.cos(angle), y + along * np.sin(angle), 1)
    for _ in range(random.integers(1, 3)):
        angle, along = random.uniform(0, 2 * np.pi), size / 3 * np.sqrt(random.random(size * size // 32))
        x, y = random.uniform(0.2 * size, 0.8 * size, 2)
        angle = angle + 0.25 * random.uniform(-1, 1, len(along))
        hit(x + along * np.cos(angle), y + along * np.sin(angle), 2)
    return torch.tensor(image[None], dtype=torch.float32), torch.tensor(label)


def overlap(predicted, labels):
    """Intersection over union of each class but the background, over all events together."""
    scores = {}
    for kind, name in enumerate(CLASSES[1:], start=1):
        found, true = predicted == kind, labels == kind
        scores[name] = (found & true).sum().item() / max((found | true).sum().item(), 1)
    return scores
