"""The same networks written in Keras and in PyTorch: do both front ends give the chip model the same program?

    python -m benchmarks.same_network [--networks mnist,lstm] [--ops 12] [--json OUT]

For each network of networks_keras.py and networks_torch.py: modelled time of a weight update and memory of the fullest
tile, the ratio of both, and the seconds of this host for capture and estimate. The goal is a ratio within 5 % of 1.
`--ops` lists the ops that take most cycles on either side. Needs TensorFlow and torch.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TREMULA_SUMMARY", "0")

from tremula import ask
from tremula.estimate.estimate import Estimate
from tremula.study.answer import answer
from tremula.study.case import Study
from tremula.study.question import Setting

NETWORKS = ("mnist", "resnet50", "bert", "unet", "cosmoflow", "lstm")
#: how far a ratio may be from 1
GOAL = 0.05


@dataclass(frozen=True)
class Row:
    """One network."""

    network: str
    keras_cycles: int
    torch_cycles: int
    keras_tile_bytes: int
    torch_tile_bytes: int
    keras_seconds: float
    torch_seconds: float

    @property
    def time(self) -> float:
        """Keras over PyTorch."""
        return self.keras_cycles / self.torch_cycles

    @property
    def memory(self) -> float:
        """Keras over PyTorch."""
        return self.keras_tile_bytes / self.torch_tile_bytes


def estimated(factory: Callable[[], Any]) -> tuple[Estimate, float]:
    """What the chip model says of a model that is trained on one IPU, and the seconds that it took."""
    began = time.process_time()
    found = answer(Study(ask.factory(factory, training=True)), Setting())
    if found.estimate is None:
        raise SystemExit(f"{factory.__name__}: {found.result.problem}")
    return found.estimate, time.process_time() - began


def keras_factory(name: str) -> Callable[[], Any]:
    """A factory of a compiled Keras model."""
    from benchmarks import networks_keras

    def factory() -> Any:
        import tensorflow as tf

        model, batch, loss, optimizer = getattr(networks_keras, name)()
        model.compile(optimizer, loss)
        inputs = [tf.zeros([batch, *each.shape[1:]], each.dtype) for each in model.inputs]
        return model, inputs[0] if len(inputs) == 1 else inputs

    factory.__name__ = f"{name} in Keras"
    return factory


def torch_factory(name: str) -> Callable[[], Any]:
    """A factory of a torch model."""
    from benchmarks import networks_torch

    factory: Callable[[], Any] = getattr(networks_torch, name)
    return factory


def compare(name: str, ops: int) -> Row:
    """Both versions of a network."""
    ours, ours_seconds = estimated(keras_factory(name))
    theirs, theirs_seconds = estimated(torch_factory(name))
    if ops:
        for side, found in (("Keras", ours), ("PyTorch", theirs)):
            print(f"{name} in {side}:")
            for line in _largest(found, ops):
                print(f"  {line}")
    return Row(
        name,
        round(_cycles(ours)),
        round(_cycles(theirs)),
        ours.memory.max_tile_bytes,
        theirs.memory.max_tile_bytes,
        ours_seconds,
        theirs_seconds,
    )


def _cycles(found: Estimate) -> float:
    """Cycles of a weight update without the host's part, which is the same."""
    return found.cycles_per_call - found.time.call.overhead_seconds * found.chip.clock_hz


def _largest(found: Estimate, count: int) -> list[str]:
    costs = [(cost.cycles, op) for cost, op in zip(found.costs.costs, found.program.ops, strict=True)]
    costs.sort(key=lambda each: -each[0])
    return [
        f"{cycles:12,.0f}  {op.phase.value:10} {op.kind:32} {op.module or op.name}"
        for cycles, op in costs[:count]
    ]


def main() -> int:
    """Compare and print; 1 if a ratio misses the goal."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--networks", default=",".join(NETWORKS), help="names, with commas")
    parser.add_argument("--ops", type=int, default=0, help="also list so many ops that take most cycles")
    parser.add_argument("--json", type=Path, help="also write the figures there")
    chosen = parser.parse_args()
    rows = [compare(name, chosen.ops) for name in chosen.networks.split(",")]
    print(f"{'network':12}{'cycles: Keras':>16}{'PyTorch':>14}{'ratio':>8}", end="")
    print(f"{'fullest tile: Keras':>22}{'PyTorch':>12}{'ratio':>8}{'seconds':>10}{'':>8}")
    for row in rows:
        print(f"{row.network:12}{row.keras_cycles:16,}{row.torch_cycles:14,}{row.time:8.3f}", end="")
        print(f"{row.keras_tile_bytes:22,}{row.torch_tile_bytes:12,}{row.memory:8.3f}", end="")
        print(f"{row.keras_seconds:10.1f}{row.torch_seconds:8.1f}")
    if chosen.json:
        chosen.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")
    return int(any(abs(ratio - 1) > GOAL for row in rows for ratio in (row.time, row.memory)))


if __name__ == "__main__":
    raise SystemExit(main())
