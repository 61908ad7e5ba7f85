"""A pytest plugin for PopART's suite: what NumPy, onnx and torch have changed since, and the suite still counts on."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import torch


def _numpy_names() -> None:
    """NumPy 1.24 took these away."""
    for name, kind in (("bool", bool), ("int", int), ("float", float), ("object", object)):
        if name not in np.__dict__:
            setattr(np, name, kind)


def _numpy_linspace() -> None:
    """NumPy 2 spans the range of float32 in float32, which overflows."""
    plain = np.linspace

    @functools.wraps(plain)
    def wide(start: Any, stop: Any, *args: Any, **kwargs: Any) -> Any:
        start, stop = (float(each) if isinstance(each, np.floating) else each for each in (start, stop))
        return plain(start, stop, *args, **kwargs)

    np.linspace = wide


def _onnx_resize() -> None:
    """The functions that give weights have a second argument now."""
    import onnx.backend.test.case.node.resize as cases

    plain = cases.interpolate_nd

    @functools.wraps(plain)
    def interpolate(data: Any, weights: Any, *args: Any, **kwargs: Any) -> Any:
        return plain(data, lambda ratio, _scale: weights(ratio), *args, **kwargs)

    cases.interpolate_nd = interpolate


def _torch_export() -> None:
    """torch.onnx.export has another exporter by default."""
    plain = torch.onnx.export

    @functools.wraps(plain)
    def export(*args: Any, **kwargs: Any) -> Any:
        kwargs.setdefault("dynamo", False)
        return plain(*args, **kwargs)

    torch.onnx.export = export


_numpy_names()
_numpy_linspace()
_onnx_resize()
_torch_export()
