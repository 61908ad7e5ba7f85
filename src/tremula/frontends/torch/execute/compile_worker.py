"""The compiler's process, started by `compilation` with the folder of a request: one line per stage on standard
output, shared objects into the cache. Nothing heavy is imported before the lock: of many processes all but one wait.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tremula.cache.store import Store

if TYPE_CHECKING:
    import torch
    from torch import fx

#: stages, in order, with the share of the whole that is done when they begin (percent)
STAGES = {"waiting": 0, "starting": 2, "lowering": 15, "compiling": 45, "storing": 98}

#: said instead of all the rest when another process was faster
FOUND = "found"
#: exit code when there is a result but no place for it
NOT_KEPT = 3

#: in the background a compiler makes way for the program, which waits for nothing
_NICENESS = 15


def main(folder: Path) -> int:
    """Compile the request in `folder`; 0 when the result is in the cache."""
    request = json.loads((folder / "request.json").read_text(encoding="utf-8"))
    if request["background"] and hasattr(os, "nice"):
        with contextlib.suppress(OSError):
            os.nice(_NICENESS)
    store = Store(request["store"], limit_bytes=request["limit_bytes"])
    key: str = request["key"]
    _say("waiting")
    with store.lock(key):
        if store.get(key).entry is not None:
            _say(FOUND)
            return 0
        _say("starting")
        blobs = _compiled(request, folder)
        _say("storing")
        return 0 if store.put(key, request["metadata"], blobs) else NOT_KEPT


def _say(stage: str) -> None:
    print(stage, flush=True)  # noqa: T201 - the parent reads it


def _compiled(request: dict[str, Any], folder: Path) -> dict[str, bytes]:
    warnings.simplefilter("ignore")
    import safetensors.torch
    import torch

    threads = int(request["options"]["threads"])
    torch.set_num_threads(threads)
    constants = safetensors.torch.load_file(folder / "constants.safetensors")
    blobs: dict[str, bytes] = {}
    for name, nodes in request["graphs"].items():
        _say("lowering")
        module, arguments = read_graph(nodes, constants)
        output = folder / "out" / name
        output.mkdir(parents=True)
        with _observed():
            _compile(module, arguments, request["options"], output / f"{name}.so")
        # The second one is there if the code calls ops that it has no direct way to (bilinear interpolation, backward);
        # it says which, and has to lie beside the code under the same name.
        for path in (output / f"{name}.so", *output.glob("*.wrapper.json")):
            blobs[f"{name}{path.suffix}"] = path.read_bytes()
    return blobs


def _compile(
    module: fx.GraphModule, arguments: list[torch.Tensor], options: dict[str, Any], path: Path
) -> None:
    import torch._inductor

    from tremula.frontends.torch.execute import direct_lowerings

    threads = int(options["threads"])
    _lower_products()
    vectors = direct_lowerings.vectors_here()
    direct = vectors is not None and direct_lowerings.takes_all_convolutions(module, arguments, vectors)
    if vectors is not None:
        direct_lowerings.install(vectors, threads, rows_first=direct)
    with torch.no_grad():
        torch._inductor.aot_compile(
            module,
            tuple(arguments),
            options={
                "aot_inductor.output_path": str(path),
                # the draws of the quick form, in the same order
                "fallback_random": True,
                "cpp.threads": 1 if threads == 1 else -1,
                "cpp.dynamic_threads": threads != 1,
                # half precision is rounded after every op, as on the device
                "emulate_precision_casts": bool(options["half"]),
                # indices are compared with sizes; for the program of a file also those that an op says are sound
                "assert_indirect_indexing": True,
                "debug_index_asserts": bool(options["check_indices"]),
                "compile_threads": 1,
                # channels last is what the libraries' convolutions want; our own do not, and norms are slow that way
                "layout_optimization": not direct,
                # our own functions end with what they compute
                "epilogue_fusion": False,
                # they take 300 MB and longer to make than they save in one compilation
                "aot_inductor.precompile_headers": False,
            },
        )


def _lower_products() -> None:
    """Have the compiler take oneDNN's products (`products`) of any two tensors; by itself it wants constant weights."""
    import torch
    from torch._inductor import lowering, mkldnn_ir, mkldnn_lowerings  # noqa: F401 - the last one registers its own
    from torch._inductor.ir import TensorBox

    linear: Any = mkldnn_ir.LinearUnary

    def product(*operands: Any) -> Any:
        return TensorBox.create(linear.create(*operands))

    packet = getattr(torch.ops.mkldnn, "_linear_pointwise", None)
    if packet is not None:
        lowering.lowerings.update({packet: product, packet.default: product})


@contextlib.contextmanager
def _observed() -> Iterator[None]:
    """Say so when the C++ compiler is reached."""
    from torch._inductor import cpp_builder

    builder: Any = cpp_builder.CppBuilder
    original = builder.build
    said = False

    def build(self: Any, *args: Any, **kwargs: Any) -> Any:
        nonlocal said
        if not said:
            said = True
            _say("compiling")
        return original(self, *args, **kwargs)

    builder.build = build
    try:
        yield
    finally:
        builder.build = original


def read_graph(
    nodes: list[Any], constants: dict[str, torch.Tensor]
) -> tuple[fx.GraphModule, list[torch.Tensor]]:
    """The graph of a request, and example arguments for it."""
    import torch
    from torch import fx

    from tremula.frontends.torch.package.allowed_ops import operator_of
    from tremula.frontends.torch.package.operand_data import operand_tags
    from tremula.frontends.torch.package.plain_data import DTYPES, decode

    graph = fx.Graph()
    root = torch.nn.Module()
    made: list[fx.Node] = []
    arguments = []
    tags = operand_tags(lambda number: made[number])
    for kind, *rest in nodes:
        if kind == "input":
            shape, strides, dtype = rest
            arguments.append(torch.empty_strided(shape, strides, dtype=DTYPES[dtype]).zero_())
            made.append(graph.placeholder(f"input_{len(made)}"))
        elif kind == "constant":
            name = f"_constant_{len(made)}"
            root.register_buffer(name, constants[rest[0]])
            made.append(graph.get_attr(name))
        elif kind == "output":
            graph.output([made[number] for number in rest[0]])
        else:
            name, args, kwargs = rest
            made.append(
                graph.call_function(operator_of(name), tuple(decode(args, tags)), decode(kwargs, tags))
            )
    return fx.GraphModule(root, graph), arguments


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
