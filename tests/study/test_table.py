"""The table: every width, every name."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from dataclasses import replace

import pytest
from rich.console import Console

from tremula.formatting import between, counted, duration, memory_size, plain, share
from tremula.frontends.torch.subject import TorchSubject
from tremula.study.answer import Answers, ask
from tremula.study.compare import compare
from tremula.study.question import Question
from tremula.study.table import as_csv, print_table, time_parts


@pytest.fixture(scope="module")
def answers(stack: Callable[..., TorchSubject]) -> Answers:
    return ask(stack(), Question.of(ipus=[1, 3], stages=[1, 2], target="mk2"))


def printed(answers: Answers, width: int) -> str:
    file = io.StringIO()
    print_table(
        answers.results, Console(file=file, width=width, markup=False, highlight=False, no_color=True)
    )
    return file.getvalue()


@pytest.mark.parametrize("width", [40, 80, 135, 136, 160, 240])
def test_every_figure_is_there_at_every_width(answers: Answers, width: int) -> None:
    text = printed(answers, width)
    first = answers.results[0]
    assert max(len(line) for line in text.splitlines()) <= width
    together = " ".join(text.split())
    for word in (duration(first["step_seconds"].value), memory_size(first["ipu_bytes"].value), first.fits):
        assert word in together
    assert "no answer for" in together


@pytest.mark.parametrize("width", [100, 136, 138, 150, 160])
def test_no_word_is_broken(stack: Callable[..., TorchSubject], width: int) -> None:
    found = ask(stack(), Question.of(target=["mk1", "bow"], ipus=2, micro_batch=4096))
    shown = set(printed(found, width).replace(",", " ").split())
    for result in found.results:
        assert "host_rates" in result.setting
        named = set(time_parts(result).replace(",", " ").split())
        assert named <= shown


def test_a_row_that_cannot_be_stands_below(answers: Answers) -> None:
    assert "not a multiple of 2 stages" in " ".join(printed(answers, 160).split())


def test_speeds_that_rest_on_unlike_rates_to_the_host_are_marked(stack: Callable[..., TorchSubject]) -> None:
    unlike = ask(stack(), Question.of(target=["mk1", "bow"], micro_batch=4096, precision="fp32"))
    assert all(each.shares["host_transfer"] > 0.005 for each in unlike.results)
    for width in (80, 160):
        text = " ".join(printed(unlike, width).split())
        assert "samples/s*" in text
        assert "without host" in text
        assert "mk1: nominal: PCI Express 4.0 x16 of the card, nominal" in text
        assert "bow: published: gc-hosttraffictest sample output" in text
    assert "samples/s*" in unlike._repr_html_()
    assert "not comparable" in unlike._repr_html_()
    assert "not comparable" in str(compare(*unlike.results))
    alike = ask(stack(), Question.of(target=["mk2", "bow"], micro_batch=4096, precision="fp32"))
    assert "*" not in printed(alike, 160)
    assert "not comparable" not in alike._repr_html_()


def test_without_host_leaves_calls_and_transfers_out(answers: Answers) -> None:
    result = answers.results[0]
    host = result.shares["host_call"] + result.shares["host_transfer"]
    assert host > 0
    assert result.without_host == pytest.approx(result.throughput / (1 - host))


def test_csv_has_all_figures_with_their_ranges(answers: Answers) -> None:
    rows = list(csv.DictReader(io.StringIO(as_csv(answers.results))))
    assert len(rows) == len(answers)
    assert (
        float(rows[0]["throughput_low"]) <= float(rows[0]["throughput"]) <= float(rows[0]["throughput_high"])
    )
    assert rows[-1]["problem"]


def test_csv_gives_a_spreadsheet_nothing_to_compute(answers: Answers) -> None:
    hostile = replace(answers.results[0], name='=cmd|" /C calc"!A0')
    assert list(csv.reader(io.StringIO(as_csv([hostile]))))[1][0].startswith("'=")


def test_notebooks_show_a_table_and_escape_names(
    answers: Answers, stack: Callable[..., TorchSubject]
) -> None:
    page = answers._repr_html_()
    assert page.count("<tr>") == 1 + len(answers)
    subject = stack()
    subject.parts = replace(subject.parts, name="<script>alert(1)</script>")
    page = ask(subject)._repr_html_()
    assert "<script>" not in page
    assert "modelled" in page


def test_words() -> None:
    assert [duration(s) for s in (2.0, 0.0123, 4.5e-6, 1e-9)] == ["2 s", "12.3 ms", "4.5 us", "1 ns"]
    assert memory_size(897 * 2**20) == "897 MiB"
    assert [share(s) for s in (0.0123, 0.51, 1.2)] == ["1.2%", "51%", "120%"]
    assert [share(s) for s in (7.1e-09, 0.0, 0.0001)] == ["<0.01%", "0%", "0.01%"]
    assert [counted(n, "IPU") for n in (0, 1, 2, 4096)] == ["0 IPUs", "1 IPU", "2 IPUs", "4,096 IPUs"]
    assert counted(2, "entry", "entries") == "2 entries"
    assert between(1.0, 2.0, duration) == "1 to 2 s"
    assert between(0.5, 2.0, duration) == "500 ms to 2 s"
    assert plain("a\x1b[31m\x00b\u202e\n") == "a·[31m·b·\n"
    assert plain("a\nb", lines=False) == "a·b"
    assert len(plain("x" * 10_000, 100)) == 100
