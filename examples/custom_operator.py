"""Give a custom operator of PopTorch a Python implementation, and train through it."""

import poptorch
import torch

from tremula import custom_ops


def cube(x):
    """What the operator computes; torch differentiates it."""
    return x**3


class Model(torch.nn.Module):
    """Finds a cube root by gradient descent."""

    def __init__(self):
        super().__init__()
        self.root = torch.nn.Parameter(torch.tensor([1.0]))

    def forward(self, target):
        (cubed,) = poptorch.custom_op([self.root], "Cube", "com.acme", 1, example_outputs=[self.root])
        return cubed, poptorch.identity_loss((cubed - target) ** 2, reduction="mean")


def main():
    custom_ops.register("com.acme", "Cube", cube)
    model = Model()
    training_model = poptorch.trainingModel(model, optimizer=poptorch.optim.SGD(model.parameters(), lr=0.005))
    for _ in range(100):
        training_model(torch.tensor([8.0]))
    print(f"the cube root of 8 is {model.root.item():.3f}")


if __name__ == "__main__":
    main()
