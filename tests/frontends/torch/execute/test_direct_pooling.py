"""The C++ of maximum pooling: compiled with plain vectors of any width it gives torch's maxima, and their places."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tremula.frontends.torch.execute.direct_convolution import Vectors
from tremula.frontends.torch.execute.direct_pooling import Pooling, maxima_code, places_code

from .plain_vectors import called, compiled

SIZES = [(3, 26, 26), (2, 5, 9), (1, 2, 2), (2, 3, 70), (1, 4, 33)]


@pytest.mark.parametrize("width", [4, 16])
def test_maxima_and_their_places_are_those_of_torch(tmp_path: Path, width: int) -> None:
    vectors, functions = Vectors(width), {}
    for number, size in enumerate(SIZES):
        pooling = Pooling(*size)
        functions[f"maxima{number}(const float* X, float* Y)"] = maxima_code(pooling, vectors, threads=1)
        functions[f"places{number}(const float* X, int8_t* Y)"] = places_code(pooling, vectors, threads=1)
    library = compiled(tmp_path, functions, width)
    torch.manual_seed(width)
    for number, (images, height, across) in enumerate(SIZES):
        # few values: many are equal, and the first of them counts
        x = torch.randint(-2, 3, (1, images, height, across)).float()
        x[0, 0, 0, 1] = float("nan")
        expected, indices = torch.nn.functional.max_pool2d(x, 2, return_indices=True)
        found = torch.zeros_like(expected)
        called(library, f"maxima{number}", x, found)
        torch.testing.assert_close(found, expected, rtol=0, atol=0, equal_nan=True)
        places = torch.full(expected.shape, -1, dtype=torch.int8)
        called(library, f"places{number}", x, places)
        rows = torch.arange(expected.shape[-2])[:, None] * 2 + places // 2
        columns = torch.arange(expected.shape[-1]) * 2 + places % 2
        torch.testing.assert_close(rows * across + columns, indices)
