"""The speed benchmark of ONNX models: its rows, its table, and what it says without onnxruntime."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

import pytest

REACHED = {
    "ratio": 1.0, "ratio_cpu": 0.97, "ours_ms": 12.5, "theirs_ms": 12.0, "differences": [2e-6], "agrees": True,
    "form": "captured, quick", "settled_seconds": 9.0,
}  # fmt: skip


@pytest.fixture
def benchmark(benchmark: Any) -> Any:
    """The module of the benchmark."""
    return benchmark("speed_onnx")


def test_each_row_has_a_network(benchmark: Any) -> None:
    cases = importlib.import_module("benchmarks.speed_onnx_child").CASES
    assert {row.network for row in benchmark.ROWS} == set(cases)
    assert [row.key for row in benchmark.chosen_rows(benchmark.ROWS, "cnn,bert-tr")] == [
        "cnn-inference",
        "bert-training",
        "cnn-training",
    ]
    with pytest.raises(ValueError, match="no row begins with 'gpt'"):
        benchmark.chosen_rows(benchmark.ROWS, "gpt")


def test_a_row_is_told_in_one_line(benchmark: Any) -> None:
    row = benchmark.chosen_rows(benchmark.ROWS, "cnn-inference")[0]
    line = benchmark.table_line(row, REACHED)
    assert "onnxruntime" in line
    assert "1.00 (1.10)" in line
    assert "ok   agree (2e-06)" in line
    assert "not measured: no such" in benchmark.table_line(row, {"error": "no such"})


def test_a_miss_counts_by_both_times_and_by_the_results(benchmark: Any) -> None:
    row = benchmark.chosen_rows(benchmark.ROWS, "cnn-inference")[0]
    for change, verdict in (
        ({"ratio": 1.104}, "ok"),
        ({"ratio": 1.2}, "cpu"),
        ({"ratio": 1.2, "ratio_cpu": 1.2}, "MISS"),
        ({"agrees": False}, "MISS"),
    ):
        assert benchmark.verdict(row, {**REACHED, **change}) == verdict


def test_onnxruntime_is_only_needed_for_inference(
    benchmark: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert benchmark.main(["--rows", "cnn"]) == 2
    assert "pip install onnxruntime" in capsys.readouterr().err
    monkeypatch.setattr(benchmark, "_measured", lambda row, options: REACHED)
    assert benchmark.main(["--rows", "cnn-training"]) == 0
    assert "PyTorch eager" in capsys.readouterr().out
