"""How torch's compiler takes convolutions with few channels and small products: as code of our own between its kernels,
without a call into a library. For the compiler's process only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import fx

from tremula.frontends.torch.execute import direct_pooling, direct_product
from tremula.frontends.torch.execute.direct_convolution import (
    Convolution,
    Vectors,
    forward_code,
    is_direct,
    weight_gradient_code,
)
from tremula.frontends.torch.graphs.program import tensors_of

_ATEN = torch.ops.aten
_FORWARD = _ATEN.convolution.default
_BACKWARD = _ATEN.convolution_backward.default


def vectors_here() -> Vectors | None:
    """The vectors that the compiler uses on this host; None if it uses none, or does not take code of others."""
    try:
        from torch._inductor.codegen import cpp_template, cpp_template_kernel  # noqa: F401 - whether they are there
        from torch._inductor.cpu_vec_isa import pick_vec_isa
    except ImportError:
        return None
    isa: Any = pick_vec_isa()
    return Vectors(isa.nelements()) if isa else None


def takes_all_convolutions(
    module: fx.GraphModule, arguments: Sequence[torch.Tensor], vectors: Vectors
) -> bool:
    """Whether every convolution of a graph, and there are some, is computed by this code."""
    from torch.fx.passes.fake_tensor_prop import FakeTensorProp

    graph = module.graph
    if not any(node.target in (_FORWARD, _BACKWARD) for node in graph.nodes):
        return False
    FakeTensorProp(module).propagate(*arguments)
    problems = [
        _problem(*[tensors_of(operand)[0] for operand in node.args[:2]], *node.args[3:9])  # type: ignore[arg-type]
        for node in graph.nodes
        if node.target is _FORWARD
    ]
    problems += [
        _problem(*[tensors_of(operand)[0] for operand in node.args[1:3]], *node.args[4:10])  # type: ignore[arg-type]
        for node in graph.nodes
        if node.target is _BACKWARD
    ]
    return bool(problems) and all(problem is not None and is_direct(problem, vectors) for problem in problems)


def install(vectors: Vectors, threads: int, *, rows_first: bool) -> None:
    """Have the compiler lower convolutions and products that suit this code to it, and the others as before; pooling as
    well if images lie row by row (`rows_first`).
    """
    _install_convolutions(vectors, threads)
    _install_products(vectors, threads)
    if rows_first:
        _install_pooling(vectors, threads)


def _install_pooling(vectors: Vectors, threads: int) -> None:
    from torch._inductor import inductor_prims, lowering

    op: Any = getattr(inductor_prims, "_low_memory_max_pool_with_offsets", None)
    usual: Any = lowering.lowerings.get(op)
    if usual is None:
        return

    def lower(x: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: Any = False) -> Any:
        window = [direct_pooling.WINDOW] * 2
        shape = x.get_size()
        plain = list(kernel) == list(stride or kernel) == window and not any(padding) and not ceil_mode
        if not plain or any(each != 1 for each in dilation) or x.get_dtype() is not torch.float32:
            return usual(x, kernel, stride, padding, dilation, ceil_mode)
        if len(shape) < 3 or not all(_is_number(extent) for extent in shape):
            return usual(x, kernel, stride, padding, dilation, ceil_mode)
        *outer, height, width = (int(extent) for extent in shape)
        pooling = direct_pooling.Pooling(math.prod(outer), height, width)
        if min(pooling.images, *pooling.result) == 0:
            return usual(x, kernel, stride, padding, dilation, ceil_mode)
        inputs, result = {"X": _contiguous(x)}, [*outer, *pooling.result]
        maxima = direct_pooling.maxima_code(pooling, vectors, threads=threads)
        places = direct_pooling.places_code(pooling, vectors, threads=threads)
        return _called(inputs, result, maxima), _called(inputs, result, places, torch.int8)

    lowering.lowerings[op] = lower


def _install_products(vectors: Vectors, threads: int) -> None:
    from torch._inductor import lowering
    from torch._inductor.kernel import mm  # noqa: F401 - it registers its own

    plain: Any = lowering.lowerings[_ATEN.mm.default]
    adding: Any = lowering.lowerings[_ATEN.addmm.default]

    def lower_plain(left: Any, right: Any, **layout: Any) -> Any:
        found = None if layout else _product(vectors, threads, left, right)
        return plain(left, right, **layout) if found is None else found

    def lower_adding(added: Any, left: Any, right: Any, **factors: Any) -> Any:
        usual = all(name in ("alpha", "beta") and factor == 1 for name, factor in factors.items())
        found = _product(vectors, threads, left, right, added) if usual else None
        return adding(added, left, right, **factors) if found is None else found

    lowering.lowerings.update({_ATEN.mm.default: lower_plain, _ATEN.addmm.default: lower_adding})


def _product(vectors: Vectors, threads: int, left: Any, right: Any, added: Any = None) -> Any:
    """The result of our code for a product; None if it does not suit it."""
    values = [left, right] if added is None else [left, right, added]
    shapes = [value.get_size() for value in values]
    if not all(_is_number(extent) for shape in shapes for extent in shape):
        return None
    rows, inner, columns = int(shapes[0][0]), int(shapes[0][1]), int(shapes[1][1])
    if added is not None and [int(extent) for extent in shapes[2]] not in ([columns], [rows, columns]):
        return None
    if any(value.get_dtype() is not torch.float32 for value in values):
        return None
    if not direct_product.is_direct(direct_product.Product(rows, inner, columns, (inner, 1), (columns, 1))):
        return None  # whatever the strides are
    inputs = dict(zip("ABC", [_realized(value) for value in values], strict=False))
    strides = {name: [int(stride) for stride in value.get_stride()] for name, value in inputs.items()}
    of_added = None if added is None else [0, *strides["C"]][-2:]
    problem = direct_product.Product(
        rows,
        inner,
        columns,
        _two(strides["A"]),
        _two(strides["B"]),
        None if of_added is None else _two(of_added),
    )
    if not direct_product.is_direct(problem) or _repeated(inputs):
        return None
    return _called(inputs, [rows, columns], direct_product.product_code(problem, vectors, threads=threads))


def _two(strides: Sequence[int]) -> tuple[int, int]:
    first, second = strides
    return first, second


def _install_convolutions(vectors: Vectors, threads: int) -> None:
    from torch._inductor import lowering
    from torch._inductor.kernel import conv  # noqa: F401 - it registers its own

    forward: Any = lowering.lowerings[_FORWARD]
    backward: Any = lowering.lowerings[_BACKWARD]

    def lower_forward(x: Any, weight: Any, bias: Any, *geometry: Any) -> Any:
        problem = _lowered_problem(x, weight, geometry, vectors)
        if problem is None:
            return forward(x, weight, bias, *geometry)
        inputs = {"X": _contiguous(x), "W": _realized(weight)}
        if bias is not None:
            inputs["B"] = _contiguous(bias)
        if _repeated(inputs):
            return forward(x, weight, bias, *geometry)
        problem = _laid(problem, inputs["W"])
        code = forward_code(problem, vectors, biased=bias is not None, threads=threads)
        return _called(inputs, [problem.images, problem.outputs, *problem.result], code)

    def lower_backward(gradient: Any, x: Any, weight: Any, bias_sizes: Any, *geometry: Any) -> Any:
        *geometry_, wanted = geometry
        problem = _lowered_problem(x, weight, geometry_, vectors)
        if problem is None or not is_direct(problem.of_input(), vectors):
            return backward(gradient, x, weight, bias_sizes, *geometry)
        operands = {"G": _contiguous(gradient), "X": _contiguous(x), "W": _realized(weight)}
        if _repeated(operands):
            return backward(gradient, x, weight, bias_sizes, *geometry)
        results: list[Any] = [None, None, None]
        if wanted[0]:
            back = _laid(problem, operands["W"]).of_input()
            code = forward_code(back, vectors, biased=False, threads=threads)
            inputs = {"X": operands["G"], "W": operands["W"]}
            results[0] = _called(inputs, [problem.images, problem.inputs, *problem.size], code)
        if wanted[1]:
            code = weight_gradient_code(problem, vectors, threads=threads)
            inputs = {"G": operands["G"], "X": operands["X"]}
            results[1] = _called(inputs, [problem.outputs, problem.inputs, *problem.window], code)
        if wanted[2]:
            results[2] = lowering.lowerings[_ATEN.sum.dim_IntList](gradient, [0, 2, 3])
        return results

    lowering.lowerings.update({_FORWARD: lower_forward, _BACKWARD: lower_backward})


def _problem(
    x: torch.Tensor,
    weight: torch.Tensor,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    _output_padding: Sequence[int],
    groups: int,
) -> Convolution | None:
    """The convolution of two tensors, if it is one that there is code for; its weights are taken as contiguous."""
    shapes = [tuple(x.shape), tuple(weight.shape)]
    if any(tensor.dtype is not torch.float32 or tensor.dim() != 4 for tensor in (x, weight)):
        return None
    if transposed or groups != 1 or any(each != 1 for each in (*stride, *dilation)):
        return None
    if not all(isinstance(extent, int) for shape in shapes for extent in shape):
        return None
    (images, inputs, *size), (outputs, _, rows, columns) = shapes
    above, left = padding if len(padding) == 2 else (*padding, *padding)
    return Convolution(
        images, inputs, outputs, (size[0], size[1]), (rows, columns), (above, left),
        (inputs * rows * columns, rows * columns, columns, 1),
    )  # fmt: skip


def _lowered_problem(x: Any, weight: Any, geometry: Sequence[Any], vectors: Vectors) -> Convolution | None:
    """The same of values of the compiler."""
    shapes = [each.get_size() for each in (x, weight)]
    if not all(_is_number(extent) for shape in shapes for extent in shape):
        return None
    tensors = [
        torch.empty([int(extent) for extent in shape], dtype=each.get_dtype(), device="meta")
        for each, shape in zip((x, weight), shapes, strict=True)
    ]
    problem = _problem(tensors[0], tensors[1], *geometry)
    return problem if problem is not None and is_direct(problem, vectors) else None


def _is_number(extent: Any) -> bool:
    return isinstance(extent, int) or bool(getattr(extent, "is_Integer", False))


def _contiguous(value: Any) -> Any:
    from torch._inductor import ir

    return ir.ExternKernel.require_contiguous(ir.ExternKernel.realize_input(value))


def _realized(value: Any) -> Any:
    from torch._inductor import ir

    found: Any = ir.ExternKernel.realize_input(value)
    if isinstance(found.get_layout(), ir.FlexibleLayout):
        found.freeze_layout()
    return found


def _repeated(inputs: Mapping[str, Any]) -> bool:
    """Whether two operands lie in the same buffer: arguments go by its name."""
    names = [value.get_name() for value in inputs.values()]
    return len(set(names)) < len(names)


def _laid(problem: Convolution, weight: Any) -> Convolution:
    """The problem with its weights as they lie in memory."""
    by_output, by_input, by_row, by_column = (int(stride) for stride in weight.get_stride())
    return replace(problem, strides=(by_output, by_input, by_row, by_column))


def _called(
    inputs: Mapping[str, Any], shape: Sequence[int], body: str, dtype: torch.dtype = torch.float32
) -> Any:
    """The result of `body`, a function of pointers to the inputs and to `Y`."""
    from torch._inductor import ir
    from torch._inductor.codegen.cpp_template import CppTemplate

    strides = [1]
    for extent in reversed(shape[1:]):
        strides.insert(0, strides[0] * int(extent))
    layout = ir.FixedLayout(torch.device("cpu"), dtype, list(shape), strides)
    nodes = {name: _buffer(value) for name, value in inputs.items()}
    offsets = {name: int(value.get_layout().offset) for name, value in nodes.items()}
    source = "\n".join([*(f"{name} += {offset};" for name, offset in offsets.items() if offset), body])

    class Direct(CppTemplate):
        """A function of ours in the compiler's code."""

        def render(self, **given: Any) -> str:
            kernel, placed = given["kernel"], given.get("template_buffer_node")
            result = self.output_node if placed is None else placed
            head = self.header().getvalue()
            signature = kernel.def_kernel(inputs=nodes, outputs={"Y": result})
            return (
                f'{head}\n#include <cstring>\n#include <numeric>\nextern "C" {signature}\n{{\n{source}\n}}\n'
            )

    make: Callable[[], Any] = Direct("direct", list(nodes.values()), layout, 1).generate
    return make().output_node()


def _buffer(value: Any) -> Any:
    """What arguments are made of: a buffer, or a view that says where in one it begins."""
    from torch._inductor import ir

    while isinstance(value, ir.TensorBox | ir.StorageBox):
        value = value.data
    return value
