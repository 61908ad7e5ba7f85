"""The rows of the speed benchmark and what each should reach; needs no torch, so that the command starts at once.

A ratio is our time per sample divided by that of the hand-written loop, steady state: lower is better.
"""

from __future__ import annotations

from dataclasses import dataclass

EAGER_TARGET = 1.00
COMPILE_TARGET = 1.02
#: the first call may take this much longer than the first step of the eager loop (small models)
FIRST_CALL_TARGET_S = 2.0
#: a start from the cache may take this share of the cold compilation
WARM_TARGET = 0.25
#: `import poptorch` may take this much longer than `import torch`
IMPORT_TARGET_S = 0.3
#: how half precision is computed, in words, and the most that it may take beside the float32 eager loop
HALF = {
    "plain": ("half", 1.3),
    "partials": ("half, half partials", 1.5),
    "stochastic": ("half, stochastic rounding", 1.8),
}


@dataclass(frozen=True)
class Row:
    """One line of the table: a network (a key of `speed_models.NETWORKS`) and how it is run."""

    key: str
    name: str
    network: str
    training: bool
    iterations: int = 1
    says_iterations: bool = False
    eager_target: float = EAGER_TARGET
    small: bool = False
    #: a key of `HALF`; empty: float32. The loop beside it computes in float32 either way
    half: str = ""

    @property
    def mode(self) -> str:
        """How it is run, in words."""
        mode = "training" if self.training else "inference"
        if self.half:
            mode += f" in {HALF[self.half][0]}"
        return f"{mode}, device iterations {self.iterations}" if self.says_iterations else mode


def _rows() -> tuple[Row, ...]:
    rows = [
        Row("workshop-training-1", "workshop CNN, batch 16", "workshop", True, 1, True, small=True),
        Row("workshop-training-50", "workshop CNN, batch 16", "workshop", True, 50, True, 0.60, small=True),
        Row("workshop-inference", "workshop CNN, batch 16", "workshop", False, small=True),
    ]
    for network, name, small in (
        ("cifar", "CIFAR CNN, batch 32", True),
        ("unet", "residual U-Net 2D, 1x3x160x256", False),
        ("cnn3d", "3D CNN, 64³x4, batch 1", False),
        ("bert", "BERT, 4 layers, batch 8, sequence 128", False),
    ):
        rows.append(Row(f"{network}-training", name, network, True, small=small))
        rows.append(Row(f"{network}-inference", name, network, False, small=small))
    name = "MLP, 2 layers, batch 4"
    rows.append(Row("mlp-training-1", name, "mlp", True, 1, True, 0.25, small=True))
    rows.append(Row("mlp-training-50", name, "mlp", True, 50, True, 0.25, small=True))
    rows.append(Row("mlp-inference", name, "mlp", False, eager_target=0.25, small=True))
    for word, network, name in (
        ("cnn", "cifar", "CIFAR CNN, batch 32"),
        ("bert", "bert", "BERT, 4 layers, batch 8, sequence 128"),
        ("gpt", "gpt", "GPT, 2 layers, batch 4, sequence 128"),
        ("unet", "unet", "residual U-Net 2D, 1x3x160x256"),
    ):
        for half, (_, target) in HALF.items():
            rows.append(Row(f"half-{word}-{half}", name, network, True, eager_target=target, half=half))
    return tuple(rows)


ROWS = _rows()
