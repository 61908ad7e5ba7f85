"""The published runs: the right table, what was wrong with them, and the published figures to the last digit.

Their numbers are in published_runs.npz: times of all records, figures of training and closing lines, and who wrote
them, from the logs of 15 February 2023 in the public repository BruceRayWilsonAtANL/CosmicTagger (branch Graphcore);
published_figures.txt is what its analysis printed for them.
"""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest
from cosmictagger.analysis import published
from cosmictagger.analysis.command import main
from cosmictagger.analysis.faults import find_faults
from cosmictagger.analysis.report import seconds, speed
from cosmictagger.analysis.results import Result, result
from cosmictagger.analysis.runs import read_runs
from cosmictagger.analysis.scaling import scaling
from tests.apps.cosmictagger import analysis_logs as logs

HERE = Path(__file__).parent
SIZES = (1, 2, 4, 8, 16)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The five logs, packed."""
    folder = tmp_path_factory.mktemp("published")
    paths = []
    for ranks in SIZES:
        paths.append(folder / f"published_{ranks}.log.gz")
        paths[-1].write_bytes(gzip.compress("\n".join(logs.published(ranks)).encode() + b"\n", 1))
    return paths


@pytest.fixture(scope="module")
def results(runs: list[Path]) -> list[Result]:
    """The five runs, analysed."""
    found = [result(run) for run in read_runs([str(path) for path in runs])]
    for each in found:
        each.faults = find_faults(each)
    return found


def figures() -> list[str]:
    """The published text of each run."""
    text = (HERE / "published_figures.txt").read_text()
    return [part.rstrip("\n") for part in re.split(r"^# .*\n", text, flags=re.MULTILINE)[1:]]


def test_all_ranks_together(results: list[Result]) -> None:
    assert [speed(each.aggregate) for each in results] == ["0.1458", "0.3004", "0.5975", "1.192", "2.256"]
    assert [f"{100 * (row.efficiency or 0):.1f}" for row in scaling(results)] == [
        "100.0", "103.0", "102.5", "102.2", "96.7",
    ]  # fmt: skip


#: ranks: training step and its spread, median, 95 %, rank means from and to, validation, step with it, IO, optimizer,
#: FOM of a rank, the whole job
TABLE = """
 1 13.248 0.459 13.076 14.196 13.719 13.719 4.791 13.719 0.016 0.044 0.1458 6886 0.1452
 2 12.854 0.148 12.848 13.106 13.217 13.418 4.711 13.317 0.015 0.040 0.1502 6729 0.2972
 4 12.923 0.140 12.914 13.181 13.316 13.539 4.737 13.389 0.015 0.040 0.1494 6790 0.5891
 8 12.953 0.127 12.948 13.163 13.331 13.496 4.755 13.421 0.015 0.040 0.1490 6777 1.180
16 13.698 0.161 13.689 13.978 14.078 14.386 4.949 14.185 0.016 0.043 0.1410 7246 2.208
"""


def test_the_table_of_times(results: list[Result]) -> None:
    found = []
    for each in results:
        train, step = each.pooled["train"], each.pooled["step"]
        assert train is not None
        assert step is not None
        means = [rank.summary("step").mean for rank in each.timings]  # type: ignore[union-attr]
        others = [each.pooled[name].mean for name in ("fetch", "update")]  # type: ignore[union-attr]
        foms = [each.fom(rank) or 0.0 for rank in each.timings]
        row = [train.mean, train.std, train.median, train.quantiles[0.95], min(means), max(means)]
        row += [each.pooled["validation"].mean, step.mean, *others]  # type: ignore[union-attr]
        speeds = [speed(sum(foms) / len(foms)), f"{each.job:.0f}", speed(each.job_speed)]
        found.append([str(len(each.timings)), *(seconds(value) for value in row), *speeds])
    assert found == [line.split() for line in TABLE.strip().splitlines()]


def test_what_was_wrong(results: list[Result]) -> None:
    for each in results:
        codes = {fault.code: fault for fault in each.faults}
        expected = {"ran-on-host", "never-compiled", "precision-flag"}
        if len(each.timings) > 1:
            expected |= {"no-collective", "ranks-interleaved"}
        assert set(codes) == expected
        assert codes["ran-on-host"].certainty == codes["never-compiled"].certainty == "certain"
        assert any(re.search(r"0\.3[67] of a training step", text) for text in codes["ran-on-host"].evidence)
        assert not each.run.inferred


def test_drift_of_ranks_that_never_wait_for_each_other(results: list[Result]) -> None:
    drift = results[1].drift
    assert drift is not None
    assert round(drift.moved, 1) == 100.5
    assert round(drift.per_step, 4) == 0.2018
    assert results[0].drift is None


@pytest.mark.parametrize("number", range(len(SIZES)))
def test_published_figures_digit_for_digit(runs: list[Path], number: int) -> None:
    assert published.published(runs[number]).text == figures()[number]


def test_the_command_prints_them_and_says_that_they_are_wrong(
    runs: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--as-published", str(runs[0]), str(runs[4])]) == 0
    shown = capsys.readouterr()
    assert shown.out == f"{runs[0]}\n{figures()[0]}\n{runs[4]}\n{figures()[4]}\n"
    assert "are wrong" in shown.err


@pytest.mark.parametrize("ranks", [2, 16])
def test_the_file_that_all_ranks_wrote_gives_the_same(
    ranks: int, runs: list[Path], results: list[Result], tmp_path: Path
) -> None:
    lines = [line.encode() for line in logs.published(ranks)]
    text = [line for line in published.shared(lines) if b"POPRUN" not in line and b"instances" not in line]
    path = tmp_path / "process.log"
    path.write_bytes(b"\n".join(text) + b"\n")
    number = SIZES.index(ranks)
    # the original's arithmetic needs no tags
    assert published.published(path).text == figures()[number]
    (run,) = read_runs([str(tmp_path)])
    found, true = result(run), results[number]
    assert run.inferred == "from blocks of ten records"
    assert "ranks-interleaved" in {fault.code for fault in find_faults(found)}
    assert found.aggregate == pytest.approx(true.aggregate, rel=1e-3)
    speeds = [sorted(each.speed(rank) or 0.0 for rank in each.timings) for each in (found, true)]
    assert speeds[0] == pytest.approx(speeds[1], rel=1e-3)
    for name in ("train", "validation", "update"):
        mine, theirs = found.pooled[name], true.pooled[name]
        assert mine is not None
        assert theirs is not None
        assert mine.mean == pytest.approx(theirs.mean, rel=1e-4)
        assert mine.count == pytest.approx(theirs.count, abs=2)


def test_the_page_has_this_table_and_every_fault(results: list[Result]) -> None:
    page = (HERE.parents[2] / "docs" / "analyse.md").read_text()
    for line in TABLE.strip().splitlines():
        ranks, mean, std, median, most, low, high, validation, _, fetch, update, fom, _, job = line.split()
        means = low if low == high else f"{low}–{high}"
        cells = (ranks, f"{mean} ± {std} ({median}, {most})", means, validation, fetch, update, fom)
        start = f"| {' | '.join(cells)} | "
        (row,) = (each for each in page.splitlines() if each.startswith(start))
        assert f" s, {job} |" in row
        assert f"**{speed(results[SIZES.index(int(ranks))].aggregate)}**" in row
    sources = (HERE.parents[2] / "apps" / "cosmictagger" / "analysis").glob("*.py")
    codes = {code for path in sources for code in re.findall(r'Fault\(\s*"([a-z-]+)"', path.read_text())}
    assert len(codes) > 15
    assert not {code for code in codes if f"`{code}`" not in page}
