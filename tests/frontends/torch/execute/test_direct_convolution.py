"""The C++ of small convolutions: compiled with plain vectors of any width it gives torch's numbers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tremula.frontends.torch.execute.compile_request import cxx_compiler
from tremula.frontends.torch.execute.direct_convolution import (
    Convolution,
    Vectors,
    even_blocks,
    forward_code,
    is_direct,
    parts,
    weight_gradient_code,
)

from .plain_vectors import called, compiled


def plain(
    images: int, inputs: int, outputs: int, size: tuple[int, int], window: tuple[int, int], padding: tuple[int, int]
) -> Convolution:  # fmt: skip
    taps = window[0] * window[1]
    return Convolution(images, inputs, outputs, size, window, padding, (inputs * taps, taps, window[1], 1))


PROBLEMS = [
    plain(16, 1, 5, (28, 28), (3, 3), (0, 0)),
    plain(3, 5, 12, (13, 13), (5, 5), (0, 0)),
    plain(2, 3, 19, (9, 7), (3, 2), (1, 1)),
    plain(1, 2, 7, (5, 17), (1, 4), (0, 2)),
    plain(2, 4, 3, (6, 5), (4, 1), (3, 0)),
    plain(2, 1, 1, (3, 3), (3, 3), (2, 2)),
]


@pytest.mark.parametrize("width", [4, 16])
def test_results_and_gradients_are_those_of_torch(tmp_path: Path, width: int) -> None:
    vectors = Vectors(width)
    problems = [problem for problem in PROBLEMS if is_direct(problem, vectors)]
    assert len(problems) >= 4
    functions = {}
    for number, problem in enumerate(problems):
        pointers = "const float* X, const float* W, const float* B, float* Y"
        functions[f"forward{number}({pointers})"] = forward_code(problem, vectors, biased=True, threads=1)
        last = problem.strides[-1]
        laid = Convolution(**{**vars(problem), "strides": channels_last_strides(problem)})
        assert last == 1
        back = laid.of_input()
        functions[f"backward{number}(const float* X, const float* W, float* Y)"] = forward_code(
            back, vectors, biased=False, threads=1
        )
        functions[f"weights{number}(const float* G, const float* X, float* Y)"] = weight_gradient_code(
            problem, vectors, threads=1
        )
    library = compiled(tmp_path, functions, width)
    torch.manual_seed(width)
    for number, problem in enumerate(problems):
        x = torch.randn(problem.images, problem.inputs, *problem.size, requires_grad=True)
        weight = torch.randn(problem.outputs, problem.inputs, *problem.window, requires_grad=True)
        bias = torch.randn(problem.outputs)
        expected = torch.nn.functional.conv2d(x, weight, bias, padding=problem.padding)
        gradient = torch.randn_like(expected)
        expected.backward(gradient)
        found = torch.full_like(expected, float("nan")).detach()
        called(library, f"forward{number}", x, weight, bias, found)
        torch.testing.assert_close(found, expected.detach(), rtol=1e-4, atol=1e-4)
        found = torch.full_like(x, float("nan")).detach()
        # the weights lie channels last here: their strides are part of the code
        last = weight.detach().permute(0, 2, 3, 1).contiguous()
        called(library, f"backward{number}", gradient, last, found)
        torch.testing.assert_close(found, x.grad, rtol=1e-4, atol=1e-4)
        found = torch.full_like(weight, float("nan")).detach()
        called(library, f"weights{number}", gradient, x, found)
        torch.testing.assert_close(found, weight.grad, rtol=1e-4, atol=1e-3)


def channels_last_strides(problem: Convolution) -> tuple[int, int, int, int]:
    rows, columns = problem.window
    return rows * columns * problem.inputs, 1, columns * problem.inputs, problem.inputs


@given(st.integers(1, 200), st.integers(1, 40))
def test_blocks_cover_everything_once_and_are_not_too_large(extent: int, most: int) -> None:
    block = even_blocks(extent, most)
    assert block <= most
    covered = [
        place + inside
        for first, end, size in parts(extent, block)
        for place in range(first, end, size)
        for inside in range(size)
    ]
    assert covered == list(range(extent))


def test_the_gradient_of_the_gradient_is_the_convolution() -> None:
    for problem in PROBLEMS:
        back = problem.of_input()
        assert back.result == problem.size
        assert back.of_input() == problem


def test_large_problems_are_left_to_libraries() -> None:
    vectors = Vectors(16)
    assert not is_direct(plain(1, 64, 64, (56, 56), (3, 3), (1, 1)), vectors)
    assert not is_direct(plain(1, 3, 64, (224, 224), (7, 7), (3, 3)), vectors)
    assert not is_direct(plain(1, 1, 4, (5, 5), (3, 3), (-1, 0)), vectors)
    assert not is_direct(plain(1, 1, 4, (2, 2), (3, 3), (0, 0)), vectors)
    assert is_direct(plain(16, 1, 5, (28, 28), (3, 3), (0, 0)), vectors)


_COMPILED = """
import sys
import torch
from torch._dynamo.utils import counters
from torch.fx.experimental.proxy_tensor import make_fx
from tremula.frontends.torch.execute.compile_worker import _compile

def step(x, first, bias, second, gradient):
    middle = torch.ops.aten.convolution(x, first, bias, [1, 1], [1, 1], [1, 1], False, [0, 0], 1).relu()
    geometry = ([1, 1], [0, 0], [1, 1], False, [0, 0], 1)
    result = torch.ops.aten.convolution(middle, second, None, *geometry)
    own = torch.ops.aten.convolution_backward(gradient, middle, second, [WIDE], *geometry, [True, True, True])
    back = torch.ops.aten.convolution_backward(
        own[0] * (middle > 0), x, first, [5], [1, 1], [1, 1], [1, 1], False, [0, 0], 1, [False, True, True]
    )
    return [result, *own, *back[1:]]

torch.set_num_threads(1)
torch.manual_seed(0)
given = [
    torch.randn(3, 2, 9, 9), torch.randn(5, 2, 3, 3), torch.randn(5),
    torch.randn(WIDE, 5, 4, 4).to(memory_format=torch.channels_last), torch.randn(3, WIDE, 6, 6),
]
expected = step(*given)
_compile(make_fx(step)(*given), given, {"threads": 1, "half": False, "check_indices": False}, sys.argv[1])
found = torch._C._aoti.AOTIModelContainerRunnerCpu(sys.argv[1], 1).run(given)
for mine, theirs in zip(found, expected, strict=True):
    torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-3)
print(counters["inductor"]["cpp_templated_kernel_counter"])
"""


@pytest.mark.slow
@pytest.mark.parametrize(("wide", "kernels"), [(12, 5), (2000, 2)])
def test_the_compiler_takes_it_where_it_suits(tmp_path: Path, wide: int, kernels: int) -> None:
    if cxx_compiler() is None:
        pytest.skip("there is no C++ compiler")
    script = tmp_path / "script.py"
    script.write_text(_COMPILED.replace("WIDE", str(wide)))
    output = tmp_path / "code.so"
    found = subprocess.run(
        [sys.executable, str(script), str(output)], capture_output=True, text=True, timeout=300, check=False
    )
    assert found.returncode == 0, found.stderr
    assert int(found.stdout.split()[-1]) == kernels
