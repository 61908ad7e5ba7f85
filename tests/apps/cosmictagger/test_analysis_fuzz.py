"""Whatever is in a log, its analysis ends with a report or a refusal."""

from __future__ import annotations

import contextlib
import io
import random
from pathlib import Path

import pytest
from cosmictagger.analysis.command import main
from cosmictagger.analysis.results import result
from cosmictagger.analysis.runs import read_runs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.apps.cosmictagger import analysis_logs as logs

HERE = Path(__file__).parent

MADE = logs.Making(ranks=3, steps=14, validate=4, step=(2.0, 2.1, 2.3))
WHOLE = {
    "tagged": logs.tagged(MADE).encode(),
    "shared": logs.shared(logs.records(MADE, rank) for rank in range(3)).encode(),
    "ours": logs.alone(logs.Making(ranks=1, steps=14, validate=4, ours=True, device_iterations=2)).encode(),
}
quickly = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    derandomize=True,
)


def ends_well(folder: Path, data: bytes) -> None:
    path = folder / "process.log"
    path.write_bytes(data)
    for options in ([], ["--check"], ["--as-published"]):
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            code = main([str(path), *options, *(["--json", str(folder / "a.json")] if not options else [])])
        assert code in (0, 1, 2)


@quickly
@given(st.binary(max_size=400))
def test_any_bytes(tmp_path: Path, data: bytes) -> None:
    ends_well(tmp_path, data)
    ends_well(tmp_path, b"\x1f\x8b" + data)


@quickly
@given(st.sampled_from(sorted(WHOLE)), st.data())
def test_damaged_logs(tmp_path: Path, kind: str, data: st.DataObject) -> None:
    lines = WHOLE[kind].splitlines(keepends=True)
    chance = random.Random(data.draw(st.integers(0, 2**32)))
    for _ in range(data.draw(st.integers(1, 6))):
        place = chance.randrange(len(lines))
        damage = data.draw(st.sampled_from(["cut", "drop", "double", "shuffle", "bytes", "digits", "move"]))
        if damage == "cut":
            lines = b"".join(lines)[: chance.randrange(1, 1 + len(b"".join(lines)))].splitlines(keepends=True)
        elif damage == "drop":
            del lines[place : place + chance.randrange(20)]
        elif damage == "double":
            lines[place:place] = lines[place : place + chance.randrange(20)]
        elif damage == "shuffle":
            chance.shuffle(lines)
        elif damage == "bytes":
            broken = bytearray(lines[place])
            broken[chance.randrange(len(broken))] = chance.randrange(256)
            lines[place] = bytes(broken)
        elif damage == "digits":
            lines[place] = bytes(
                chance.choice(b"0123456789") if chr(each).isdigit() else each for each in lines[place]
            )
        else:
            lines.append(lines.pop(place))
        if not lines:
            lines = [b"\n"]
    ends_well(tmp_path, b"".join(lines))


@quickly
@given(st.integers(0, 2**32))
def test_the_order_of_tagged_ranks_changes_nothing(tmp_path: Path, seed: int) -> None:
    by_rank = [
        [line for line in WHOLE["tagged"].splitlines(keepends=True) if line.startswith(b"[1,%d]" % rank)]
        for rank in range(3)
    ]
    chance = random.Random(seed)
    order = [rank for rank, lines in enumerate(by_rank) for _ in lines]
    chance.shuffle(order)
    places = [iter(lines) for lines in by_rank]
    path = tmp_path / "job.log"
    path.write_bytes(b"".join(next(places[rank]) for rank in order))
    (run,) = read_runs([str(path)])
    found = result(run)
    (tmp_path / "whole.log").write_bytes(WHOLE["tagged"])
    true = result(next(iter(read_runs([str(tmp_path / "whole.log")]))))
    assert found.aggregate == pytest.approx(true.aggregate)
    assert found.pooled == true.pooled
