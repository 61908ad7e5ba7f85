"""Every figure can be asked why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tremula.errors import Error
from tremula.estimate import Estimate, estimate
from tremula.estimate.bands import OTHERS, Band, band, bands, parse_bands
from tremula.estimate.explain import FIGURES
from tremula.estimate.figures import banded_figures
from tremula.hardware.catalogue import system
from tremula.program.loops import Loops
from tremula.program.work import Unknown
from tremula.schedule.deployment import Deployment


@pytest.fixture(scope="module")
def found(layered: Callable[..., Any]) -> Estimate:
    """A pipeline that trains, with an op that nobody knows."""
    program = layered(4, stages=2, rows=64, width=256, loops=Loops(gradient_accumulation=16, replicas=4))
    program.ops[0].works = (Unknown("vendor::magic", 1000, 1000),)
    program.ops[0].unknown = True
    return estimate(
        program, Deployment(execution="pipelined", ipus_per_replica=2, recompute="all"), system("bow-pod16")
    )


@pytest.mark.parametrize("figure", FIGURES)
def test_every_figure_has_a_reason(found: Estimate, figure: str) -> None:
    text = str(found.explain(figure))
    assert len(text.splitlines()) > 3


def test_of_peak_says_what_it_counts(found: Estimate) -> None:
    explained = found.explain("of_peak")
    shown = banded_figures(found)["utilisation"]
    assert explained.value == pytest.approx(shown.value)
    assert explained.unit == shown.unit
    work, peak, seconds = (part.value for part in explained.parts)
    assert work is not None
    assert peak is not None
    assert seconds is not None
    assert work / seconds / peak == pytest.approx(shown.value)


def test_an_op_is_explained_by_its_plan(found: Estimate) -> None:
    explained = found.explain("mm3")
    text = str(explained)
    assert explained.value == pytest.approx(next(op.cycles for op in found.ops if op.name == "mm3"))
    assert "16 runs" in text
    assert "source:" in text
    assert "not taken:" in text
    assert text == str(found.explain("net/layer3/mm3"))


def test_parts_sum_to_the_whole(found: Estimate) -> None:
    whole = found.explain("breakdown")
    assert sum(part.value or 0 for part in whole.parts) == pytest.approx(found.cycles_per_step)
    (run,) = found.explain("relu0").parts
    steps = [part.value for part in run.parts if part.unit == "cycles" and part.value is not None]
    assert sum(steps) == pytest.approx(run.value)


def test_unknown_names_are_refused_with_what_is_near(found: Estimate) -> None:
    with pytest.raises(Error, match=r"(?s)thruput.*throughput"):
        found.explain("thruput")


def test_the_summary_calls_everything_modelled(found: Estimate) -> None:
    lines = found.summary().splitlines()
    assert lines[0].startswith("Modelled for Bow in the Bow-2000, 8 of 16 IPUs of bow-pod16")
    figures = [line for line in lines if any(unit in line for unit in ("samples/s", " cycles)", "bytes on"))]
    figures = [line for line in figures if "fallback" not in line]
    assert len(figures) == 3
    assert all("modelled" in line for line in figures)
    assert "pipeline: 3 stages, 18 cycles" in found.summary()
    # the op runs twice, but is one
    assert "1 ops are costed by a fallback" in found.summary()
    assert [op.name for op in found.unknown_ops] == ["mm0"]


def test_bands() -> None:
    assert set(bands()) >= {"training", "inference", "scaling", "memory"}
    assert Band(0.5, 2.0, 3).around(10.0) == (5.0, 20.0)
    assert "3 published rows" in str(Band(0.5, 2.0, 3))
    assert "default" in str(Band(0.5, 2.0, 0))
    low, high = band("memory").around(1.0)
    assert low < 1 < high
    # a category without rows has the band of the others
    assert band("nothing of the kind") == bands()[OTHERS]


def test_categories_with_few_rows_share_a_band() -> None:
    found = parse_bands(
        "[gemm]\nlow = 0.9\nhigh = 1.2\nrows = 30\n"
        "[others]\nlow = 0.5\nhigh = 2.0\nrows = 9\nfamilies = 4\ncoverage = 0.8\ncategories = ['gemm', 'host']"
    )
    assert found["host"] is found["others"]
    assert found["gemm"].high == 1.2
    assert "9 published rows of several kinds" in str(found["host"])
    assert found["host"].inverse.coverage == 0.8


def test_an_op_has_the_band_of_its_kind(found: Estimate) -> None:
    op = next(op for op in found.ops if op.category == "gemm")
    low, high = band("gemm").inverse.around(op.cycles)
    said = found.explain(op.name).text
    assert "(gemm: " in said
    assert f"{low:,.0f} to {high:,.0f}" in said


@pytest.mark.parametrize(
    "text", ["[a]\nlow = 1.0", "[a]\nlow = 2.0\nhigh = 1.0\nrows = 0", "[a]\nlow = 'x'\nhigh = 1.0\nrows = 0"]
)
def test_bands_that_make_no_sense(text: str) -> None:
    with pytest.raises(Error, match="band of a"):
        parse_bands(text)


def test_notebooks_show_figures_and_reasons_as_text(found: Estimate) -> None:
    assert "modelled throughput" in found._repr_html_()
    assert found.explain("throughput")._repr_html_().startswith("<pre>throughput")
