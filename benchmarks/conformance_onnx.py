"""Runs the node tests of the installed `onnx` package that use only operators that the device has, and counts them.

    python -m benchmarks.conformance_onnx [WORD ...] [--recorded] [--all]

A case is one small model with inputs and expected outputs. It passes if every output has the expected type and shape
and is within the case's own tolerance. `--recorded` records each graph on fake tensors first, as sessions do,
and runs the recording. `--all` counts all operators that the front end knows. Words choose cases by their names.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import pathlib
import sys
import time
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

from tremula.errors import Error
from tremula.frontends.onnx.arrays import array_of, tensor_of
from tremula.frontends.onnx.interpreter import Interpreter
from tremula.frontends.onnx.model import OnnxModel
from tremula.frontends.onnx.settings import Settings
from tremula.frontends.onnx.stored_tensors import stored

_DEVICE_OPERATORS_NAMES = """
    Abs Acos Acosh Add And ArgMax ArgMin Asin Asinh Atan Atanh AveragePool BatchNormalization Cast Ceil Clip Concat
    Constant ConstantOfShape Conv ConvTranspose Cos Cosh CumSum DepthToSpace Div Dropout Elu Equal Erf Exp Expand
    Flatten Floor GRU Gather Gemm GlobalAveragePool GlobalMaxPool Greater HardSigmoid Identity If
    InstanceNormalization IsInf IsNaN LRN LSTM LeakyRelu Less Log LogSoftmax Loop MatMul Max MaxPool Mean Min Mod Mul
    Neg Not OneHot Or PRelu Pad Pow RNN RandomNormal RandomNormalLike RandomUniform RandomUniformLike Reciprocal
    ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum
    ReduceSumSquare Relu Reshape Resize RoiAlign Round Scan Scatter ScatterElements Selu Shape Shrink Sigmoid Sign
    Sin Sinh Slice Softmax Softplus Softsign SpaceToDepth Split Sqrt Squeeze Sub Sum Tan Tanh ThresholdedRelu Tile
    TopK Transpose Unsqueeze Upsample Where Xor
"""
#: ONNX operators that PopART 3.3 has on the device, by registration or by decomposition
DEVICE_OPERATORS = frozenset(_DEVICE_OPERATORS_NAMES.split())
#: strings, and numbers of less than a byte or without a sign and a fraction
_NOT_HELD = frozenset({8, 21, 22, 23, 24, 25, 26})


def cases(words: Iterable[str] = (), *, every: bool = False) -> Iterator[Any]:
    """The node tests that use only the device's operators, by name; with `every`, all that the front end knows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.loader import load_model_tests

        found = load_model_tests(kind="node")
    from tremula.frontends.onnx.ops.table import known_operators

    allowed = (
        {name for domain, name, _ in known_operators() if domain == "ai.onnx"} if every else DEVICE_OPERATORS
    )
    for case in map(_from_files, found):
        if words and not any(word in case.name for word in words):
            continue
        if _operators(case.model.graph) <= allowed:
            yield case


def _from_files(case: Any) -> Any:
    """A case whose model and data are at hand: older versions of onnx bring them in files."""
    if case.model is not None:
        return case
    import onnx

    folder = pathlib.Path(case.model_dir)
    model = onnx.load(folder / "model.onnx")
    data = []
    for each in sorted(folder.glob("test_data_set_*")):
        sides = []
        for side in ("input", "output"):
            paths = sorted(each.glob(f"{side}_*.pb"), key=lambda path: int(path.stem.rpartition("_")[2]))
            sides.append(
                [onnx.TensorProto.FromString(path.read_bytes()) for path in paths] if _tensors(model) else []
            )
        data.append(tuple(sides))
    return dataclasses.replace(case, model=model, data_sets=data)


def _tensors(model: Any) -> bool:
    return all(each.type.HasField("tensor_type") for each in (*model.graph.input, *model.graph.output))


def _operators(graph: Any) -> set[str]:
    names = set()
    for node in graph.node:
        names.add(node.op_type if node.domain in ("", "ai.onnx") else f"{node.domain}.{node.op_type}")
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                names |= _operators(inner)
    return names


def held(case: Any) -> bool:
    """Whether the device has the types of a case: tensors of whole bytes of numbers."""
    graph = case.model.graph
    types = [each.type for each in (*graph.input, *graph.output)]
    numbers = {each.tensor_type.elem_type for each in types if each.HasField("tensor_type")}
    numbers |= {
        each.i
        for node in graph.node
        for each in node.attribute
        if node.op_type == "Cast" and each.name == "to"
    }
    return all(each.HasField("tensor_type") for each in types) and not numbers & _NOT_HELD


def run(case: Any, *, recorded: bool = False) -> str:
    """Why a case fails; empty if it passes."""
    try:
        model = OnnxModel.load(case.model.SerializeToString())
        interpreter = Interpreter(model.graph, model.opsets, Settings(), functions=model.functions)
    except Error as problem:
        return problem.message
    names = [each.name for each in model.graph.outputs]
    for inputs, expected in case.data_sets:
        given = dict(zip([each.name for each in case.model.graph.input], map(_tensor, inputs), strict=False))
        try:
            compute = _recorded if recorded else Interpreter.run
            results = compute(interpreter, given, names)
        except Error as problem:
            return problem.message
        for name, wanted in zip(names, expected, strict=True):
            why = _difference(array_of(results[name]), array_of(_tensor(wanted)), case)
            if why:
                return f"{name}: {why}"
    return ""


def _tensor(value: Any) -> torch.Tensor:
    """An input or output of a case: an array, or a message where NumPy has no such type."""
    return stored(value, None, "a value").tensor() if hasattr(value, "data_type") else tensor_of(value)


def _recorded(
    interpreter: Interpreter, given: dict[str, torch.Tensor], names: list[str]
) -> dict[str, torch.Tensor]:
    static = interpreter.value_inputs()
    constants = {name: value for name, value in given.items() if name in static or value.numel() == 0}
    inputs = {name: value for name, value in given.items() if name not in constants}
    if not inputs:
        return interpreter.run(given, names)

    def forward(*values: torch.Tensor) -> list[torch.Tensor]:
        results = interpreter.run({**dict(zip(inputs, values, strict=True)), **constants}, names)
        return [results[name].clone() for name in names]

    mode = FakeTensorMode()
    fakes = [mode.from_tensor(value) for value in inputs.values()]
    graph = make_fx(forward, tracing_mode="fake")(*fakes)
    return dict(zip(names, graph(*inputs.values()), strict=True))


def _difference(found: np.ndarray, wanted: np.ndarray, case: Any) -> str:
    if found.shape != wanted.shape:
        return f"shape {found.shape} instead of {wanted.shape}"
    if found.dtype != wanted.dtype:
        return f"type {found.dtype} instead of {wanted.dtype}"
    if found.dtype.kind not in "fiub":  # small floating types
        found, wanted = found.astype(np.float32), wanted.astype(np.float32)
    if found.dtype.kind in "iub":
        return "" if np.array_equal(found, wanted) else "other values"
    if np.allclose(found, wanted, rtol=case.rtol, atol=max(case.atol, 1e-6), equal_nan=True):
        return ""
    return f"values differ by up to {np.nanmax(np.abs(found - wanted))}"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("words", nargs="*")
    parser.add_argument("--recorded", action="store_true")
    parser.add_argument("--all", action="store_true", dest="every")
    options = parser.parse_args()
    began = time.perf_counter()
    failures: dict[str, str] = {}
    count = 0
    by_operator: collections.Counter[str] = collections.Counter()
    elsewhere = 0
    for case in cases(options.words, every=options.every):
        if not held(case):
            elsewhere += 1
            continue
        count += 1
        try:
            why = run(case, recorded=options.recorded)
        except Exception as problem:  # what is not an Error is a defect: it is counted, and said
            why = f"{type(problem).__name__}: {problem}".partition("\n")[0]
        if why:
            failures[case.name] = why
            by_operator[case.model.graph.node[-1].op_type] += 1
    for name, why in sorted(failures.items()):
        print(f"{name}: {why[:160]}")
    passed = count - len(failures)
    import onnx

    print(
        f"{passed:,} of {count:,} node tests of onnx {onnx.__version__} pass ({100 * passed / max(count, 1):.1f} %), "
        f"{time.perf_counter() - began:.0f} s. {elsewhere} more are about strings, sequences, optional values or "
        "numbers of less than a byte, which the device does not have.",
        f"Failing by operator: {dict(by_operator.most_common())}" if failures else "",
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
