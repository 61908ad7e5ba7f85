"""A pytest plugin for PopART's suite: what NumPy, onnx and torch have changed since, and the suite still counts on."""

from __future__ import annotations

import functools
import sys
import types
from typing import Any

import numpy as np
import torch


def _numpy_names() -> None:
    """NumPy 1.24 took these away."""
    for name, kind in (("bool", bool), ("int", int), ("float", float), ("object", object)):
        if name not in np.__dict__:
            setattr(np, name, kind)


_seed = np.random.seed


def pytest_runtest_setup() -> None:
    """A file of the suite puts a number in the place of the function; the suite runs each file in its own process."""
    np.random.seed = _seed


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


def _onnx_mapping() -> None:
    """onnx 1.20 has no module of tables of types any more."""
    import onnx
    from onnx import TensorProto, helper

    if hasattr(onnx, "mapping"):
        return
    tables = types.ModuleType("onnx.mapping")
    numbers = [each for each in TensorProto.DataType.values() if each != TensorProto.UNDEFINED]
    tables.TENSOR_TYPE_TO_NP_TYPE = {each: helper.tensor_dtype_to_np_dtype(each) for each in numbers}
    tables.NP_TYPE_TO_TENSOR_TYPE = {
        kind: helper.np_dtype_to_tensor_dtype(kind) for kind in tables.TENSOR_TYPE_TO_NP_TYPE.values()
    }
    onnx.mapping = sys.modules["onnx.mapping"] = tables


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
_onnx_mapping()
_torch_export()
