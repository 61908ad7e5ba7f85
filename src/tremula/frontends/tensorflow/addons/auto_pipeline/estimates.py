"""Arithmetic on what is known about layers: cycles of transfers, sums over consecutive layers, comparisons."""

from __future__ import annotations

import copy
import sys
from collections.abc import Sequence
from typing import Any

_GIB = 1024**3


def get_empty_layer_info() -> Any:
    """A layer that does nothing."""
    memory = {"inputs": 0, "outputs": 0, "maxTemporary": 0, "curCarryOver": 0, "curActivation": 0}
    return {
        "cycle": {"forward": 0, "backward": 0, "total": 0},
        "memory": {"shared": {}, "exclusive": {}, **memory},
    }


def get_empty_range_info() -> Any:
    """No layers."""
    memory = {"maxTemporary": 0, "curActivation": 0, "totalMemory": 0}
    return {
        "cycle": {"forward": 0, "backward": 0, "total": 0},
        "memory": {"shared": {}, "exclusive": {}, **memory},
    }


def copy_layer_info(info: Any) -> Any:
    """An independent copy."""
    return copy.deepcopy(info)


def transfer_cycle(
    cluster_info: Any, ipu_id: int, model_profile: Any, range_start: int, range_end: int
) -> int:
    """Cycles of the transfers when an IPU has the layers from `range_start` to `range_end`.

    These are what it receives and sends, and what the whole model gets from the host and gives back to it: all IPUs
    wait for that.
    """
    layers, connections = model_profile["layerInfo"], cluster_info["connection"]

    def cycles(ipu: int, direction: str, size: int) -> int:
        connection = connections[ipu]
        per_cycle = connection[f"{direction}GBps"] * _GIB / cluster_info["clock"]
        return int(connection[f"{direction}IdleCycle"] + size / per_cycle)

    total = cycles(0, "recv", layers[0]["memory"]["inputs"])
    total += cycles(len(connections) - 1, "send", layers[-1]["memory"]["outputs"])
    if ipu_id != 0:
        total += cycles(ipu_id, "recv", layers[range_start]["memory"]["inputs"])
    if ipu_id != len(connections) - 1:
        total += cycles(ipu_id, "send", layers[range_end]["memory"]["outputs"])
    return total


def aggregate_info_inplace(range_info: Any, layer_info: Any) -> Any:
    """Add a layer at the end of consecutive ones. Gives `range_info`, which is changed."""
    for name in ("forward", "backward"):
        range_info["cycle"][name] += layer_info["cycle"][name]
    total, layer = range_info["memory"], layer_info["memory"]
    total.setdefault("inputs", layer["inputs"])
    total["outputs"] = layer["outputs"]
    temporary = layer["maxTemporary"] + layer["curCarryOver"] + total["curActivation"]
    growth = max(0, temporary - total["maxTemporary"])
    total["maxTemporary"] += growth
    total["curActivation"] += layer["curActivation"]
    for name, size in layer["shared"].items():
        if name not in total["shared"]:
            total["shared"][name] = size
            growth += size
    for name, size in layer["exclusive"].items():
        total["exclusive"][name] = total["exclusive"].get(name, 0) + size
        growth += size
    total["totalMemory"] += growth
    return range_info


def compare_pipelined_model_profile(estimated_profile: Sequence[Any], actual_profile: Sequence[Any]) -> None:
    """Write a table of estimated and measured numbers of each stage to the standard output."""
    lines = []
    for number, (estimated, actual) in enumerate(zip(estimated_profile, actual_profile, strict=False)):
        lines.append(f"IPU {number}")
        for title, unit, digits in (("cycle", 1000, 0), ("memory", 1024**2, 2)):
            lines.append(title)
            expected, found = _by_category(estimated, title), _by_category(actual, title)
            for name, size in found.items():
                if size:
                    lines.append(_row(name, size, expected.get(name, 0), unit, digits))
    sys.stdout.write("".join(f"{line}\n" for line in lines))


def _by_category(stage: Any, title: str) -> dict[str, int]:
    if title == "cycle":
        return {name: stage["cycle"].get(name, 0) for name in ("total", "forward", "backward")}
    memory = stage["memory"]
    found = {"total": memory["totalMemory"], "notAlwaysAlive": memory["maxTemporary"]}
    for name, size in [*memory["shared"].items(), *memory["exclusive"].items()]:
        category = name.split("_")[0]
        found[category] = found.get(category, 0) + size
    return found


def _row(name: str, actual: int, estimated: int, unit: int, digits: int) -> str:
    difference = estimated - actual
    return (
        f"{name:>20} |  Act: {actual / unit:>10.{digits}f}  Est: {estimated / unit:>10.{digits}f}  "
        f"Diff: {difference / unit:>10.{digits}f}  Percent: {difference / actual * 100:>7.2f}%"
    )
