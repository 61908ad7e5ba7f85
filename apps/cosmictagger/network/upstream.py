"""Checkpoints of the original CosmicTagger: read without executing anything, and weights mapped both ways.

The original nests its levels (`net_core.main_module.main_module…`) and saves `model-N.ckpt` with `state_dict`,
`optimizer`, `scheduler` and `global_step`. Weights, running statistics and the step are taken over; the state of
optimizer and schedule is not, because it counts parameters in the original's order.
"""

from __future__ import annotations

import pickle
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from cosmictagger.network import build
from cosmictagger.network.configurations import Connection, ConvMode, DownSampling, NetworkConfig, UpSampling

#: put before each name by torch's DistributedDataParallel and DataParallel
_WRAPPED = "module."


def _prefixes(config: NetworkConfig) -> Iterator[tuple[str, str]]:
    """Beginnings of names: ours, and that of the original."""
    flat = config.conv_mode is ConvMode.conv_2D
    inner = ".blocks." if flat else ".block_"
    yield "initial.", "initial_convolution."
    pooled = "downsample." if config.downsampling is DownSampling.convolutional else "downsample.bottleneck."
    doubled = "upsample." if config.upsampling is UpSampling.convolutional else "upsample.bottleneck."
    for level in range(config.depth):
        core = "net_core." + "main_module." * level
        yield f"down.{level}.blocks.", f"{core}down_blocks{inner}"
        yield f"down.{level}.downsample.", core + pooled
        yield f"up.{level}.upsample.", core + doubled
        yield f"up.{level}.blocks.", f"{core}up_blocks{inner}"
        if config.connections is Connection.concat:
            yield f"up.{level}.connection.", f"{core}connection.bottleneck."
    deepest = "net_core." + "main_module." * (config.depth + 1)
    yield "deepest.blocks.", f"{deepest}blocks{inner}"
    for part in ("bottleneck", "unbottleneck") if flat else ("merger", "splitter"):
        yield f"deepest.{part}.", f"{deepest}{part}."
    yield "final.", f"final_layer{inner}"
    yield "head.", "bottleneck."


def names(config: NetworkConfig) -> dict[str, str]:
    """Each entry of our state dict with its name in the original's."""
    prefixes = list(_prefixes(config))
    with torch.device("meta"):
        ours = build(config).state_dict()
    found = {}
    for name in ours:
        ahead, instead = next(pair for pair in prefixes if name.startswith(pair[0]))
        found[name] = instead + name.removeprefix(ahead)
    return found


def from_upstream(state: Mapping[str, torch.Tensor], config: NetworkConfig) -> dict[str, torch.Tensor]:
    """Our state dict from that of the original's network, wrapped for distribution or not.

    Raises:
        ValueError: the weights are those of another configuration.
    """
    theirs = {
        name.removeprefix(_WRAPPED): value for name, value in state.items() if isinstance(value, torch.Tensor)
    }
    mapping = names(config)
    missing = sorted(set(mapping.values()) - set(theirs))
    unknown = sorted(set(theirs) - set(mapping.values()))
    if missing or unknown:
        raise ValueError(
            f"these are not the weights of the configuration {config.name!r}: {len(missing)} are missing"
            f"{_first(missing)} and {len(unknown)} have no place{_first(unknown)}. "
            "Choose the configuration that the checkpoint was trained with."
        )
    with torch.device("meta"):
        shapes = {name: value.shape for name, value in build(config).state_dict().items()}
    for ours, original in mapping.items():
        if theirs[original].shape != shapes[ours]:
            raise ValueError(
                f"{original} has the shape {tuple(theirs[original].shape)}, but the configuration "
                f"{config.name!r} needs {tuple(shapes[ours])}. Choose the one that the checkpoint was trained with."
            )
    return {ours: theirs[original].detach().clone() for ours, original in mapping.items()}


def to_upstream(state: Mapping[str, torch.Tensor], config: NetworkConfig) -> dict[str, torch.Tensor]:
    """The state dict that the original's network loads, from ours."""
    return {original: state[ours].detach().clone() for ours, original in names(config).items()}


def _first(items: list[str]) -> str:
    return f" (first: {items[0][:120]!r})" if items else ""


@dataclass(frozen=True)
class UpstreamCheckpoint:
    """What is taken over from a file of the original."""

    state: dict[str, torch.Tensor]
    global_step: int


def load(path: str | Path, config: NetworkConfig) -> UpstreamCheckpoint:
    """Read `model-N.ckpt` of the original.

    Only tensors, containers, numbers and NumPy scalars are read; a file that holds anything else is refused and
    nothing in it is executed.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is not a checkpoint of the original, or one of another configuration.
    """
    path = Path(path)
    try:
        with warnings.catch_warnings(), torch.serialization.safe_globals(_numpy_scalars()):
            # torch remarks on protocols that it may not know in full; what it does not know is refused below
            warnings.simplefilter("ignore", UserWarning)
            content = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise
    except (pickle.UnpicklingError, RuntimeError, EOFError, KeyError, ValueError, OSError) as problem:
        culprit = re.search(r"GLOBAL ([\w.]+)", str(problem))
        reason = (
            f"it holds an object of the kind {culprit.group(1)}, which could run code when it is read"
            if culprit
            else "it is damaged, or no file of torch.save"
        )
        raise ValueError(
            f"{path} was not read: {reason}. Save it again from the original with tensors and numbers only, "
            "for example torch.save({'state_dict': net.state_dict(), 'global_step': int(step)}, file)."
        ) from problem
    if not isinstance(content, Mapping):
        raise ValueError(f"{path} holds a {type(content).__name__}, not the dictionary of a checkpoint.")
    # a bare state dict, as published weights often are, is taken as well
    state = content.get("state_dict", content)
    if not isinstance(state, Mapping) or not all(isinstance(name, str) for name in state):
        raise ValueError(f"{path} has no state_dict that maps names to weights.")
    step = content.get("global_step", 0)
    if isinstance(step, torch.Tensor | np.generic) and getattr(step, "size", 1) in (1, ()):
        step = step.item()
    if (
        isinstance(step, bool)
        or not isinstance(step, int | float)
        or not 0 <= step < 2**63
        or step != int(step)
    ):
        raise ValueError(f"{path} has a global_step that is not a whole number: {step!r:.80}.")
    return UpstreamCheckpoint(from_upstream(state, config), int(step))


def _numpy_scalars() -> list[object]:
    """What a NumPy number in a file is made of: the learning rate in the original's schedule is one."""
    kinds = [np.float64, np.float32, np.int64, np.int32, np.bool_]
    scalar = np.float64(0).__reduce__()[0]
    # NumPy renamed its inner package; files written before that still carry the old name
    return [
        scalar,
        (scalar, "numpy.core.multiarray.scalar"),
        np.dtype,
        *kinds,
        *(type(np.dtype(kind)) for kind in kinds),
    ]
