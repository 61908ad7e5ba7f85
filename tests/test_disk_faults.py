"""Every write path on a disk that is full, has no room for another file, is read-only, or is over quota.

A small file system fails by itself; a quota is a preloaded library (`quota.c`), with which `test_over_quota` runs this
module in a process of its own.

A file that the user asked for is an error with path, cause and advice; what only helps (cache, counters, records of
runs) is one warning. Either way the old file stays and no part of the new one is seen.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch

from tremula import checked_json, log
from tremula.atomic_files import cannot_write, write_text_atomically
from tremula.cache import Store, key_of
from tremula.errors import Error
from tremula.frontends.torch.package import container
from tremula.invariants import present
from tremula.machine import events, partitions, systems
from tremula.machine.attach import Attachment
from tremula.profile import ProfileWriter
from tremula.profile.model import Count
from tremula.program.file import save_program
from tremula.program.program import Program
from tremula.telemetry import ledger
from tremula.view.single_file import save_page

if sys.platform != "linux":
    pytest.skip("the faults are made with Linux", allow_module_level=True)
from tests.faulty_disk import SWITCH, Disk, kinds, small_file_system


@pytest.fixture
def disk(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Disk]:
    """A disk of 1 MiB and 40 files, in a mount namespace: nothing is left of it, even by a test that is killed."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if request.node.callspec.params.get("kind") in ("limited", "over_quota", "over_file_quota"):
        yield Disk(folder)
        return
    if os.getuid() != 0:
        pytest.skip("only root can make a small file system")
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(small_file_system(folder))
        except OSError as problem:
            pytest.skip(f"no small file system can be made here: {problem.strerror}")
        yield Disk(folder)


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Texts of warnings, each key once."""
    keys: set[str] = set()
    texts: list[str] = []

    def say(key: str, text: str) -> bool:
        if key not in keys:
            keys.add(key)
            texts.append(text)
        return True

    monkeypatch.setattr(log, "warn_once", say)
    return texts


# -- the table of write paths ------------------------------------------------------------------------------


@dataclass(frozen=True)
class WritePath:
    """A file and what writes it; `number` tells one writing from the next."""

    write: Callable[[Path, int], object]
    file: str


def _large(number: int) -> torch.Tensor:
    return torch.full((50_000,), float(number))


def _export(folder: Path, number: int) -> None:
    container.write(str(folder / "model.poptorch"), {"manifest": {}}, {"model": {"weight": _large(number)}})


def _profile(folder: Path, number: int) -> None:
    with ProfileWriter(folder / "profile.pop") as writer:
        writer.extend(Count(f"{number} {each}" * 20, each) for each in range(1000))


def _program(folder: Path, number: int) -> None:
    save_program(Program([], []), folder / "program.tremula", about={"numbers": list(range(number, 5000))})


def _executable(folder: Path, number: int) -> None:
    from tremula.frontends.poplar.execute.stored.files import Stored, write_executable
    from tremula.frontends.poplar.graph.graph import Graph
    from tremula.frontends.poplar.target import TargetFacts, TargetKind

    write_executable(
        Stored(Graph(TargetFacts(TargetKind.IPU_MODEL)), [], name=str(number)), folder / "executable"
    )


def _choice(folder: Path, number: int) -> None:
    systems.choose(["bow-pod16", "pod16"][number])


def _partitions(folder: Path, number: int) -> None:
    partitions.create(present(systems.current(), "the system"), f"p{number}", 1)


def _launch_options(folder: Path, number: int) -> None:
    from tremula.launch import config_file
    from tremula.launch.command_line import parse

    settings, _ = parse(["--num-instances", str(1 + number), "--overwrite-config", "yes", "python"])
    for problem in config_file.export(settings, folder / "poprun.json"):
        raise Error(problem)


def _answer(folder: Path, number: int) -> None:
    checked_json.write_document(folder / "answer.json", "test", 1, {"numbers": [number] * 1000})


def _page(folder: Path, number: int) -> None:
    save_page(str(number) * 10_000, folder / "page.html")


def _text(folder: Path, number: int) -> None:
    write_text_atomically(folder / "scale.csv", str(number) * 10_000)


def _cosmoflow_checkpoint(folder: Path, number: int) -> None:
    from cosmoflow import checkpoints

    state = {"step": 1, "network": {"weight": _large(number)}}
    checkpoints.save(folder, state, keep=2, best=False)


def _cosmictagger_checkpoint(folder: Path, number: int) -> None:
    from cosmictagger.training import checkpoints

    found = checkpoints.Checkpoint(
        checkpoints.Position(step=1), {"weight": _large(number)}, {}, {}, {}, "adam", "float32", "CPU"
    )
    checkpoints.write(folder / "model-1.safetensors", found)


def _samples(folder: Path, number: int) -> None:
    import numpy as np
    from cosmoflow.data.writer import write_samples

    counts = np.full((16, 16, 16, 4), number, np.int16)
    write_samples(folder / "samples.h5", [(counts, np.zeros(4, np.float32))] * 4, 4)


def _events(folder: Path, number: int) -> None:
    from cosmictagger.data import EventWriter, SyntheticEvents

    with EventWriter(folder / "events.h5") as writer:
        for event in SyntheticEvents(3, number, shape=(64, 32)):
            writer.write(event)


def _records(folder: Path, number: int) -> None:
    from cosmictagger.training.records import Records

    records = Records(folder, step=10**6)
    try:
        records.add("train", {"step": float(number), "loss": 1.0})
    finally:
        records.close()


PATHS = {
    "saved program": WritePath(_program, "program.tremula"),
    "executable of Poplar": WritePath(_executable, "executable"),
    "choice of a system": WritePath(_choice, "machine.toml"),
    "partitions": WritePath(_partitions, "partitions.json"),
    "options of poprun": WritePath(_launch_options, "poprun.json"),
    "events of cosmictagger": WritePath(_events, "events.h5"),
    "export": WritePath(_export, "model.poptorch"),
    "profile": WritePath(_profile, "profile.pop"),
    "saved answer": WritePath(_answer, "answer.json"),
    "page": WritePath(_page, "page.html"),
    "table of a scale study": WritePath(_text, "scale.csv"),
    "checkpoint of cosmoflow": WritePath(_cosmoflow_checkpoint, "step-00000001.pt"),
    "checkpoint of cosmictagger": WritePath(_cosmictagger_checkpoint, "model-1.safetensors"),
    "samples of cosmoflow": WritePath(_samples, "samples.h5"),
    "metrics of cosmictagger": WritePath(_records, "train.csv"),
}
FAULTS = kinds("full", "no_inodes", "read_only", "limited")


@pytest.fixture
def places(disk: Disk, monkeypatch: pytest.MonkeyPatch) -> Disk:
    """All folders of the user on that disk."""
    monkeypatch.setenv("TREMULA_STATE_DIR", str(disk.folder / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(disk.folder / "config"))
    return disk


@pytest.mark.parametrize("kind", FAULTS)
@pytest.mark.parametrize("name", PATHS)
def test_what_the_user_asked_for_is_one_clear_error_and_the_old_file_stays(
    name: str, kind: str, places: Disk
) -> None:
    path = PATHS[name]
    path.write(places.folder, 0)
    before = places.contents()
    (file,) = [each for each in before if each.endswith(path.file)]
    with places.fault(kind) as number, pytest.raises((OSError, Error)) as raised:
        path.write(places.folder, 1)
    problem = raised.value
    text = problem.message if isinstance(problem, Error) else cannot_write(str(problem.filename), problem)
    assert str(places.folder / file) in text
    assert os.strerror(number) in text
    assert ".part" not in text
    assert places.contents() == before
    path.write(places.folder, 1)  # and when there is room again, it is written
    assert places.contents() != before


# -- what only helps -------------------------------------------------------------------------------------


def _attach(folder: Path) -> None:
    attachment = Attachment(1, hardware=True)
    attachment.attach()
    assert attachment.meter is not None
    attachment.meter.called(0.1, samples=4)  # writes to the counters: not the death of the process
    attachment.meter.write()
    attachment.detach()


def _run_record(folder: Path) -> None:
    ledger._at_exit(ledger.Run("train.py", os.getpid(), 1.0))


def _cache_entry(folder: Path) -> None:
    assert not Store(folder / "cache").put(key_of({"model": "net"}), {}, {"so": bytes(100_000)})


def _event_record(folder: Path) -> None:
    events.record("error", "a fault", [0], "p4")


HELPERS: dict[str, Callable[[Path], None]] = {
    "run record": _run_record,
    "cache entry": _cache_entry,
    "event record": _event_record,
}


@pytest.mark.parametrize("kind", FAULTS)
@pytest.mark.parametrize("name", HELPERS)
def test_a_program_goes_on_with_one_warning_without_what_only_helps(
    name: str, kind: str, places: Disk, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IPU_APP_EVENT_RECORD_PATH", str(places.folder))
    before = places.contents()
    with places.fault(kind) as number:
        for _ in range(2):
            HELPERS[name](places.folder)
    (text,) = said
    assert str(places.folder) in text
    assert os.strerror(number) in text
    assert places.contents() == before


@pytest.mark.parametrize("kind", kinds("full", "limited"))
def test_virtual_ipus_without_room_for_counters_can_be_used(kind: str, places: Disk, said: list[str]) -> None:
    with places.fault(kind) as number:
        _attach(places.folder)
        _attach(places.folder)
    (text,) = said
    assert f"counters cannot be written: {os.strerror(number)}" in text
    assert "The program continues" in text


@pytest.mark.parametrize("kind", kinds("no_inodes", "read_only"))
def test_virtual_ipus_that_cannot_be_held_are_one_clear_error(
    kind: str, places: Disk, said: list[str]
) -> None:
    with places.fault(kind) as number, pytest.raises(Error, match="TREMULA_STATE_DIR") as raised:
        _attach(places.folder)
    assert str(places.folder / "state") in raised.value.message
    assert os.strerror(number) in raised.value.message
    assert said == []


@pytest.mark.parametrize("kind", FAULTS)
def test_a_log_that_takes_no_more_goes_to_stderr(
    kind: str, places: Disk, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    place = places.folder / "poplar.log"
    monkeypatch.setenv("POPLAR_LOG_DEST", str(place))
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    layer = log.layer("PO:ENGINE")
    with log.levels_restored(), places.fault(kind) as number:
        log.set_level("poplar", "INFO")
        layer.info("one")
        layer.info("two")
    note, one, two = stream.getvalue().splitlines()
    assert str(place) in note
    assert os.strerror(number) in note
    assert one.endswith("one")
    assert two.endswith("two")


@pytest.mark.parametrize("kind", kinds("full", "limited"))
def test_a_training_of_cosmictagger_does_not_end_for_its_log(
    kind: str, places: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cosmictagger.training.logs import close_log, open_log

    stream = io.StringIO()
    monkeypatch.setattr(sys, "stdout", stream)
    logger = open_log(places.folder, 0)
    with places.fault(kind) as number:
        logger.info("one")
        logger.info("two")
        close_log(logger)
    lines = stream.getvalue().splitlines()
    (note,) = [line for line in lines if "process.log cannot be written" in line]
    assert os.strerror(number) in note
    assert [line[-3:] for line in lines if line is not note] == ["one", "two"]


@pytest.mark.parametrize("kind", kinds("full"))
def test_a_sparse_file_of_counters_is_given_its_room(
    kind: str, places: Disk, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Earlier versions left one, to whose pages a full disk has no room."""
    _attach(places.folder)
    (counters,) = places.folder.rglob("counters")
    size = counters.stat().st_size
    counters.unlink()
    with open(counters, "wb") as file:
        file.truncate(size)
    counters.chmod(0o600)
    monkeypatch.setattr("tremula.machine.counters._opened", {})  # as in another process
    with places.fault(kind):
        _attach(places.folder)
    (text,) = said
    assert "counters cannot be written" in text
    monkeypatch.setattr("tremula.machine.counters._opened", {})
    _attach(places.folder)
    assert counters.stat().st_blocks * 512 >= size


@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnhandledThreadExceptionWarning"
)  # TensorBoard's own thread
@pytest.mark.parametrize("kind", kinds("full"))
def test_a_training_of_cosmictagger_does_not_end_for_its_summaries(
    kind: str, places: Disk, capsys: pytest.CaptureFixture[str]
) -> None:
    from cosmictagger.training.summaries import Summaries

    summaries = Summaries(places.folder)
    pixels = np.random.default_rng(0).integers(0, 255, (64, 64, 3), np.uint8)
    with places.fault(kind) as number:
        for step in range(3):
            summaries.image("train", step, "event", pixels)
            summaries._writers["train"].file_writer.event_writer._async_writer._byte_queue.join()
        # its own thread ends with the error; in the next test that would be a surprise
        summaries._writers["train"].file_writer.event_writer._async_writer._worker.join(20)
        summaries.close()
    (line,) = capsys.readouterr().err.splitlines()
    assert f"{places.folder} cannot be written: {os.strerror(number)}" in line


@pytest.mark.parametrize("kind", kinds("no_inodes", "read_only"))  # an empty log fits on a full disk
def test_a_measured_run_whose_log_cannot_be_written_says_so(kind: str, places: Disk) -> None:
    from tremula.scale.measure import MeasureSettings, measure

    folder = places.folder / "study"
    with places.fault(kind) as number:
        found = measure(["run", "train.py"], MeasureSettings(instances=(1,)), folder)
    (problem,) = found.problems
    assert f"{folder} cannot be written: {os.strerror(number)}" in problem


@pytest.mark.parametrize("kind", kinds("no_inodes", "read_only"))
def test_a_command_that_cannot_make_its_folder_says_so_in_one_line(
    kind: str, places: Disk, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from tremula.cli import demo, main

    monkeypatch.setattr(demo, "_refuse_if_unready", lambda folder: None)
    with places.fault(kind) as number:
        assert main.main(["demo", "--out", str(places.folder / "demo")]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"tremula: {places.folder / 'demo'} cannot be written: {os.strerror(number)}.")


@pytest.mark.parametrize("kind", kinds("full", "limited"))
def test_a_program_that_is_studied_does_not_end_for_what_it_prints(
    kind: str, places: Disk, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from tremula.cli import scale

    stream = scale._log(places.folder)
    with places.fault(kind) as number:
        monkeypatch.setattr(sys, "stdout", stream)
        for _ in range(3):
            print("y" * 100_000, flush=True)  # noqa: T201
        stream.close()
        monkeypatch.undo()
    (text,) = said
    assert f"{places.folder / 'program.log'} cannot be written: {os.strerror(number)}" in text


@pytest.mark.parametrize("kind", FAULTS)
def test_a_model_whose_compiler_has_no_room_stays_in_the_quick_form(
    kind: str, places: Disk, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import poptorch

    monkeypatch.setenv("TREMULA_EXECUTION", "compiled")
    monkeypatch.setenv("TREMULA_CACHE_DIR", str(places.folder / "cache"))
    monkeypatch.setenv("POPTORCH_IPU_MODEL", "1")
    model = poptorch.inferenceModel(torch.nn.Linear(4, 2))
    with places.fault(kind) as number:
        result = model(torch.ones(1, 4))
    assert result.shape == (1, 2)
    (text,) = [each for each in said if "stays in the quick form" in each]
    assert os.strerror(number) in text


def test_over_quota(tmp_path: Path) -> None:
    """All of this once more with EDQUOT, of blocks and of files."""
    if SWITCH:
        return
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    library = tmp_path / "quota.so"
    source = Path(__file__).with_name("quota.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", __file__],
        cwd=Path(__file__).parents[1],
        env={**os.environ, "LD_PRELOAD": str(library), "QUOTA_SWITCH": str(tmp_path / "switch")},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stdout[-3000:] + ended.stderr[-2000:]
    found = re.search(r"(\d+) passed", ended.stdout)
    assert found is not None
    assert int(found[1]) > 2 * len(PATHS) + 2 * len(HELPERS)
    assert "skipped" not in ended.stdout.splitlines()[-1]
