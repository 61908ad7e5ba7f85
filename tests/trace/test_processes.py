"""Files of processes that end in every way: normally, killed, forked, started by multiprocessing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tremula.trace.reader import TraceFile
from tremula.trace.snapshot import read_consistently


def run(script: str, folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PVTI_OPTIONS": f'{{"directory": "{folder}"}}', **more}
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )


def traces(folder: Path) -> list[TraceFile]:
    assert not list(folder.glob(".*")), "no temporary file is left"
    return [TraceFile(path) for path in sorted(folder.glob("*.pvti"))]


def labels(trace: TraceFile) -> list[str]:
    return [trace.texts[label] for label in trace.events.label]


def test_a_process_that_ends_leaves_all_it_marked(tmp_path: Path) -> None:
    done = run(
        "import libpvti as pvti\n"
        "channel = pvti.createTraceChannel('c')\n"
        "for i in range(1000):\n"
        "    with pvti.Tracepoint(channel, 'x'): pass\n"
        "print(pvti.getCurrentTraceFilename())\n"
        "raise SystemExit",
        tmp_path,
    )
    (trace,) = traces(tmp_path)
    assert str(trace.path) == done.stdout.strip()
    assert len(trace.events) == 1000
    assert done.stderr == ""


def test_a_forked_process_has_a_file_of_its_own(tmp_path: Path) -> None:
    run(
        "import os, libpvti as pvti\n"
        "channel = pvti.createTraceChannel('c')\n"
        "with pvti.Tracepoint(channel, 'around'):\n"
        "    for i in range(3):\n"
        "        if not os.fork():\n"
        "            with pvti.Tracepoint(channel, f'child {i}'): pass\n"
        "            raise SystemExit\n"
        "    for i in range(3): os.wait()\n",
        tmp_path,
    )
    found = sorted(labels(trace) for trace in traces(tmp_path))
    assert found == [["around"], ["child 0"], ["child 1"], ["child 2"]]
    assert len({trace.process.pid for trace in traces(tmp_path)}) == 4


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_of_multiprocessing_complete_their_files(tmp_path: Path, method: str) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import multiprocessing, libpvti as pvti\n"
        "channel = pvti.createTraceChannel('c')\n"
        "def work(name):\n"
        "    with pvti.Tracepoint(channel, name): pass\n"
        "if __name__ == '__main__':\n"
        f"    context = multiprocessing.get_context('{method}')\n"
        "    child = context.Process(target=work, args=('child',)); child.start(); child.join()\n"
    )
    run(f"import runpy; runpy.run_path({str(program)!r}, run_name='__main__')", tmp_path / "t")
    (trace,) = traces(tmp_path / "t")
    assert labels(trace) == ["child"]
    assert trace.ended


def test_of_a_killed_process_all_that_was_written_is_readable(tmp_path: Path) -> None:
    script = (
        "import libpvti as pvti\n"
        "from tremula.trace import writer\n"
        "channel = pvti.createTraceChannel('c')\n"
        "pvti.Tracepoint.begin(channel, 'forever')\n"
        "for i in range(10**9):\n"
        "    with pvti.Tracepoint(channel, f'number {i}'): pass\n"
        "    writer.flush()\n"
        "    if i == 20: print('ready', flush=True)\n"
    )
    environment = {**os.environ, "PVTI_OPTIONS": f'{{"directory": "{tmp_path}"}}'}
    for pause in (0.0, 0.003, 0.011):
        with subprocess.Popen(
            [sys.executable, "-c", script], env=environment, stdout=subprocess.PIPE, text=True
        ) as child:
            assert child.stdout is not None
            child.stdout.readline()
            (path,) = tmp_path.glob("*.pvti")
            assert len(TraceFile(path).events) >= 20, "while it runs"
            time.sleep(pause)
            child.send_signal(signal.SIGKILL)
        trace = TraceFile(path)
        assert len(trace.events) >= 20
        assert labels(trace)[0] == "forever"
        assert trace.events.unfinished[0]
        assert trace.ended == ""
        for left in tmp_path.iterdir():
            left.unlink()


def test_a_transaction_that_was_cut_off_is_undone_in_a_copy(tmp_path: Path) -> None:
    """The journal and the file as a process leaves them that is killed while it changes pages."""
    run(
        "import os, sqlite3, libpvti as pvti\n"
        "from tremula.trace import writer\n"
        "channel = pvti.createTraceChannel('c')\n"
        "with pvti.Tracepoint(channel, 'kept'): pass\n"
        "path = pvti.getCurrentTraceFilename(); pvti.closeTrace()\n"
        "connection = sqlite3.connect(path, isolation_level=None)\n"
        "connection.execute('pragma synchronous=off'); connection.execute('pragma cache_size=1')\n"
        "connection.execute('pragma cache_spill=1'); connection.execute('begin')\n"
        "connection.execute('update batches set content = zeroblob(9000)')\n"
        "for i in range(300): connection.execute('insert into batches values (?, zeroblob(3000))', (i + 100,))\n"
        "os._exit(0)",
        tmp_path,
    )
    (path,) = tmp_path.glob("*.pvti")
    journal = path.with_name(path.name + "-journal")
    damaged, undone = path.read_bytes(), journal.read_bytes()
    assert len(damaged) > 50_000, "the file was changed before the process ended"
    assert labels(TraceFile(path)) == ["kept"]
    assert (path.read_bytes(), journal.read_bytes()) == (damaged, undone), "neither file was touched"
    read_consistently(path, lambda copy: copy.stat())
