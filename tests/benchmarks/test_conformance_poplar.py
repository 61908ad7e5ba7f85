"""The page of public Poplar programs: what does not run has a reason, and counts are those of the reports."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import conformance_poplar as conformance

REPORT = """<testsuites><testsuite>
<testcase classname="t" name="works"/>
<testcase classname="t" name="old"><failure message="no 'v4-1: {10,11' in the output"/></testcase>
<testcase classname="t" name="later"><skipped/></testcase>
</testsuite></testsuites>"""


def test_cases_are_counted_and_failures_have_their_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tutorials").mkdir()
    (tmp_path / "tutorials" / "one.xml").write_text(REPORT)
    assert conformance.main([str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "| tutorials | 1 | 1 | 1 |" in out
    assert "- the test wants tensors printed as SDKs before 3.0 did" in out
    assert "tutorials: 1 of 2 pass" in out


def test_a_program_that_does_not_run_needs_a_note(tmp_path: Path) -> None:
    rows = tmp_path / "programs.toml"
    rows.write_text('[[program]]\nproject = "p"\nname = "n"\noutcome = "cannot"\n')
    with pytest.raises(conformance.RecordsError, match="n does not run as it is, and no note says why"):
        conformance.programs(rows)


def test_an_unknown_outcome_is_refused(tmp_path: Path) -> None:
    rows = tmp_path / "programs.toml"
    rows.write_text('[[program]]\nproject = "p"\nname = "n"\noutcome = "perhaps"\n')
    with pytest.raises(conformance.RecordsError, match="'perhaps', not one of runs"):
        conformance.programs(rows)


def test_the_records_of_the_page_can_be_read() -> None:
    assert conformance.programs(conformance.RECORDS / "programs.toml")
    assert all(each.published > 0 for each in conformance.figures(conformance.RECORDS / "figures.toml"))
