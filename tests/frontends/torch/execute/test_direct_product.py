"""The C++ of small products: compiled with plain vectors of any width it gives torch's numbers."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tremula.frontends.torch.execute.direct_convolution import Vectors
from tremula.frontends.torch.execute.direct_product import Product, is_direct, product_code

from .plain_vectors import called, compiled

SIZES = [(16, 97, 100), (1, 200, 37), (25, 16, 13)]


@pytest.mark.parametrize("width", [4, 16])
def test_products_are_those_of_torch(tmp_path: Path, width: int) -> None:
    torch.manual_seed(width)
    functions, cases = {}, []
    for rows, inner, columns in SIZES:
        for left in (torch.randn(rows, inner), torch.randn(inner, rows).t()):
            for right in (torch.randn(inner, columns), torch.randn(columns, inner).t()):
                for added in (None, torch.randn(columns), torch.randn(rows, columns)):
                    strides = None if added is None else (0, 0, *added.stride())[-2:]
                    if added is not None and added.dim() == 1:
                        strides = (0, 1)
                    product = Product(rows, inner, columns, left.stride(), right.stride(), strides)
                    if not is_direct(product):
                        assert right.stride(1) != 1
                        assert left.stride(1) != 1
                        continue
                    name = f"product{len(cases)}"
                    signature = f"{name}(const float* A, const float* B, const float* C, float* Y)"
                    functions[signature] = product_code(product, Vectors(width), threads=1)
                    cases.append((name, left, right, added))
    assert len(cases) >= len(SIZES) * 3 * 3
    library = compiled(tmp_path, functions, width)
    for name, left, right, added in cases:
        expected = left @ right if added is None else added + left @ right
        found = torch.full_like(expected, float("nan"))
        called(library, name, left, right, expected if added is None else added, found)
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


def test_large_and_tiny_products_are_left_to_libraries() -> None:
    assert is_direct(Product(16, 972, 100, (972, 1), (1, 972), (0, 1)))
    assert not is_direct(Product(128, 768, 768, (768, 1), (768, 1)))
    assert not is_direct(Product(2, 2, 2, (2, 1), (2, 1)))
    assert not is_direct(Product(16, 972, 100, (1, 16), (1, 972)))
    assert not is_direct(Product(16, 972, 100, (972, 1), (200, 2)))
    assert not is_direct(Product(16, 972, 100, (972, 1), (100, 1), (1, 16)))
