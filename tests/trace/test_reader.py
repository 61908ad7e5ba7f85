"""A trace file that was changed is read correctly or refused with a message."""

from __future__ import annotations

import os
import random
import re
import sqlite3
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tremula.errors import Error
from tremula.trace import batch, channels, measures, nesting, points
from tremula.trace.batch import BadBatch, Batch, unpack
from tremula.trace.reader import TraceFile

Record = Callable[..., Callable[[], TraceFile]]
CHANNEL = channels.channel("test")


@pytest.fixture
def good(record: Record) -> TraceFile:
    end = record()
    with points.Span(CHANNEL, "outer", "metadata"):
        for at in range(40):
            with points.Span(CHANNEL, f"inner {at % 7}"):
                points.moment(CHANNEL, "moment")
    measures.Series("graph", "%", "line").add(4.0)
    measures.HeatMap.of("heat", [0, 1, 2], "").add([0.5])
    return end()


def content(trace: TraceFile) -> object:
    """All that a trace says, for comparisons."""
    columns = [getattr(trace.events, name).tolist() for name in trace.events.__dataclass_fields__]
    columns += [getattr(trace.instants, name).tolist() for name in trace.instants.__dataclass_fields__]
    counters = [(each.graph, each.series, each.value.tolist()) for each in trace.counters]
    heat = [(each.name, each.edges, each.counts.tolist()) for each in trace.heatmaps]
    return trace.process, trace.threads, trace.channels, trace.texts, columns, counters, heat


def test_changed_bytes_give_an_error_or_the_same_content(good: TraceFile, tmp_path: Path) -> None:
    original, expected = good.path.read_bytes(), content(good)
    rng = random.Random(0)
    path = tmp_path / "changed.pvti"
    tried = refused = same = 0
    for _ in range(300):
        data = bytearray(original)
        for _ in range(rng.choice((1, 1, 3, 20))):
            data[rng.randrange(len(data))] = rng.randrange(256)
        if rng.random() < 0.2:
            del data[rng.randrange(len(data)) :]
        path.write_bytes(data)
        tried += 1
        try:
            found = TraceFile(path)
        except Error as problem:
            refused += "changed.pvti" in problem.message
        else:
            same += content(found) == expected
    assert refused + same == tried
    assert refused > 100


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            "update batches set number = number + 1 where number = (select max(number) from batches)",
            "missing",
        ),
        ("delete from batches", "process"),
        ("update batches set content = 'text' where number = 1", "missing"),
        ("create view v as select 1", "views"),
        ("create table more (a)", "tables"),
        ("pragma user_version = 99", "newer Tremula"),
        ("pragma user_version = 0", "version"),
        ("pragma application_id = 7", "something else"),
    ],
)
def test_files_of_another_form_are_refused(good: TraceFile, change: str, said: str) -> None:
    connection = sqlite3.connect(good.path, isolation_level=None)
    connection.execute(change)
    connection.close()
    with pytest.raises(Error, match=said):
        TraceFile(good.path)


def test_a_missing_file_and_another_one_are_refused(tmp_path: Path) -> None:
    with pytest.raises(Error, match="cannot be opened"):
        TraceFile(tmp_path / "none.pvti")
    (tmp_path / "text.pvti").write_text("hello" * 100)
    with pytest.raises(Error, match="SQLite"):
        TraceFile(tmp_path / "text.pvti")
    os.mkfifo(tmp_path / "pipe.pvti")
    for path in (tmp_path, tmp_path / "pipe.pvti"):
        with pytest.raises(Error, match="regular"):
            TraceFile(path)


def test_what_lies_beside_a_file_as_its_journal_does_no_harm(good: TraceFile) -> None:
    expected = content(good)
    journal = good.path.with_name(good.path.name + "-journal")
    os.mkfifo(journal)
    assert content(TraceFile(good.path)) == expected
    journal.unlink()
    journal.write_bytes(b"not a journal")
    assert content(TraceFile(good.path)) == expected
    # a journal that wants all pages but one to go
    journal.write_bytes(bytes.fromhex("d9d505f920a163d7") + struct.pack(">5I", 0, 0, 1, 512, 4096))
    before = good.path.read_bytes()
    with pytest.raises(Error, match=re.escape(good.path.name)):
        TraceFile(good.path)
    assert good.path.read_bytes() == before


def forged(good: TraceFile, **fields: object) -> Path:
    """The file of `good` with one batch, which says something else."""
    process = {
        "pid": 1, "name": "n", "host": "h", "instance": -1, "wall_ns": 0, "clock": "", "clock_ns": 0
    }  # fmt: skip
    made = Batch(1, 0, process)
    for name, value in fields.items():
        setattr(made, name, value)
    connection = sqlite3.connect(good.path, isolation_level=None)
    connection.execute("delete from batches")
    connection.execute("insert into batches values (1, ?)", (made.pack()[0],))
    connection.close()
    return good.path


ZERO = np.zeros(1, np.int64)


@pytest.mark.parametrize(
    "fields",
    [
        {"number": 2},
        {"process": None},
        {"process": {"pid": 1}},
        {"rows": [(5, 0, "a", "thread")]},
        {"rows": [(0, 0, "a", "robot")]},
        {"open": [(0, 0, 0, 0, 0)]},
        {"open": [(0, 0, 0, 2**63, 0)]},
        {"texts": ["\ud800"]},
        {"texts": ["x" * 20_000]},
        {"heatmaps": [("a", "", [1.0, 0.0])]},
        {"heat": [(3, 0, np.zeros(4))]},
        {"lost": -1},
        {"tables": {"events": dict.fromkeys(("row", "channel", "label", "start", "end", "metadata"), ZERO)}},
        {"tables": {"samples": {"series": ZERO, "time": ZERO, "value": ZERO}}},
        {
            "series": [("g", "", "s")],
            "tables": {"samples": {"series": ZERO, "time": ZERO, "value": np.array([np.inf])}},
        },
        {
            "rows": [(0, 1, "r", "thread")], "channels": ["c"], "texts": ["t"],
            "tables": {"events": {"row": ZERO, "channel": ZERO, "label": ZERO, "start": ZERO, "end": ZERO - 1,
                                  "metadata": ZERO - 1}},
        },
    ],
    ids=str,
)  # fmt: skip
def test_batches_that_refer_to_nothing_are_refused(good: TraceFile, fields: dict[str, object]) -> None:
    with pytest.raises(Error, match="cannot be read as a trace"):
        TraceFile(forged(good, **fields))


def test_a_forged_batch_that_is_consistent_is_read(good: TraceFile) -> None:
    assert TraceFile(forged(good, texts=["<script>"])).texts == ["<script>"]


def test_a_batch_that_grows_beyond_all_bounds_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    packed, _ = Batch(1, 0, texts=["x" * 5000] * 100).pack()
    assert len(unpack(packed)[0].texts) == 100
    monkeypatch.setattr(batch, "MOST_BYTES", 100_000)
    with pytest.raises(BadBatch, match="too large"):
        unpack(packed)


TIMES = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 30), st.integers(0, 12)), max_size=25)


@given(TIMES)
@settings(max_examples=200, deadline=None)
def test_no_two_spans_of_a_depth_overlap_and_parents_hold_their_children(
    spans: list[tuple[int, int, int]],
) -> None:
    row, start, length = (np.array(each, np.int64) for each in zip(*spans, strict=True)) if spans else [
        np.zeros(0, np.int64)
    ] * 3  # fmt: skip
    end = start + length
    order = nesting.order(row, start, end)
    row, start, end = row[order], start[order], end[order]
    depth = nesting.depths(row, start, end)
    parent = nesting.parents(row, depth, start, end)
    for one in range(len(row)):
        for other in range(one):
            if row[one] == row[other] and depth[one] == depth[other]:
                assert end[other] <= start[one]
        if parent[one] >= 0:
            around = parent[one]
            assert row[around] == row[one]
            assert depth[around] == depth[one] - 1
            assert start[around] <= start[one]
            assert end[one] <= end[around]


@given(
    st.recursive(st.just([]), lambda inner: st.lists(inner, max_size=4), max_leaves=30),
)
@settings(max_examples=100, deadline=None)
def test_depths_and_parents_of_nested_calls_are_those_of_the_calls(tree: list[object]) -> None:
    starts, ends, depths, parents = [], [], [], []
    clock = 0

    def visit(node: list[object], depth: int, parent: int) -> None:
        nonlocal clock
        number = len(starts)
        starts.append(clock)
        ends.append(0)
        depths.append(depth)
        parents.append(parent)
        for child in node:
            clock += 1
            visit(child, depth + 1, number)  # type: ignore[arg-type]
        clock += 1
        ends[number] = clock

    visit(tree, 0, -1)
    row, start, end = np.zeros(len(starts), np.int64), np.array(starts), np.array(ends)
    assert nesting.order(row, start, end).tolist() == list(range(len(starts)))
    found = nesting.depths(row, start, end)
    assert found.tolist() == depths
    assert nesting.parents(row, found, start, end).tolist() == parents
