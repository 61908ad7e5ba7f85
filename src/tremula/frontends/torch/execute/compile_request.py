"""What a compiler is asked for, as JSON. The hash is the key of the executable cache: the program without names and
source lines, layouts, versions of torch and of this project, the host's processor and its C++ compiler.
"""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx

from tremula import __version__
from tremula.cache.keys import key_of
from tremula.frontends.torch.graphs.program import tensors_of
from tremula.frontends.torch.package import allowed_ops
from tremula.frontends.torch.package.operand_data import encode_operand
from tremula.frontends.torch.package.plain_data import NotData, dtype_name, encode

#: part of every key: raise it when the same request would be compiled to something else
REVISION = 3

#: ops outside these are Python code, or speak to the user; the code of a compiler cannot call them
_NAMESPACES = ("aten::", "prims::", "mkldnn::_linear_pointwise")


class NotCompilable(Exception):
    """Why a program has no compiled form."""


@dataclass(frozen=True)
class CompileRequest:
    """Graphs to compile (`turn`, and `update` if there is one), their constants, and how."""

    graphs: dict[str, Any]
    constants: dict[str, torch.Tensor]
    options: dict[str, Any]

    def key(self) -> str:
        """The name of the result in the executable cache."""
        digests = {
            name: hashlib.sha256(_bytes_of(tensor)).hexdigest() for name, tensor in self.constants.items()
        }
        return key_of(
            {
                "revision": REVISION,
                "graphs": self.graphs,
                "constants": digests,
                "options": self.options,
                "host": host_identity(),
            }
        )


def request_for(
    graphs: Mapping[str, fx.GraphModule],
    arguments: Mapping[str, list[torch.Tensor]],
    *,
    untrusted: bool = False,
    settled: bool = True,
) -> CompileRequest:
    """Describe graphs that will be called with `arguments` (only shapes, strides and dtypes matter).

    Code for a program of a file (`untrusted`) compares every index with the size, other code most of them. A comparison
    that fails in one of several threads would end the process instead of the call. So code of a file has one thread,
    and so has code whose indices are not `settled` before a call (`index_checks`).
    """
    constants: dict[str, torch.Tensor] = {}
    encoded = {}
    half = False
    for name, module in graphs.items():
        encoded[name] = _encode_graph(name, module, arguments[name], constants)
        half = half or any(t.dtype is torch.float16 for node in module.graph.nodes for t in tensors_of(node))
    indexed = any(
        allowed_ops.takes_indices(node.target) for module in graphs.values() for node in module.graph.nodes
    )
    threads = 1 if (untrusted and indexed) or not settled else torch.get_num_threads()
    options = {"threads": threads, "half": half, "check_indices": untrusted}
    return CompileRequest(encoded, constants, options)


def _encode_graph(
    label: str,
    module: fx.GraphModule,
    arguments: list[torch.Tensor],
    constants: dict[str, torch.Tensor],
) -> list[Any]:
    numbers: dict[fx.Node, int] = {}
    inputs = iter(arguments)
    nodes: list[Any] = []
    for node in module.graph.nodes:
        if node.op == "placeholder":
            tensor = next(inputs)
            nodes.append(["input", list(tensor.shape), list(tensor.stride()), dtype_name(tensor.dtype)])
        elif node.op == "get_attr":
            key = f"{label}.{len(numbers)}"
            constants[key] = getattr(module, str(node.target)).detach()
            nodes.append(["constant", key])
        elif node.op == "output":
            nodes.append(["output", [numbers[value] for value in node.args[0]]])
        else:
            nodes.append(_encode_call(node, numbers))
        numbers[node] = len(numbers)
    return nodes


def _encode_call(node: fx.Node, numbers: Mapping[fx.Node, int]) -> list[Any]:
    name = allowed_ops.name_of(node.target)
    if name is None or not name.startswith((*_NAMESPACES, allowed_ops.GETITEM)):
        raise NotCompilable(f"it calls {name or node.target}, which is not compiled code")
    other = encode_operand(numbers)
    try:
        return ["call", name, encode(list(node.args), other), encode(dict(node.kwargs), other)]
    except NotData as problem:
        raise NotCompilable(f"an argument of {name} cannot be written down: {problem}") from problem


def _bytes_of(tensor: torch.Tensor) -> bytes:
    return tensor.detach().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()


def cxx_compiler() -> str | None:
    """The C++ compiler that would be used, or None if there is none."""
    named = os.environ.get("CXX")
    candidates = [named] if named else ["g++", "clang++", "c++"]
    for candidate in candidates:
        found = shutil.which(candidate)
        if found:
            return os.path.realpath(found)
    return None


#: what a compilation leaves; counted up when that changes
_LAYOUT = 2


def host_identity() -> dict[str, Any]:
    """Everything about this host and its software that compiled code depends on."""
    compiler = cxx_compiler()
    stamp = None
    if compiler is not None:
        info = os.stat(compiler)
        stamp = [compiler, info.st_size, info.st_mtime_ns]
    return {
        "torch": torch.__version__,
        "tremula": __version__,
        "layout": _LAYOUT,
        "machine": platform.machine(),
        "system": platform.system(),
        "processor": _processor(),
        "compiler": stamp,
    }


@functools.cache
def _processor() -> str:
    """The processor's model and features: code is made for exactly these."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            lines = file.read(1 << 16).splitlines()
    except OSError:
        return platform.processor()
    wanted = ("model name", "flags", "Features", "CPU part")
    first: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        if name.strip() in wanted:
            first.setdefault(name.strip(), value.strip())
    return hashlib.sha256(repr(sorted(first.items())).encode()).hexdigest()
