"""Analysis of logs: right figures of each rank and of all together, and every fault by its name."""

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
from typing import Any

import pytest
from cosmictagger.analysis.command import main
from cosmictagger.analysis.faults import find_faults
from cosmictagger.analysis.results import Fault, Result, result
from cosmictagger.analysis.runs import read_runs
from cosmictagger.analysis.scaling import scaling, split_runs
from cosmictagger.main import main as cosmictagger
from tests.apps.cosmictagger import analysis_logs as logs

HERE = Path(__file__).parent

#: a run of ours, whose ranks stay together
OURS = {
    "ours": True,
    "distributed": True,
    "also": ("Graph compilation done: the first call took 9.00 s with it",),
}


def making(**changes: Any) -> Any:
    return dataclasses.replace(logs.Making(), **changes)


def analysed(folder: Path, text: str | bytes, name: str = "job.log", **options: Any) -> Result:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return each(path, **options)[0]


def each(*paths: Path, **options: Any) -> list[Result]:
    found = [result(run, **options) for run in read_runs([str(path) for path in paths])]
    for one in found:
        one.faults = find_faults(one)
    return found


def faults(found: Result) -> dict[str, Fault]:
    return {fault.code: fault for fault in found.faults}


def mean(found: Result, measure: str) -> float:
    summary = found.pooled[measure]
    assert summary is not None
    return round(summary.mean, 6)


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


# --- faults


def test_ranks_that_wait_for_each_other_are_not_accused(tmp_path: Path) -> None:
    assert not analysed(tmp_path, logs.tagged(making(**OURS))).faults


def test_ranks_that_drift_apart_share_nothing(tmp_path: Path) -> None:
    found = analysed(tmp_path, logs.tagged(making(**OURS, step=(2.0, 2.3), steps=200)))
    fault = faults(found)["no-collective"]
    assert (fault.severity, fault.certainty) == ("error", "certain")
    assert "2 independent trainings" in fault.what


def test_a_constant_difference_of_clocks_is_no_drift(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    for rank, name in enumerate(("process.log", "process_rank_1.log")):
        (folder / name).write_text(logs.alone(making(**OURS, begin=logs.MORNING + 60_000 * rank)))
    assert not each(folder)[0].faults


def test_never_compiled_and_ran_on_the_host(tmp_path: Path) -> None:
    found = faults(analysed(tmp_path, logs.tagged(making(ranks=1))))
    assert (found["never-compiled"].certainty, found["ran-on-host"].certainty) == ("certain", "certain")
    # the file of the process alone may lack what the compiler said
    assert faults(analysed(tmp_path, logs.alone(making(ranks=1))))["ran-on-host"].certainty == "likely"


@pytest.mark.parametrize(
    "changes",
    [
        {"first_call": 90.0},
        {"also": ("Graph compilation: 100%",)},
        {"mode": "CPU"},
        OURS,
        {**OURS, "also": ()},
    ],
    ids=["slow first call", "compiler's text", "no IPU", "ours", "ours, without a word of it"],
)
def test_where_it_ran_is_not_guessed(changes: dict[str, Any], tmp_path: Path) -> None:
    found = faults(analysed(tmp_path, logs.tagged(making(ranks=1, **changes))))
    assert not {"never-compiled", "ran-on-host"} & set(found)


def test_our_own_word_that_nothing_was_compiled(tmp_path: Path) -> None:
    also = ("Graph compilation missing: the wrapped model's first call took 0.10 s with it",)
    found = faults(analysed(tmp_path, logs.tagged(making(ranks=1, **{**OURS, "also": also}))))
    assert list(found) == ["never-compiled"]


def test_text_of_the_compiler_counts_wherever_it_stands(tmp_path: Path) -> None:
    bar = "[1,0]<stderr>:\rGraph compilation:   3%|3 | 3/100\rGraph compilation: 100%|##| 100/100\n"
    assert "never-compiled" not in faults(analysed(tmp_path, bar + logs.tagged(making(ranks=1))))


def test_ranks_interleaved(tmp_path: Path) -> None:
    made = making(ranks=5, steps=203, step=(2.0, 2.03, 2.11, 2.2, 2.05))
    found = analysed(tmp_path, logs.shared(logs.records(made, rank) for rank in range(5)), "process.log")
    assert faults(found)["ranks-interleaved"].severity == "error"
    true = analysed(tmp_path, logs.tagged(made))
    assert len(found.timings) == 5
    assert found.aggregate == pytest.approx(true.aggregate, rel=1e-3)
    assert mean(found, "validation") == mean(true, "validation") == 0.75


def test_ranks_interleaved_line_by_line(tmp_path: Path) -> None:
    made = making(ranks=3, steps=60, step=(2.0, 2.01, 2.02), validate=0)
    text = re.sub(r"\[1,\d+\]<stdout>:", "", logs.tagged(made, header=False))
    found = analysed(tmp_path, text, "process.log")
    assert found.run.inferred == "from step numbers and times"
    assert found.aggregate == pytest.approx(analysed(tmp_path, logs.tagged(made)).aggregate, rel=1e-3)


def test_a_job_in_two_folders(tmp_path: Path) -> None:
    for second, ranks in ((39, range(2)), (40, range(2, 5))):
        folder = tmp_path / f"23-16-{second}" / "made"
        folder.mkdir(parents=True)
        made = making(ranks=5, begin=logs.MORNING + 1000 * (second - 39), step=(2.0, 2.1, 2.2, 2.3, 2.4))
        (folder / "process.log").write_text(logs.shared(logs.records(made, rank) for rank in ranks))
    found = each(tmp_path)
    split_runs(found)
    assert [len(one.timings) for one in found] == [2, 3]
    assert all("5 ranks" in faults(one)["run-split"].what for one in found)


def test_truncated(tmp_path: Path) -> None:
    text = logs.tagged(making(**OURS), header=False)
    found = analysed(tmp_path, text[: len(text) * 2 // 3])
    assert "the text ends within a line" in faults(found)["truncated"].evidence
    assert found.aggregate
    assert set(faults(analysed(tmp_path, logs.tagged(making(**OURS, closing=False))))) == {"truncated"}
    # a last line without its end is whole if all that should be there is there
    assert not analysed(tmp_path, text.rstrip("\n")).faults


def test_steps_missing(tmp_path: Path) -> None:
    lines = logs.tagged(making(**OURS)).splitlines(keepends=True)
    some = [
        number
        for number, line in enumerate(lines)
        if "[1,1]" in line and re.search("train Step (7|8) ", line)
    ]
    found = analysed(tmp_path, "".join(line for number, line in enumerate(lines) if number not in some))
    assert faults(found)["steps-missing"].evidence == ("rank 1: 2 steps without a line (7, 8)",)
    assert set(faults(found)) == {"steps-missing"}
    assert found.aggregate == pytest.approx(2 * 2 * 22 / (22 * 2 + 2 * 0.75))
    doubled = analysed(tmp_path, "".join(line * (1 + (number in some)) for number, line in enumerate(lines)))
    assert faults(doubled)["steps-missing"].evidence == ("rank 1: 2 lines are there twice",)


def test_rank_missing(tmp_path: Path) -> None:
    text = "".join(
        line for line in logs.tagged(making(**OURS, ranks=4)).splitlines(True) if "[1,2]" not in line
    )
    found = analysed(tmp_path, text)
    assert faults(found)["rank-missing"].what == "4 ranks were started, 3 have training lines."


def test_two_runs_in_one_log(tmp_path: Path) -> None:
    first, second = (
        making(**OURS, ranks=1),
        making(**OURS, ranks=1, id="other", begin=logs.MORNING + 3_600_000),
    )
    fault = faults(analysed(tmp_path, logs.alone(first) + logs.alone(second)))["mixed-runs"]
    assert fault.evidence[0] == "run.id: made, other"
    assert fault.evidence[1].startswith("rank 0 began again at step 0 (line ")
    again = faults(analysed(tmp_path, logs.alone(first) + logs.alone(dataclasses.replace(second, id="made"))))
    assert list(again) == ["mixed-runs"]


def test_a_run_that_goes_on_is_told_as_resumed(tmp_path: Path) -> None:
    first = making(**OURS, ranks=1, steps=26, iterations=50, closing=False)
    restored = ("Restored step 20 from checkpoints/model-20.safetensors", *OURS["also"])
    rest = making(
        **{**OURS, "also": restored}, ranks=1, first_step=20, steps=30, begin=logs.MORNING + 3_600_000
    )
    found = analysed(tmp_path, logs.alone(first) + logs.alone(rest))
    assert [(fault.code, fault.severity) for fault in found.faults] == [("resumed", "note")]
    assert mean(found, "train") == 2.0
    # the hour between does not count, nor do the first two lines of each start
    assert found.timings[0].steps == 24 + 28


@pytest.mark.parametrize(
    "text",
    [
        "[1,1]<stderr>:Traceback (most recent call last):\n",
        f"[1,1]<stdout>:{'2023-02-15 03:20:00,000'} - ERROR - The loss is nan\n",
        "03:59:00.000 17 POPRUN [I] mpirun (PID 18) terminated with exit code 134\n",
    ],
)
def test_failed(text: str, tmp_path: Path) -> None:
    found = analysed(tmp_path, logs.tagged(making(**OURS)) + text)
    assert set(faults(found)) == {"failed"}


def test_a_loss_that_is_no_number(tmp_path: Path) -> None:
    text = logs.tagged(making(**OURS))
    assert "failed" in faults(analysed(tmp_path, text.replace("loss: 3.07", "loss: nan", 3)))


def test_a_clock_that_was_set_back(tmp_path: Path) -> None:
    lines = [text for _, text in logs.records(making(**OURS, ranks=1, validate=0), 0)]
    lines[12] = lines[12].replace("03:", "02:", 1)
    assert "clock-set-back" in faults(analysed(tmp_path, "\n".join(lines) + "\n"))


def test_a_speed_that_is_not_that_of_the_lines(tmp_path: Path) -> None:
    text = re.sub(r"throughput: \S+", "throughput: 9.9", logs.tagged(making(**OURS)))
    assert "fom-differs" in faults(analysed(tmp_path, text, batch_size=2.0))


def test_other_modes_have_no_steps(tmp_path: Path) -> None:
    text = logs.alone(making(ranks=1, steps=0)).replace(": train", ": inference")
    assert faults(analysed(tmp_path, text))["no-steps"].evidence == ("mode.name is inference",)


# --- our own program

TINY = ["data.wires=32", "data.ticks=32", "data.downsample=0", "data.events=16", "data.aux_events=2"]
TINY += ["network=demo", "network.depth=1", "network.n_initial_filters=2", "network.bottleneck_deepest=2"]
TINY += ["run.aux_iterations=4", "mode.no_summary_images=true", "run.iterations=8"]


@pytest.mark.parametrize("mode", ["CPU", "IPU"])
def test_our_own_log_has_no_fault(mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREMULA_CHIP_MODEL", "off")
    assert cosmictagger([*TINY, f"run.compute_mode={mode}", f"output_dir={tmp_path}", "run.id=a"]) == 0
    (found,) = each(tmp_path)
    assert not found.faults
    assert found.images.per_step == 2
    (rank,) = found.timings
    assert (rank.lines, rank.first, rank.last) == (8, 0, 7)
    assert found.speed(rank) == pytest.approx(rank.logged[0][1], rel=0.1)
    assert ("own count of events" in found.images.how) == (mode == "IPU")


@pytest.mark.slow
def test_our_own_log_of_two_instances_has_no_fault(tmp_path: Path) -> None:
    launch = "import sys; from tremula.launch.main import main; sys.exit(main())"
    command = [sys.executable, "-c", launch, "--num-instances", "2", "--num-replicas", "2", sys.executable]
    command += [
        "-m",
        "cosmictagger",
        *TINY,
        "run.compute_mode=IPU",
        f"output_dir={tmp_path / 'out'}",
        "run.id=b",
    ]
    environment = {**os.environ, "PYTHONPATH": str(HERE.parents[2] / "apps"), "TREMULA_CHIP_MODEL": "off"}
    environment["OMP_NUM_THREADS"] = "1"
    with open(tmp_path / "job.log", "wb") as file:
        done = subprocess.run(command, env=environment, stdout=file, stderr=file, timeout=110, check=False)
    assert done.returncode == 0
    by_tag, by_file = each(tmp_path / "job.log", tmp_path / "out")
    for found in (by_tag, by_file):
        assert not found.faults
        assert len(found.timings) == 2
    assert by_tag.aggregate == by_file.aggregate
