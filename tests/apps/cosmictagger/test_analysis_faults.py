"""Analysis of logs: every fault by its name, and none where there is none."""

from __future__ import annotations

import dataclasses
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cosmictagger.analysis.scaling import split_runs
from cosmictagger.main import main as cosmictagger
from tests.apps.cosmictagger import analysis_logs as logs
from tests.apps.cosmictagger.analysed_logs import OURS, analysed, each, faults, making, mean

HERE = Path(__file__).parent


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
