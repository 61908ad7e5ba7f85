"""The programs in examples/poplar run in processes of their own and print what the tutorials they stand for print."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).parents[2] / "examples" / "poplar"


def run(folder: Path, name: str, *arguments: str) -> tuple[str, str]:
    """What an example prints on stdout and stderr."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(EXAMPLES / f"{name}.py"), *arguments]
    ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=110)
    assert ran.returncode == 0, ran.stderr[-2000:]
    return ran.stdout, ran.stderr


def in_order(text: str, *parts: str) -> bool:
    """Whether a text has these parts, one after the other."""
    return re.search(".*".join(re.escape(part) for part in parts), text, re.DOTALL) is not None


def test_variables_and_copies(tmp_path: Path) -> None:
    out, printed = run(tmp_path, "variables")
    ones = "[1.0000000 1.5000000 2.0000000 2.5000000]"
    assert in_order(printed, f"v1-debug: {ones}", f"v2-debug: {ones}")
    assert in_order(printed, "v4-0: [0 1 2 3 4 5 6 7 8 9]", "v4-1: [10 11 12 13 14 15 16 17 18 19]")
    assert in_order(out, "Program complete", "[0.  1.  1.5 2. ]")


def test_the_same_on_a_virtual_ipu(tmp_path: Path) -> None:
    out, printed = run(tmp_path, "variables", "--device", "ipu")
    assert re.search(r"Trying to attach to IPU\nAttached to IPU \d+\n", out)
    assert "v4-1: [10 11 12 13 14 15 16 17 18 19]" in printed


def test_library_operations(tmp_path: Path) -> None:
    _, printed = run(tmp_path, "operations")
    assert in_order(
        printed,
        "v3: [\n  [5.0000000 4.5000000]\n  [4.0000000 3.5000000]\n]",
        "v4: [\n  [9.0000000 7.5000000]\n  [6.0000000 4.5000000]\n]",
        "v5: [\n  [5.0000000 3.5000000]\n  [5.0000000 3.5000000]\n]",
    )


def test_vertices(tmp_path: Path) -> None:
    out, printed = run(tmp_path, "vertices")
    assert "v2: [7.0000000 6.0000000 4.5000000 2.5000000]" in printed
    assert "Program complete" in out


def test_profiling(tmp_path: Path) -> None:
    out, _ = run(tmp_path, "profiling", str(tmp_path))
    assert in_order(out, "Program complete", "Memory Usage:", "Example information from profile:")
    assert re.search(r"Number of compute sets: \d+\nNumber of tiles on target: 1472", out)
    assert (tmp_path / "profile.pop").stat().st_size > 0


def test_matrix_times_vector(tmp_path: Path) -> None:
    out, _ = run(tmp_path, "matrix_vector", "40", "50")
    assert in_order(out, "Multiplying matrix of size 40x50 by vector of size 50", "Multiplication result OK")


@pytest.mark.parametrize(
    ("device", "best", "worst"),
    [("model-ipu2", 3996, 53807), ("model-ipu1", 4751, 64373), ("ipu", 3996, 53807)],
)
def test_matrix_times_vector_with_a_split(tmp_path: Path, device: str, best: int, worst: int) -> None:
    out, _ = run(tmp_path, "matrix_vector_split", "10000", "1000", "--device", device)
    assert f"with {best} cycles. Worst cost seen: {worst}\n" in out
    assert in_order(out, "Multiplication result OK", "Memory Usage:", "Cycles by vertex type:", "DotProduct")


def test_executables_are_saved_and_loaded(tmp_path: Path) -> None:
    file = str(tmp_path / "executable")
    for more in ((), ("--load",)):
        out, _ = run(tmp_path, "save_and_load", file, *more)
        assert "Results match. [5. 5. 5. 5.]" in out


def test_callbacks_prefetch(tmp_path: Path) -> None:
    out, _ = run(tmp_path, "prefetch")
    assert in_order(
        out,
        "Running",
        "fetch (value: 1)",
        "complete (value: 1)",
        "prefetch (value: 1)",
        "prefetch (value: 9)",
    )


def test_blocks_have_their_cycles(tmp_path: Path) -> None:
    out, _ = run(tmp_path, "blocks")
    found = re.findall(r"(\w+): (\d+) \((\d+) - (\d+)\)", out)
    assert {name for name, *_ in found} == {"stage1", "stage2", "op2"}
    assert all(int(end) - int(begin) == int(cycles) for _, cycles, begin, end in found)
    assert sum(name == "op2" for name, *_ in found) == 10


def idx(array: np.ndarray) -> bytes:
    """An array in the file format of MNIST."""
    return (
        bytes([0, 0, 8, array.ndim])
        + np.array(array.shape, ">u4").tobytes()
        + array.astype(np.uint8).tobytes()
    )


@pytest.mark.parametrize("device", [(), ("--ipu",)])
def test_softmax_regression_learns(tmp_path: Path, device: tuple[str, ...]) -> None:
    random = np.random.default_rng(1)
    labels = random.integers(0, 10, 600)
    images = random.integers(0, 40, (600, 28, 28))
    for number in range(10):  # a bright row for each digit
        images[labels == number, 2 * number + 4] = 255
    (tmp_path / "train-images-idx3-ubyte").write_bytes(idx(images))
    (tmp_path / "train-labels-idx1-ubyte").write_bytes(idx(labels))
    out, _ = run(tmp_path, "mnist_regression", str(tmp_path), "12", *device)
    assert ("Using the IPU\n" if device else "Using the IPU Model\n") in out
    accuracy = [int(each) for each in re.findall(r"Epoch \d+ \(100%\), accuracy (\d+)%", out)]
    expected = regression(images.reshape(600, -1).astype(np.float32) / 255, labels, epochs=12)
    np.testing.assert_allclose(accuracy, expected, atol=1.01)
    assert accuracy[-1] > 80


def regression(images: np.ndarray, labels: np.ndarray, epochs: int) -> list[float]:
    """The same training in NumPy: per cent of the images that were right when they were seen."""
    random = np.random.default_rng(0)
    weights = random.normal(size=(10, images.shape[1])).astype(np.float32)
    biases = random.normal(size=(10, 1)).astype(np.float32)
    found = []
    for _ in range(epochs):
        right = 0
        for image, label in zip(images, labels, strict=True):
            scores = weights @ image[:, None] + biases
            chances = np.exp(scores - scores.max())
            chances /= chances.sum()
            right += int(scores.argmax() == label)
            chances[label] -= 1
            biases -= np.float32(0.0009) * chances
            weights -= np.float32(0.0009) * (chances @ image[None, :])
        found.append(right / len(images) * 100)
    return found
