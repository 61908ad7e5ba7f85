"""The run ledger: what it says at the end of a run, and that its file is neither trusted nor torn."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tremula.settings import VARIABLES
from tremula.telemetry import ledger

COUNTS = st.integers(0, 10**12)
SECONDS = st.floats(0, 1e6)
ENTRIES = st.builds(
    ledger.Entry,
    kind=st.sampled_from(["trainingModel", "inferenceModel"]),
    model=st.text("abcXYZ_<>é", min_size=1, max_size=20),
    calls=COUNTS,
    samples=COUNTS,
    compiles=COUNTS,
    compile_seconds=SECONDS,
    ipus=st.integers(1, 64),
    capture_seconds=SECONDS,
    seconds=SECONDS,
    first_calls=COUNTS,
    first_samples=COUNTS,
    first_seconds=SECONDS,
    compiler_seconds=SECONDS,
    compiled_from=COUNTS,
    speedup=SECONDS,
    cache=st.text("abc ü,", max_size=20),
    why_quick=st.text("abc ü,", max_size=20),
)


@dataclass
class Report:
    """What an executable says about its compiled form."""

    cache: str = "not in the cache"
    compile_seconds: float = 0.0
    speedup: float = 0.0
    why_quick: str = ""
    calls: int = 0


def a_run(*entries: ledger.Entry, program: str = "train.py") -> ledger.Run:
    return ledger.Run(program, pid=7, started=1.0, ended=2.0, threads=2, models=list(entries))


def test_a_model_that_ran_is_summed_up() -> None:
    entry = ledger.Entry("trainingModel", "Network")
    entry.compiled(1.5)
    for _ in range(120):
        entry.executed(samples=64)
    assert list(ledger.summary(a_run(entry))) == [
        (logging.INFO, "trainingModel Network executed 120 calls (7,680 samples) on 1 virtual IPU (host CPU)")
    ]


def test_a_model_that_never_ran_is_a_warning_unless_the_program_failed() -> None:
    run = a_run(ledger.Entry("trainingModel", "Network"))
    [(level, text)] = ledger.summary(run)
    assert level == logging.WARNING
    assert "never executed" in text
    assert "object that trainingModel returned" in text
    assert list(ledger.summary(run, failed=True)) == []


def test_a_call_that_failed_is_not_taken_for_a_model_that_was_forgotten() -> None:
    entry = ledger.Entry("trainingModel", "Network")
    entry.failed()
    [(level, text)] = ledger.summary(a_run(entry))
    assert level == logging.INFO
    assert "1 call ended with an error" in text


def test_compiling_only_is_no_reason_to_warn() -> None:
    entry = ledger.Entry("inferenceModel", "Network")
    entry.compiled(0.5)
    [(level, text)] = ledger.summary(a_run(entry))
    assert level == logging.INFO
    assert "not executed" in text


def test_models_of_one_class_are_summed_up_together() -> None:
    entries = [ledger.Entry("trainingModel", "Network", calls=n, samples=10 * n) for n in (1, 2)]
    [(_, text)] = ledger.summary(a_run(*entries))
    assert "executed 3 calls (30 samples)" in text


def a_busy_entry(*reports: Report) -> ledger.Entry:
    """Five calls of four samples in 6 s, the first of them 2 s."""
    entry = ledger.Entry("trainingModel", "Network")
    for report in reports:
        entry.follow(report)
    entry.captured(0.5)
    entry.compiled(1.5)
    entry.executed(1, 4, 2.0)
    entry.first_call(4, 2.0)
    for _ in range(4):
        entry.executed(1, 4, 1.0)
    return entry


def told(run: ledger.Run, minutes: float = 0.0) -> list[str]:
    run.ended = run.started + 60 * minutes
    return [text for _, text in ledger.summary(run)]


def test_a_short_run_gets_one_line_with_its_speed() -> None:
    [text] = told(a_run(a_busy_entry(Report(why_quick="there is no C++ compiler"))))
    assert text.endswith("(host CPU): first call 2.00 s, then 4 samples/s (quick form)")
    [text] = told(a_run(a_busy_entry(Report(speedup=2.0, calls=3))))
    assert text.endswith("(compiled from call 4 on)")


def test_a_long_run_is_told_where_its_time_went() -> None:
    run = a_run(a_busy_entry(Report(compile_seconds=28.1, speedup=2.31, calls=2)))
    run.data_wait, run.items = 15.0, 5
    assert told(run, minutes=1) == [
        "trainingModel Network executed 5 calls (20 samples) on 1 virtual IPU (host CPU)",
        "    capture        0.50 s",
        "    first call     2.00 s",
        "    compiled code  compiler 28.1 s (not in the cache); in use from call 3 on, 2.31 times as fast as "
        "the quick form",
        "    steady state   4 calls in 4.00 s, 4 samples/s",
        "data loaders: 5 items, waited for 15.0 s (25% of the run)",
    ]


@pytest.mark.parametrize(
    ("report", "said"),
    [
        (Report(cache="hit", speedup=1.5), "from the cache; in use from call 1 on, 1.50 times as fast"),
        (Report("file damaged", 5, 2.0), "compiler 5.00 s (cache: file damaged); in use from call 1 on"),
        (Report(), "  not in the cache; not used: the program ended before it was ready"),
        (Report(cache="", why_quick="TREMULA_EXECUTION=quick"), "code  not used: TREMULA_EXECUTION=quick"),
        (
            Report(compile_seconds=5, speedup=0.9, why_quick="not faster"),
            "compiler 5.00 s (not in the cache); not used: not faster",
        ),
        (Report(why_quick="it fails:\n  \x1b[31m" + "x" * 999), "not used: it fails: [31mxxx"),
    ],
)
def test_what_became_of_the_compiled_code(report: Report, said: str) -> None:
    line = told(a_run(a_busy_entry(report)), minutes=1)[3]
    assert said in line
    assert line.isprintable()


def test_a_report_is_read_when_the_run_is_over() -> None:
    report = Report()
    entry = a_busy_entry(report, report)
    report.compile_seconds, report.speedup, report.calls = 3.0, 2.0, 4
    [settled] = a_run(entry).merged().models
    assert (settled.compiler_seconds, settled.compiled_from) == (3.0, 5)


def test_a_model_that_was_compiled_again_has_several_first_calls() -> None:
    entry = a_busy_entry(
        Report(compile_seconds=3.0, speedup=2.0), Report(compile_seconds=4.0, why_quick="new")
    )
    entry.executed(1, 4, 1.0)
    entry.first_call(4, 1.0)
    lines = told(a_run(entry), minutes=1)
    assert "first call     3.00 s for 2 compilations" in lines[2]
    assert "compiler 7.00 s" in lines[3]
    assert "in use from call 1 on, 2.00 times" in lines[3]
    assert "steady state   4 calls in 4.00 s" in lines[4]


def test_records_without_the_newer_figures_are_read(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    old = {"kind": "trainingModel", "model": "Network", "calls": 3, "samples": 12, "compiles": 1}
    old |= {"compile_seconds": 0.5, "ipus": 1, "failures": 0}
    run = {"program": "old.py", "pid": 1, "started": 1.0, "ended": 2.0, "threads": 2, "models": [old]}
    path.write_text(json.dumps(run) + "\n")
    [read] = ledger.read(path)
    assert read.models == [ledger.Entry("trainingModel", "Network", 3, 12, 1, 0.5)]
    for wrong in ({"cache": 3}, {"speedup": -1.0}, {"first_calls": 0.5}, {"why_quick": "a\nb"}):
        path.write_text(json.dumps(run | {"models": [old | wrong]}) + "\n")
        assert ledger.read(path) == []


@given(st.lists(ENTRIES, max_size=5, unique_by=lambda entry: (entry.kind, entry.model)))
def test_what_is_appended_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, entries: list[ledger.Entry]
) -> None:
    path = tmp_path_factory.mktemp("ledger") / "runs.jsonl"
    ledger.append(a_run(*entries), path)
    [run] = ledger.read(path)
    assert run.program == "train.py"
    assert sorted(map(repr, run.models)) == sorted(map(repr, entries))


@given(st.binary(max_size=200))
def test_any_bytes_in_the_file_are_survived(tmp_path_factory: pytest.TempPathFactory, junk: bytes) -> None:
    path = tmp_path_factory.mktemp("ledger") / "runs.jsonl"
    path.write_bytes(junk + b"\n")
    ledger.append(a_run(program="after.py"), path)
    assert ledger.read(path)[-1].program == "after.py"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("program", "\x1b[31mred"),
        ("program", 3),
        ("program", "x" * 10_000),
        ("pid", -1),
        ("pid", True),
        ("ended", float("nan")),
        ("started", "now"),
        ("models", 3),
        ("models", [{"kind": "trainingModel"}]),
        ("data_wait", "long"),
        ("items", -1),
    ],
)
def test_a_record_with_a_wrong_field_is_left_out(tmp_path: Path, field: str, value: object) -> None:
    path = tmp_path / "runs.jsonl"
    ledger.append(a_run(), path)
    record = json.loads(path.read_text())
    path.write_text(json.dumps(record | {field: value}) + "\n" + json.dumps(record) + "\n")
    assert len(ledger.read(path)) == 1


def test_the_file_does_not_grow_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "MAX_RUNS", 5)
    path = tmp_path / "runs.jsonl"
    for number in range(8):
        ledger.append(a_run(program=f"{number}.py"), path)
    assert [run.program for run in ledger.read(path)] == [f"{number}.py" for number in range(3, 8)]
    assert len(path.read_text().splitlines()) == 5


def test_writers_do_not_lose_each_others_runs(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    threads = [
        threading.Thread(target=ledger.append, args=(a_run(program=f"{n}.py"), path)) for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {run.program for run in ledger.read(path)} == {f"{n}.py" for n in range(8)}
    assert [each.name for each in tmp_path.iterdir() if each.suffix == ".tmp"] == []


def run_script(body: str, state: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "TREMULA_SUMMARY"}
    environment |= {"TREMULA_STATE_DIR": str(state), **variables}
    script = f"from tremula.telemetry import ledger\n{body}"
    return subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)


def test_at_exit_the_warning_comes_unasked_and_the_rest_on_demand(tmp_path: Path) -> None:
    body = "ledger.wrapped('trainingModel', 'Idle')\nledger.wrapped('inferenceModel', 'Busy').executed(2, 8)"
    quiet = run_script(body, tmp_path)
    assert "[tremula] [warning] trainingModel Idle was wrapped but never executed" in quiet.stderr
    assert "Busy" not in quiet.stderr
    talkative = run_script(body, tmp_path, TREMULA_SUMMARY="1")
    assert "[tremula] [info] inferenceModel Busy executed 2 calls (8 samples)" in talkative.stderr
    assert run_script(body, tmp_path, TREMULA_SUMMARY="0").stderr == ""
    assert [run.calls for run in ledger.read(tmp_path / "runs.jsonl")] == [2, 2, 2]


def test_the_settings_say_what_a_run_without_a_terminal_prints() -> None:
    (variable,) = (each for each in VARIABLES if each.name == "TREMULA_SUMMARY")
    assert variable.default is None, "1 would print the lines in a batch run"
    assert "Unset: if standard error is a terminal" in variable.meaning


def test_a_model_that_never_ran_may_have_been_replaced_by_its_module(tmp_path: Path) -> None:
    body = "ledger.wrapped('inferenceModel', 'Idle').module_returned('eval', 'mine.py:3 in <module>')"
    said = run_script(body, tmp_path).stderr
    assert "never executed" in said
    assert (
        "Call the object that inferenceModel returned, not what eval() at mine.py:3 in <module> returned"
        in said
    )
    [run] = ledger.read(tmp_path / "runs.jsonl")
    assert run.models[0].returned_module == "eval() at mine.py:3 in <module>"


def test_waiting_for_data_is_asked_for_at_the_end(tmp_path: Path) -> None:
    body = "waited = [0.0, 0]\nledger.count_data_wait(lambda: tuple(waited))\n"
    body += "ledger.wrapped('trainingModel', 'Busy').executed()\nwaited[:] = [1.5, 3]"
    assert run_script(body, tmp_path).returncode == 0
    [run] = ledger.read(tmp_path / "runs.jsonl")
    assert (run.data_wait, run.items) == (1.5, 3)


def test_a_program_that_fails_is_not_lectured(tmp_path: Path) -> None:
    done = run_script("ledger.wrapped('trainingModel', 'Idle')\nraise KeyError('mine')", tmp_path)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "KeyError: 'mine'"


def test_a_folder_that_cannot_be_written_does_not_matter(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    done = run_script("ledger.wrapped('trainingModel', 'Busy').executed()", blocked)
    assert done.returncode == 0
    (line,) = done.stderr.splitlines()
    assert f"[warning] The record of this run cannot be written to {blocked / 'runs.jsonl'} (" in line


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_leaves_its_parents_record_alone(tmp_path: Path) -> None:
    body = "import os, sys\nledger.wrapped('trainingModel', 'Busy').executed()\n"
    body += "if os.fork() == 0: sys.exit(0)\nos.wait()"
    done = run_script(body, tmp_path)
    assert done.returncode == 0
    assert len(ledger.read(tmp_path / "runs.jsonl")) == 1
