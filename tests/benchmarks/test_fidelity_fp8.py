"""Programs whose products by weights were converted to fp8."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tremula.program.tensor import Role
from tremula.program.work import Cast, MatMul


@pytest.fixture
def narrowed(benchmark: Any) -> Callable[..., Any]:
    found: Callable[..., Any] = benchmark("fidelity_fp8").narrowed
    return found


def test_weights_take_a_byte_and_inputs_are_cast(
    narrowed: Callable[..., Any], layered: Callable[..., Any]
) -> None:
    program = layered(2, rows=64, width=128, training=False)
    halves = {"dtype": "fp16"}
    program = replace(
        program,
        ops=[replace(op, works=tuple(replace(work, **halves) for work in op.works)) for op in program.ops],
        tensors=[replace(tensor, bytes=tensor.bytes // 2, **halves) for tensor in program.tensors],
    )
    found = narrowed(program)
    before, after = (
        [tensor for tensor in each.tensors if tensor.role is Role.PARAMETER] for each in (program, found)
    )
    assert [tensor.bytes for tensor in after] == [tensor.bytes // 2 for tensor in before]
    works = [work for op in found.ops for work in op.works]
    products = [work for work in works if isinstance(work, MatMul)]
    assert products
    assert all(work.dtype == "fp8" for work in products)
    assert [work.elements for work in works if isinstance(work, Cast)] == [w.rows * w.inner for w in products]
