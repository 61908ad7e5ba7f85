"""Log lines have the original's form, each process has a log of its own, and tables lose nothing."""

from __future__ import annotations

import csv
import json
import math
import re
from pathlib import Path

import pytest
from cosmictagger.training.logs import close_log, closing_lines, open_log, training_line, validation_line
from cosmictagger.training.records import Records

STAMP = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} - INFO - "
NUMBER = r"\d+(?:\.\d+)?(?:e[+-]\d+)?"
METRICS = rf"metrics: Average/Non_Bkg_Accuracy: {NUMBER}, Average/mIoU: {NUMBER}, loss: {NUMBER}"
TRAIN = re.compile(
    rf"{STAMP}train Step \d+ {METRICS} \((?:{NUMBER} Img/s / )?{NUMBER} IOs / {NUMBER} \(Step\)\(s\)\)"
)
TEST = re.compile(rf"{STAMP}test Step \d+ {METRICS} \({NUMBER} Img/s\)")

#: lines of a published run; the patterns above have to know them too
PUBLISHED_TRAIN = (
    "2023-02-15 05:39:37,567 - INFO - train Step 498 metrics: Average/Non_Bkg_Accuracy: 0.318, "
    "Average/mIoU: 0.0415, loss: 2.86 (0.15 Img/s / 0.017 IOs / 0.049 (Step)(s))"
)
PUBLISHED_TEST = (
    "2023-02-15 13:16:29,833 - INFO - test Step 490 metrics: Average/Non_Bkg_Accuracy: 0.269, "
    "Average/mIoU: 0.0275, loss: 3.32 (0.4 Img/s)"
)


def measured(accuracy: float, miou: float, loss: float) -> dict[str, float]:
    return {"Average/mIoU": miou, "Average/Non_Bkg_Accuracy": accuracy, "loss": loss, "plane0/mIoU": 0.5}


def test_a_training_line_is_that_of_the_published_run_to_the_letter() -> None:
    line = training_line(498, measured(0.3180001, 0.04149, 2.8612), 0.1521, 0.0171, 0.0493)
    assert PUBLISHED_TRAIN.endswith(f"INFO - {line}")
    assert TRAIN.fullmatch(PUBLISHED_TRAIN)


def test_a_validation_line_is_that_of_the_published_run_to_the_letter() -> None:
    line = validation_line(490, measured(0.2689, 0.02751, 3.3199), 0.4001)
    assert PUBLISHED_TEST.endswith(f"INFO - {line}")
    assert TEST.fullmatch(PUBLISHED_TEST)


def test_the_first_line_has_no_speed() -> None:
    line = training_line(0, measured(0.158, 0.0011, 3.75), None, 0.02, 0.053)
    assert line.endswith("loss: 3.75 (0.02 IOs / 0.053 (Step)(s))")


def test_a_speed_above_ten_has_no_exponent() -> None:
    assert "(123 Img/s / " in training_line(5, measured(0.5, 0.5, 1.0), 123.4, 0.01, 0.02)


def test_closing_lines_leave_out_what_happens_once() -> None:
    ends = [0.0, 10.0, 11.0, *(12.0 + each for each in range(48))]
    assert closing_lines(ends, 2) == [
        "Total time to batch_process: 59.0000",
        "Total time to batch process except first iteration: 49.0000, throughput: 2.0000",
        "Total time to batch process except first two iterations: 48.0000, throughput: 2.0000",
        "Total time to batch process last 40 iterations: 40.0000, throughput: 2.0000",
    ]
    assert closing_lines([0.0, 1.0], 2) == ["Total time to batch_process: 1.0000"]


def test_each_process_has_a_file_of_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for rank in (0, 1):
        logger = open_log(tmp_path, rank)
        logger.info(training_line(3, measured(0.3, 0.2, 1.5), 2.0, 0.1, 0.2))
        close_log(logger)
    for name in ("process.log", "process_rank_1.log"):
        (line,) = (tmp_path / name).read_text().splitlines()
        assert TRAIN.fullmatch(line)
    assert len(capsys.readouterr().out.splitlines()) == 2


def test_tables_hold_every_metric_and_go_on_where_a_checkpoint_was(tmp_path: Path) -> None:
    first = Records(tmp_path)
    for step in range(4):
        first.add("train", {"step": step, "loss": 4.0 - step, "mIoU": math.nan})
    first.add("test", {"step": 2, "loss": 3.0})
    first.close()
    with open(tmp_path / "metrics.jsonl", "a") as file:
        file.write('{"kind": "train", "step": 4, "lo')  # killed while writing
    again = Records(tmp_path, 2)
    again.add("train", {"step": 2, "loss": 9.0, "mIoU": 0.5})
    again.close()
    with open(tmp_path / "train.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["step"] for row in rows] == ["0", "1", "2"]
    assert rows[2]["loss"] == "9"
    assert rows[0]["mIoU"] == "nan"
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines] == [0, 1, 2]
    assert lines[0]["mIoU"] is None
