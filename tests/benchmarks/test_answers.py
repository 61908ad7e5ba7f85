"""How long answers take: what is measured, and what is a miss."""

from __future__ import annotations

from benchmarks.answers import CPU_SECONDS, missed, table_line


def test_cpu_seconds_stand_beside_those_of_the_clock() -> None:
    figures = {"seconds": 6.5, "cpu_seconds": 4.25, "gib": 0.5, "line": "bow 1"}
    assert "6.5" in table_line("resnet18", figures)
    assert "4.2   (5)" in table_line("resnet18", figures)
    assert not missed("resnet18", figures)
    assert missed("resnet18", {**figures, "cpu_seconds": CPU_SECONDS["resnet18"] + 0.1})
    assert not missed("resnet50", {**figures, "cpu_seconds": 9.0})
