"""Where a network is cut over IPUs, and what it keeps for the backward pass.

Cuts were found with the chip model (`tremula estimate --stages`) for a21 at 640x1024, micro-batch 1, half precision,
and are named by level, so that they serve all depths. Recomputation keeps little: a level's result, and more only
near the end of the network, whose part of the backward pass comes first, while everything else is still held.
"""

from __future__ import annotations

import poptorch
from torch import nn

#: IPUs that a network can be cut over
SPLITS = (1, 2, 4)


def split(model: nn.Module, ipus: int) -> list[str]:
    """Cut a network, or a step that has one, over IPUs. Cuts made before are taken away.

    Args:
        model: the network, or a module with one as `network`.
        ipus: 1, 2 or 4. A pipeline of n IPUs needs at least 2 n - 1 accumulated micro-batches to train.

    Returns:
        The names of the modules at which an IPU's work begins.

    Raises:
        ValueError: there is no split over so many IPUs, or the network is too shallow for it.
    """
    network = getattr(model, "network", model)
    depth = len(network.up)
    if ipus not in SPLITS:
        raise ValueError(f"a network is cut over {', '.join(map(str, SPLITS))} IPUs, not {ipus}.")
    if (ipus == 2 and depth < 1) or (ipus == 4 and depth < 3):
        raise ValueError(f"a network of depth {depth} is too shallow to be cut over {ipus} IPUs.")
    begins = ["initial"]
    if ipus == 2:
        begins.append(f"up.{depth // 2}")
    elif ipus == 4:
        begins += [f"down.{depth // 3}", "up.1", "up.0.blocks"]
    poptorch.removeBlocks(model)
    if ipus > 1:
        for number, name in enumerate(begins):
            poptorch.BeginBlock(network.get_submodule(name), user_id=f"stage{number}", ipu_id=number)
    return begins


def keep_checkpoints(model: nn.Module) -> list[str]:
    """Mark the results from which recomputation starts. It changes no numbers.

    Marks have an effect where recomputation is on: in pipelines that train, and where
    `options._Popart.set("autoRecomputation", 3)` says so.

    Args:
        model: the network, or a module with one as `network`.

    Returns:
        The names of the modules whose results are kept.
    """
    network = getattr(model, "network", model)
    depth = len(network.up)
    names = ["initial", *(f"down.{level}" for level in range(depth)), "deepest"]
    names += [f"up.{level}" for level in reversed(range(depth))]
    if depth:
        last = "connection" if hasattr(network.up[0], "connection") else "upsample"
        names.insert(-1, f"up.0.{last}")
    names += [f"final.{number}" for number in range(1, len(network.final), 2)]
    for name in names:
        marked = network.get_submodule(name)
        if not any(hook is _kept for hook in marked._forward_hooks.values()):
            marked.register_forward_hook(_kept)
    return names


def _kept(module: nn.Module, arguments: object, result: object) -> object:
    return poptorch.recomputationCheckpoint(result)
