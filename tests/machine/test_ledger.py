"""The run ledger: what it says at the end of a run, and that its file is neither trusted nor torn."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tremula.machine import ledger

COUNTS = st.integers(0, 10**12)
ENTRIES = st.builds(
    ledger.Entry,
    kind=st.sampled_from(["trainingModel", "inferenceModel"]),
    model=st.text("abcXYZ_<>é", min_size=1, max_size=20),
    calls=COUNTS,
    samples=COUNTS,
    compiles=COUNTS,
    compile_seconds=st.floats(0, 1e6),
    ipus=st.integers(1, 64),
)


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
    script = f"from tremula.machine import ledger\n{body}"
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


def test_a_program_that_fails_is_not_lectured(tmp_path: Path) -> None:
    done = run_script("ledger.wrapped('trainingModel', 'Idle')\nraise KeyError('mine')", tmp_path)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "KeyError: 'mine'"


def test_a_folder_that_cannot_be_written_does_not_matter(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    done = run_script("ledger.wrapped('trainingModel', 'Busy').executed()", blocked)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_leaves_its_parents_record_alone(tmp_path: Path) -> None:
    body = "import os, sys\nledger.wrapped('trainingModel', 'Busy').executed()\n"
    body += "if os.fork() == 0: sys.exit(0)\nos.wait()"
    done = run_script(body, tmp_path)
    assert done.returncode == 0
    assert len(ledger.read(tmp_path / "runs.jsonl")) == 1
