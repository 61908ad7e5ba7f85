"""Analysis of logs: right figures of each rank and of all together, from files of every kind."""

from __future__ import annotations

import csv
import dataclasses
import gzip
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from cosmictagger.analysis.command import main
from cosmictagger.analysis.scaling import scaling
from cosmictagger.main import main as cosmictagger
from tests.apps.cosmictagger import analysis_logs as logs
from tests.apps.cosmictagger.analysed_logs import OURS, analysed, each, faults, making, mean

HERE = Path(__file__).parent


# --- figures


def test_speeds_of_ranks_are_added(tmp_path: Path) -> None:
    found = analysed(tmp_path, logs.tagged(making(step=(2.0, 2.5), validate=0)))
    assert [found.speed(rank) for rank in found.timings] == [1.0, 0.8]
    assert found.aggregate == pytest.approx(1.8)
    assert [found.fom(rank) for rank in found.timings] == [1.0, 0.8]
    assert mean(found, "step") == 2.25


def test_validation_and_the_first_two_lines_are_kept_apart(tmp_path: Path) -> None:
    found = analysed(tmp_path, logs.tagged(making(ranks=1, first_call=60.0)))
    assert mean(found, "train") == 2.0
    assert mean(found, "validation") == 0.75
    # two validations in 22 steps
    assert mean(found, "step") == round(2 + 2 * 0.75 / 22, 6)
    assert found.aggregate == pytest.approx(2 * 22 / (22 * 2 + 2 * 0.75))
    assert (mean(found, "fetch"), mean(found, "update"), mean(found, "rest")) == (0.02, 0.04, 1.94)
    assert found.update_name == "optimizer"
    assert "estimated" in found.rest_name


def test_a_call_of_several_updates_and_batches(tmp_path: Path) -> None:
    made = making(
        ranks=1, **OURS, device_iterations=4, accumulation=3, batch=2, step=(2.0,), steps=40, validate=0
    )
    found = analysed(tmp_path, logs.alone(made))
    assert found.images.per_step == 6
    # a call of two seconds makes four updates
    assert mean(found, "step") == 0.5
    assert found.aggregate == pytest.approx(12.0)
    assert found.update_name == "device call"
    assert not found.faults


def test_replicas_of_a_process_from_its_own_words(tmp_path: Path) -> None:
    text = "Graph compilation done: the first call took 9.00 s with it; events in a call of this process: 8"
    found = analysed(tmp_path, logs.alone(making(ranks=1, **{**OURS, "also": (text,)}, closing=False)))
    assert found.images.per_step == 8
    assert (found.local_replicas, found.ipus) == (4, 4)


def test_the_batch_is_told_or_asked_for(tmp_path: Path) -> None:
    bare = making(ranks=1, settings=False, closing=False, launched=False, also=())
    found = analysed(tmp_path, logs.alone(bare))
    assert found.aggregate is None
    assert "batch-unknown" in faults(found)
    assert each(tmp_path / "job.log", batch_size=2.0)[0].aggregate == pytest.approx(0.967, abs=0.001)
    # seconds and throughput of the closing line say it too
    found = analysed(tmp_path, logs.alone(dataclasses.replace(bare, closing=True, batch=3)))
    assert found.images.per_step == 3


def test_dates_count(tmp_path: Path) -> None:
    late = logs.MORNING + 21 * 3_600_000 - 30_000
    found = analysed(tmp_path, logs.tagged(making(begin=late)))
    assert found.timings[0].seconds == 22 * 2 + 2 * 0.75
    assert found.job == pytest.approx(5 + 3 + 23 * 2 + 2 * 0.75 + 0.02 + 1)
    # the launcher's lines have no date, which is worth a note
    assert faults(found)["clock-wrapped"].severity == "note"


def test_times_without_dates_go_on_after_midnight(tmp_path: Path) -> None:
    late = logs.MORNING + 21 * 3_600_000 - 30_000
    text = re.sub(r"\d{4}-\d\d-\d\d ", "", logs.tagged(making(begin=late)))
    found = analysed(tmp_path, text)
    assert found.timings[0].seconds == 22 * 2 + 2 * 0.75
    assert faults(found)["clock-wrapped"].severity == "warning"


def test_the_originals_way_goes_back_a_day_at_midnight(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    late = logs.MORNING + 21 * 3_600_000 - 40_000
    path = tmp_path / "process.log"
    path.write_text(logs.alone(making(ranks=1, begin=late, validate=0)))
    assert main(["--as-published", str(path)]) == 0
    text = capsys.readouterr().out
    # twelve lines count, eleven of two seconds and one that lost a day
    assert f"Mean time: {(12 * 2 - 86_400) / 12:.3f} +/- " in text
    assert text.startswith(f"{path}\nIO: \n")
    assert text.endswith("FOM:  1.0\n")


def test_scaling_is_relative_to_the_smallest_run_of_a_series(tmp_path: Path) -> None:
    paths = []
    for ranks, step in ((1, 2.0), (2, 2.0), (4, 2.5)):
        paths.append(tmp_path / f"{ranks}.log")
        paths[-1].write_text(logs.tagged(making(ranks=ranks, step=(step,), validate=0)))
    rows = scaling(each(*reversed(paths)))
    assert [len(row.result.timings) for row in rows] == [1, 2, 4]
    assert [row.efficiency for row in rows] == pytest.approx([1.0, 1.0, 0.8])
    other = tmp_path / "other.log"
    other.write_text(logs.tagged(making(ranks=8, batch=4)))
    assert [row.efficiency for row in scaling(each(paths[0], other))] == [1.0, 1.0]


# --- files


def test_files_of_one_folder_are_the_ranks_of_one_run(tmp_path: Path) -> None:
    folder = tmp_path / "output" / "torch" / "demo" / "one"
    folder.mkdir(parents=True)
    for rank in range(3):
        name = "process.log" if rank == 0 else f"process_rank_{rank}.log"
        (folder / name).write_text(logs.alone(making(**OURS), rank))
    (folder / "notes.txt").write_text("nothing")
    for given in ([tmp_path], sorted(folder.glob("process*"))):
        (found,) = each(*given)
        assert [rank.number for rank in found.timings] == [0, 1, 2]
        assert not found.faults
    (folder / "process_rank_1.log").unlink()
    assert "no line of rank 1" in faults(each(tmp_path)[0])["rank-missing"].evidence


def test_gzip_is_told_by_content(tmp_path: Path) -> None:
    text = logs.tagged(making())
    packed = analysed(tmp_path, gzip.compress(text.encode()), "packed.log")
    plain = analysed(tmp_path, text, "plain.log.gz")
    assert packed.aggregate == plain.aggregate


def test_a_packed_log_that_breaks_off_gives_what_is_there(tmp_path: Path) -> None:
    data = gzip.compress(logs.tagged(making(steps=400)).encode())
    found = analysed(tmp_path, data[: len(data) // 2])
    assert found.timings
    assert "truncated" in faults(found)


def test_standard_input(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "cosmictagger", "analyse", "-"]
    environment = {**os.environ, "PYTHONPATH": str(HERE.parents[2] / "apps")}
    text = logs.tagged(making(validate=0))
    done = subprocess.run(
        command, input=text.encode(), env=environment, capture_output=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert b"Together 2.000 images/s" in done.stdout
    assert b"\x1b" not in done.stdout
    assert not any(line.endswith(b" ") for line in done.stdout.splitlines())


def test_torch_is_not_needed() -> None:
    code = "import sys; import cosmictagger.main, cosmictagger.analysis.command; sys.exit('torch' in sys.modules)"
    environment = {**os.environ, "PYTHONPATH": str(HERE.parents[2] / "apps")}
    assert (
        subprocess.run([sys.executable, "-c", code], env=environment, check=False, timeout=60).returncode == 0
    )


@pytest.mark.parametrize(
    "content", [b"", b"\0" * 5000, b"\xff\xfe junk \n" * 20, b"x" * 300_000, b"\x1f\x8bnot gzip", b"words\n"]
)
def test_what_is_no_log_is_refused(
    content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "job.log"
    path.write_bytes(content)
    assert main([str(path)]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"cosmictagger: {path}: ")
    assert error.count("\n") == 1


def test_mistakes_give_2_before_any_work(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = tmp_path / "job.log"
    good.write_text(logs.tagged(making()))
    (tmp_path / "empty").mkdir()
    for wrong in (tmp_path / "missing.log", tmp_path / "empty"):
        assert main([str(good), str(wrong)]) == 2
        shown = capsys.readouterr()
        assert str(wrong) in shown.err
        assert not shown.out
    assert main([]) == main([str(good), "--batch-size", "0"]) == main(["--no-such", str(good)]) == 2


def test_check_fails_for_faults_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = tmp_path / "good.log", tmp_path / "bad.log"
    good.write_text(logs.tagged(making(**OURS)))
    bad.write_text(logs.tagged(making()))
    assert cosmictagger(["analyse", "--check", str(good)]) == 0
    assert "No fault was found." in capsys.readouterr().out
    assert cosmictagger(["analyse", str(bad)]) == 0
    assert cosmictagger(["analyse", "--check", str(bad)]) == 1


# --- what is written


def test_json_and_csv(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for ranks in (1, 2):
        (tmp_path / f"{ranks}.log").write_text(logs.tagged(making(ranks=ranks, step=(2.0, 2.5), validate=0)))
    given = [str(tmp_path / f"{ranks}.log") for ranks in (1, 2)]
    assert main([*given, "--json", str(tmp_path / "a.json"), "--csv", str(tmp_path / "a.csv")]) == 0
    shown = capsys.readouterr().out
    assert "Scaling" in shown
    assert max(len(line) for line in shown.splitlines()) <= 110
    content = json.loads((tmp_path / "a.json").read_text())
    second = content["runs"][1]
    assert (second["ranks"], second["images_per_second"], second["efficiency"]) == (2, 1.8, 0.9)
    assert [rank["train"]["mean"] for rank in second["by_rank"]] == [2.0, 2.5]
    assert "no-collective" in [fault["code"] for fault in second["faults"]]
    rows = list(csv.DictReader(io.StringIO((tmp_path / "a.csv").read_text())))
    assert [(row["rank"], row["images_per_second"]) for row in rows] == [
        ("0", "1"), ("all", "1"), ("0", "1"), ("1", "0.8"), ("all", "1.8"),
    ]  # fmt: skip


def test_what_cannot_be_written_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "job.log").write_text(logs.tagged(making()))
    (tmp_path / "file").write_text("")
    for place, why in (
        ("file/a.json", "no folder to lie in"),
        ("nowhere/a.json", "no folder"),
        (".", "is a folder"),
    ):
        assert main([str(tmp_path / "job.log"), "--json", str(tmp_path / place)]) == 2
        printed = capsys.readouterr()
        assert why in printed.err
        assert not printed.out  # told before anything is done
    assert not (tmp_path / "nowhere").exists()


def test_a_file_may_be_called_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("=HYPERLINK(1).log", "x\x1b[31mred.log"):
        (tmp_path / name).write_text(logs.tagged(making()))
    where = str(tmp_path / "all.csv")
    monkeypatch.chdir(tmp_path)
    assert main(["=HYPERLINK(1).log", "x\x1b[31mred.log", "--csv", where]) == 0
    assert "\x1b" not in capsys.readouterr().out
    assert not any(line.startswith("=") for line in Path(where).read_text().splitlines())
    assert main(["--as-published", "x\x1b[31mred.log"]) in (0, 2)
    printed = capsys.readouterr()
    assert "\x1b" not in printed.out + printed.err


def test_plots(tmp_path: Path) -> None:
    for ranks in (1, 3):
        (tmp_path / f"$x_{ranks}.log").write_text(logs.tagged(making(ranks=ranks, step=(2.0, 2.5))))
    assert main([*(str(path) for path in tmp_path.glob("*.log")), "--plots", str(tmp_path / "plots")]) == 0
    names = {path.name for path in (tmp_path / "plots").iterdir()}
    kinds = ("x_1-steps", "x_1-times", "x_3-steps", "x_3-times", "scaling")
    assert names == {f"{name}.{ending}" for name in kinds for ending in ("png", "svg")}
    for path in (tmp_path / "plots").glob("*.png"):
        assert path.read_bytes().startswith(b"\x89PNG")


def test_text_of_a_log_is_only_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "job.log").write_text(logs.tagged(making(id="[red]\x1b[31m:smile:")))
    assert main([str(tmp_path / "job.log")]) == 0
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert "[red]?[31m:smile:" in shown
