"""Several files are put on one clock, and numbers hold for all of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tremula.errors import Error
from tremula.trace.batch import Batch
from tremula.trace.several import TraceSet
from tremula.trace.store import Store


def file(
    folder: Path, pid: int, *, wall_ns: int, clock: str = "", clock_ns: int = 0, label: str = "x"
) -> Path:
    """A file with one span from 1 us to 3 us after the start of its process."""
    process = {
        "pid": pid, "name": f"p{pid}", "host": "h", "instance": pid, "wall_ns": wall_ns, "clock": clock,
        "clock_ns": clock_ns,
    }  # fmt: skip
    columns = {"row": 0, "channel": 0, "label": 0, "start": 1000, "end": 3000, "metadata": -1}
    made = Batch(
        1, 5000, process, texts=[label], channels=["c"], rows=[(0, pid, "main", "thread")],
        tables={"events": {name: np.array([value]) for name, value in columns.items()}},
    )  # fmt: skip
    store = Store(folder, pid, made.pack()[0])
    store.close()
    return store.path


def test_files_of_one_host_share_its_clock(tmp_path: Path) -> None:
    file(tmp_path, 1, wall_ns=10**18, clock="same", clock_ns=7_000_000)
    file(tmp_path, 2, wall_ns=5, clock="same", clock_ns=9_000_000)  # its wall clock was set in between
    traces = TraceSet(tmp_path)
    assert traces.clock == "one host"
    assert traces.offsets_us == [0.0, 2000.0]
    assert traces.events.start_us.tolist() == [1.0, 2001.0]
    assert traces.title == "p1, p2 (2 processes)"


@pytest.mark.parametrize("clocks", [("a", "b"), ("", "")])
def test_files_of_several_hosts_share_the_wall_clock(tmp_path: Path, clocks: tuple[str, str]) -> None:
    file(tmp_path, 1, wall_ns=10**18 + 500_000, clock=clocks[0], clock_ns=1)
    file(tmp_path, 2, wall_ns=10**18, clock=clocks[1], clock_ns=2, label="y")
    traces = TraceSet(tmp_path)
    assert traces.clock == "wall clock"
    assert traces.offsets_us == [500.0, 0.0]
    assert traces.start_ns == 10**18
    assert [traces.texts[label] for label in traces.events.label] == ["x", "y"]
    assert traces.channels == ["c"], "channels of the same name are one"


def test_a_damaged_file_among_others_is_a_note(tmp_path: Path) -> None:
    file(tmp_path, 1, wall_ns=0)
    (tmp_path / "bad.pvti").write_bytes(b"nothing")
    traces = TraceSet(tmp_path)
    assert len(traces.files) == 1
    assert "bad.pvti" in traces.notes[0]
    (tmp_path / "alone").mkdir()
    (tmp_path / "bad.pvti").rename(tmp_path / "alone" / "bad.pvti")
    with pytest.raises(Error, match=r"bad\.pvti"):
        TraceSet(tmp_path / "alone")


def test_a_folder_without_traces_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Error, match="no trace file"):
        TraceSet(tmp_path)
