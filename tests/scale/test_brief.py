"""A study in a few lines: every size, what limits it, and whether replicas are equivalent."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from tremula.distributed.host_run import HostRun
from tremula.formatting import amount, duration
from tremula.scale.data_rate import with_data_rate
from tremula.scale.row import DataRate, Measured, Row, ScalingStudy
from tremula.scale.table import print_brief


def printed(study: ScalingStudy, width: int = 180) -> str:
    file = io.StringIO()
    print_brief(study, Console(file=file, width=width, markup=False, highlight=False, no_color=True))
    return file.getvalue()


def together(text: str) -> str:
    return " ".join(text.split())


def weak_on_bow(study: ScalingStudy) -> ScalingStudy:
    return replace(study, rows=tuple(row for row in study.rows if (row.mode, row.target) == ("weak", "bow")))


def with_data(study: ScalingStudy, rate: float, origin: str = "measured") -> ScalingStudy:
    data = DataRate(rate, origin)
    return replace(study, data=data, rows=tuple(with_data_rate(row, data) for row in study.rows))


@pytest.mark.parametrize("width", [80, 160])
def test_every_size_has_its_line(study: ScalingStudy, width: int) -> None:
    text = printed(study, width)
    assert max(len(line.rstrip()) for line in text.splitlines()) <= width
    assert "…" not in text
    words = together(text)
    for mode, target, rows in study.series():
        assert f"{mode.capitalize()} scaling of Tagger on {target}, modelled" in words
        for row in rows:
            if row.figures:
                rate, step = row.figures["throughput"], row.figures["step_seconds"]
                assert (
                    f"{row.ipus} {row.replicas} x {row.stages} {duration(step.value)} {amount(rate.value)} "
                    in words
                )
    assert ("most of the time" in words) == (width == 160)  # what there is no room for is on the page


def test_the_parts_that_take_most_are_named(study: ScalingStudy) -> None:
    (line,) = (each for each in printed(weak_on_bow(study)).splitlines() if each.split()[:1] == ["64"])
    assert line.endswith("yes   compute 60%, exchange between tiles 30%")


def test_a_size_without_an_answer_says_why(study: ScalingStudy, empty_study: ScalingStudy) -> None:
    lines = printed(weak_on_bow(study)).splitlines()
    assert "3 IPUs: no answer: no such cut" in lines
    assert not any(line.split()[:1] == ["3"] and "no answer" not in line for line in lines)
    nothing = printed(empty_study).splitlines()
    assert nothing.count("1 IPU: no answer: out of luck") == 2
    assert not any("time/step" in line for line in nothing)  # no head without a body
    machine = replace(
        empty_study, rows=(Row("Tagger", True, {"ipus": 1}, mode="weak", problem="out of luck"),)
    )
    assert "on this machine, modelled" in printed(machine)


def test_what_does_not_fit_has_no_efficiency(study: ScalingStudy) -> None:
    lines = {line.split()[0]: line.split() for line in printed(weak_on_bow(study)).splitlines() if line}
    assert {"-", "no"} <= set(lines["1"])
    assert "100%" in lines["2"]
    assert "95%" in lines["64"]


def test_where_data_limit_is_told_once_if_it_is_the_same_everywhere(study: ScalingStudy) -> None:
    bow = weak_on_bow(study)
    lines = printed(with_data(bow, 900.0)).splitlines()
    most = amount(max(row.figures["throughput"].value / row.hosts for row in bow.rows if row.runs))
    assert (
        "data: this host loads 900 samples/s with this program's loader, which limits from 16 IPUs on; IPUs would "
        f"take up to {most} from each host"
    ) in lines
    told = [line for line in printed(with_data(study, 1e6)).splitlines() if line.startswith("data")]
    # what the two targets take differs, what the two modes take does not
    assert [line.partition(":")[0] for line in told] == [
        "data, weak on bow and strong on bow",
        "data, weak on mk2 and strong on mk2",
    ]
    assert all("enough for all of these sizes" in line for line in told)


def test_a_rate_that_was_given_is_not_called_this_hosts(study: ScalingStudy) -> None:
    text = printed(with_data(weak_on_bow(study), 100.0, "given"))
    assert "data: a host loads 100 samples/s, as given, which limits from 2 IPUs on" in text
    assert "this host" not in text
    assert "data:" not in printed(replace(study, data=None))


def test_it_says_whether_replicas_are_equivalent(study: ScalingStudy) -> None:
    lines = printed(study).splitlines()
    assert "measured: 2 processes together train like one process" in lines
    assert "measured: 4 processes together do NOT train like one process" in lines
    assert "measured: 8 processes: not enough memory" in lines
    assert sum(line.startswith("measured: ") for line in lines) == 3  # one alone proves nothing
    drawn = HostRun(2, 3, 6, 1.0, 0.0, None, 1e-3, None, note="forward draws random numbers")
    unknown = printed(replace(study, measured=Measured((drawn, replace(drawn, note="")))))
    assert "measured: 2 processes: forward draws random numbers\n" in unknown
    assert "measured: 2 processes: not compared\n" in unknown
    assert "weights" not in unknown


@pytest.mark.parametrize("width", [40, 80, 160])
def test_a_terminal_is_not_told_what_to_do(hostile_study: ScalingStudy, width: int) -> None:
    text = printed(hostile_study, width)
    assert all(each.isprintable() for line in text.split("\n") for each in line)
    assert len(text) < 200_000
