"""Calls of operators as a program from a file may make them: operands of other shapes, indices out of range.

A case is one call as JSON. It is checked as the reader of exports checks it, on fake tensors, and then run for real
between guard pages. The valid calls are those of the graphs of `snippets`, forward and backward.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import fx
from torch.fx.experimental.proxy_tensor import make_fx

from fuzz.target import Target
from fuzz.targets.snippets import snippets
from tremula.frontends.torch.package import allowed_ops
from tremula.frontends.torch.package.container import BadData
from tremula.frontends.torch.package.operand_rules import broken_rule
from tremula.frontends.torch.package.plain_data import DTYPES, dtype_name

_INDICES = (0, 1, 3, 15, 16, 17, -1, -16, -17, 1000, 10**8, -(10**8), 2**31, 2**62, -(2**63))
#: more than this is asked for by the case, not by a kernel that was misled
_MOST_ELEMENTS = 1 << 22


def _calls() -> Iterator[dict[str, Any]]:
    seen = set()
    for function, arguments in snippets():
        for backward in (True, False):
            for node in _graph(function, arguments, backward).nodes:
                if node.op != "call_function":
                    continue
                name = allowed_ops.name_of(node.target)
                if name is None or name == allowed_ops.GETITEM or allowed_ops.refusal(name) is not None:
                    continue
                try:
                    call = {"op": name, "args": _data(list(node.args)), "kwargs": _data(dict(node.kwargs))}
                except TypeError:
                    continue  # an operand without a shape
                text = json.dumps(call, sort_keys=True)
                if text not in seen:
                    seen.add(text)
                    yield call


def _graph(function: Callable[..., Any], arguments: list[torch.Tensor], backward: bool) -> fx.Graph:
    def step(*values: torch.Tensor) -> Any:
        if not backward:
            with torch.no_grad():
                return function(*values)
        leaves = [v.requires_grad_(v.is_floating_point()) for v in values]
        result = function(*leaves)
        trained = [leaf for leaf in leaves if leaf.requires_grad]
        return torch.autograd.grad(result.float().sum(), trained, allow_unused=True)

    fresh = [argument.detach().clone() for argument in arguments]
    graph: fx.Graph = make_fx(step, tracing_mode="fake", _allow_non_fake_inputs=True)(*fresh).graph
    return graph


def _data(value: Any) -> Any:
    if isinstance(value, fx.Node):
        tensor = value.meta.get("val")
        if not isinstance(tensor, torch.Tensor):
            raise TypeError("no tensor")
        return {"tensor": [list(tensor.shape), dtype_name(tensor.dtype)]}
    if isinstance(value, list | tuple):
        return [_data(each) for each in value]
    if isinstance(value, dict):
        return {key: _data(each) for key, each in value.items()}
    if isinstance(value, torch.dtype):
        return {"dtype": dtype_name(value)}
    if isinstance(value, torch.device | torch.layout | torch.memory_format):
        return None
    return value


def make(folder: Path) -> list[Path]:
    """One file for each call."""
    paths = []
    for number, call in enumerate(_calls()):
        path = folder / f"{number:04}"
        path.write_text(json.dumps(call))
        paths.append(path)
    return paths


def mutate(data: bytes, rng: random.Random) -> bytes:
    """Other shapes, other numbers, and the values of indices."""
    call = json.loads(data)
    for _ in range(rng.choice((0, 1, 1, 2))):
        places = list(_places(call["args"]))
        if places:
            owner, key = rng.choice(places)
            owner[key] = _other(owner[key], rng)
    call["seed"] = rng.randrange(1 << 30)
    return json.dumps(call).encode()


def _places(owner: Any) -> Iterator[tuple[Any, Any]]:
    for key in owner if isinstance(owner, dict) else range(len(owner)):
        value = owner[key]
        if isinstance(value, list) or (isinstance(value, dict) and "tensor" not in value):
            yield from _places(value)
        if isinstance(value, dict) and "tensor" in value:
            yield owner, key
            yield owner, key
        elif isinstance(value, int | float | list):
            yield owner, key


def _other(value: Any, rng: random.Random) -> Any:
    if isinstance(value, dict) and "tensor" in value:
        shape, dtype = value["tensor"]
        return {"tensor": [_shape(list(shape), rng), dtype if rng.random() < 0.9 else rng.choice(_DTYPES)]}
    if isinstance(value, bool):
        return not value
    if isinstance(value, list):
        return rng.choice((value[:-1], [*value, *value[-1:]], [1] * len(value), [16] * len(value)))
    if isinstance(value, int):
        return rng.choice((value + 1, value - 1, value * 2, value // 2, 0, 1, -1, 16, 1000, 2**31, 2**62))
    return rng.choice((value, 0.0, -1.0, 1e30, 2.0))


_DTYPES = ("float32", "int64", "int32", "float16", "bool", "float64")


def _shape(shape: list[int], rng: random.Random) -> list[int]:
    kind = rng.randrange(6)
    if kind == 0 and shape:
        shape[rng.randrange(len(shape))] = rng.choice((0, 1, 2, 4, 8, 16, 32))
    elif kind == 1:
        return shape[1:]
    elif kind == 2:
        return [1, *shape]
    elif kind == 3:
        return [rng.choice((1, 16))]
    elif kind == 4 and shape:
        place = rng.randrange(len(shape))
        shape[place] = shape[place] // 2
    elif shape:
        shape[-1] = max(1, shape[-1] // 16)
    return shape


def read(path: Path) -> None:
    """Check the call, then run it."""
    call = json.loads(path.read_text())
    target = allowed_ops.operator_from_file(call["op"])
    graph = fx.Graph()
    mode = torch._subclasses.FakeTensorMode()
    rng = random.Random(call["seed"])
    real: dict[fx.Node, torch.Tensor] = {}

    def operand(value: Any) -> Any:
        if isinstance(value, list):
            return [operand(each) for each in value]
        if isinstance(value, dict) and "dtype" in value:
            return DTYPES[value["dtype"]]
        if not isinstance(value, dict):
            return value
        shape, dtype = value["tensor"]
        node = graph.placeholder(f"input_{len(real)}")

        real[node] = _tensor(shape, DTYPES[dtype], rng)
        node.meta["val"] = mode.from_tensor(real[node])
        return node

    args = tuple(operand(each) for each in call["args"])
    kwargs = {name: operand(each) for name, each in call["kwargs"].items() if each is not None}
    node = graph.call_function(target, args, kwargs)
    fakes = fx.node.map_arg((args, kwargs), lambda each: each.meta["val"])
    try:
        with mode, torch.no_grad():
            result = target(*fakes[0], **fakes[1])
    except Exception as problem:
        raise BadData(f"the op {call['op']} cannot be run ({problem})") from problem
    node.meta["val"] = result
    results = result if isinstance(result, tuple | list) else [result]
    if any(isinstance(each, torch.Tensor) and each.numel() > _MOST_ELEMENTS for each in results):
        raise BadData("a result that is too large to be tried here")
    broken = broken_rule(graph)
    if broken is not None:
        raise BadData(broken)
    values = fx.node.map_arg((args, kwargs), lambda each: real[each])
    try:
        with torch.no_grad():
            target(*values[0], **values[1])
    except (RuntimeError, IndexError, ValueError, NotImplementedError, TypeError) as problem:
        raise BadData(f"the op {call['op']} refused it ({problem})") from problem


def _tensor(shape: list[int], dtype: torch.dtype, rng: random.Random) -> torch.Tensor:
    if dtype in (torch.int64, torch.int32):
        bound = 2**31 if dtype is torch.int32 else 2**63
        known = [each for each in _INDICES if -bound <= each < bound]
        tensor = torch.zeros(shape, dtype=dtype)
        flat = tensor.view(-1)
        for _ in range(min(len(flat), 64)) if rng.random() < 0.7 else ():
            flat[rng.randrange(len(flat))] = rng.choice(known)
        return tensor
    if dtype is torch.bool:
        return torch.zeros(shape, dtype=dtype)
    return torch.rand(shape, dtype=torch.float32).to(dtype) + 0.1


def refusals() -> tuple[type[BaseException], ...]:
    """The reader's."""
    return (BadData,)


OPERATORS = Target("operators", make, mutate, read, refusals, guarded=True, batch=1000, names_file=False)
