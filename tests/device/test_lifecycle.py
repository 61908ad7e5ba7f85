"""A program's life on a device, driven by a front end that needs numpy alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tremula import log
from tremula.device.progress import ProgressBar
from tremula.device.settings import Connection
from tremula.errors import Error
from tremula.machine.occupancy import current_occupancy
from tremula.profile import Profile

BATCH = np.ones((2, 4))

Make = Callable[..., Any]


def held() -> list[int]:
    room = current_occupancy()
    assert room is not None
    return [ipu for ipu in range(4) if room.usage(ipu) is not None]


def test_the_order_of_a_compilation(driven: Make) -> None:
    program = driven()
    program.compile()
    assert program.events == ["answer", "capture", "announce", "model", "load"]
    assert program.device.attached
    assert held() == [0]


def test_a_program_computes_with_the_weights_and_the_seed_that_it_is_given(driven: Make) -> None:
    program = driven()
    program.compile()
    noise = [np.random.default_rng([3, n]).standard_normal() for n in (1, 2)]
    np.testing.assert_allclose(program.run(BATCH)[:, 0], [5 * (1 + each) for each in noise])


def test_detached_and_attached_again_it_goes_on_where_it_was(driven: Make) -> None:
    alone, interrupted = driven(), driven()
    for program in (alone, interrupted):
        program.compile()
        program.run(BATCH)
    interrupted.device.detach(interrupted.save)
    assert held() == [0]
    assert interrupted.host["weight"] == 6
    interrupted.device.attach(interrupted.load)
    np.testing.assert_array_equal(alone.run(BATCH), interrupted.run(BATCH))


def test_calls_at_the_wrong_time_are_refused(driven: Make) -> None:
    program = driven()
    for early in (
        lambda: program.device.compiled,
        program.device.detach,
        lambda: program.device.attach(list),
    ):
        with pytest.raises(Error, match="not been compiled"):
            early()
    program.compile()
    with pytest.raises(Error, match="already attached"):
        program.device.attach(program.load)
    program.device.detach()
    with pytest.raises(Error, match="not attached"):
        program.device.detach()
    program.device.destroy()
    with pytest.raises(Error, match="destroyed"):
        program.device.random_words


def test_a_program_that_nobody_has_any_more_gives_its_ipus_back(driven: Make) -> None:
    program = driven(ipus=2)
    program.compile()
    assert held() == [0, 1]
    del program
    assert held() == []


def test_random_state_is_read_after_calls_and_can_be_set(driven: Make) -> None:
    program = driven()
    program.compile()
    assert program.device.random_words == [3]
    program.run(BATCH)
    words = program.device.random_words
    assert words == [3, 2]
    first = program.run(BATCH)
    program.device.random_words = words
    program.load()
    np.testing.assert_allclose(first, program.run(BATCH) * 6 / 5)


def test_a_capture_that_fails_is_counted_and_holds_nothing(driven: Make) -> None:
    program = driven()
    program.fails = ValueError("forward")
    with pytest.raises(ValueError, match="forward"):
        program.compile()
    assert program.device.ledger.failures == 1
    assert program.device.program is None
    assert held() == []


def test_the_ledger(driven: Make) -> None:
    program = driven(replicas=2)
    program.compile()
    for _ in range(3):
        program.run(BATCH)
    entry = program.device.ledger.settled()
    assert (entry.kind, entry.model, entry.ipus) == ("numpyModel", "Scale", 2)
    assert (entry.calls, entry.samples, entry.first_calls, entry.compiles) == (3, 6, 1, 1)
    assert entry.capture_seconds == 0.25
    assert "samples/s" in entry.modelled
    assert entry.why_quick == "numpy"


def test_calls_are_metered_with_their_modelled_cycles(driven: Make) -> None:
    program = driven()
    program.compile()
    for _ in range(3):
        program.run(BATCH)
    program.device.detach()
    counted = current_occupancy().counters.read(0)
    assert (counted.calls, counted.samples, counted.model) == (3, 6, "Scale")
    assert (counted.to_ipu_bytes, counted.from_ipu_bytes) == (3 * BATCH.nbytes, 3 * BATCH.nbytes)
    assert counted.modelled_cycles == pytest.approx(3 * program.device.cycles())
    assert 0 < counted.tile_bytes < counted.tile_memory_bytes


def test_compiling_ahead_when_asked_or_when_the_program_waits(driven: Make) -> None:
    plain, asked, waiting = driven(), driven(), driven(waits=True)
    plain.compile()
    asked.compile(ahead=True)
    waiting.compile()
    prepared = [each.device.compiled.runs.prepared for each in (plain, asked, waiting)]
    assert prepared == [[], [(1, 4)], [(1, 4)]]


def test_one_of_several_processes_compiles_at_a_time(
    driven: Make, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    alone = driven(cache_folder=str(tmp_path / "cache"))
    with caplog.at_level("DEBUG"):
        alone.compile(ahead=True)
        assert "locked by process" not in caplog.text
        driven(cache_folder=str(tmp_path / "cache"), instance=1, instances=2).compile(ahead=True)
    lines = [record.getMessage() for record in caplog.records if record.name == "tremula"]
    assert lines == ["Executable cache file locked by process 1", "Process 1 released the cache lock"]


def test_the_bar_follows_the_compilation(driven: Make) -> None:
    program = driven(waits=True)
    steps: list[int] = []

    class Bar(ProgressBar):
        def __call__(self, progress: int, total: int) -> None:
            steps.append(progress)

        def abandon(self) -> None:
            steps.append(-1)

    program.device._progress._bar = Bar()
    program.compile()
    assert steps == [0, 40, 95, 100]
    program.device.destroy()
    program.fails = ValueError("forward")
    with pytest.raises(ValueError, match="forward"):
        program.compile()
    assert steps[4:] == [0, -1]


def test_offline_nothing_is_attached(driven: Make) -> None:
    program = driven(connection=Connection.NEVER)
    program.compile()
    assert program.events[-1] == "model"
    assert held() == []
    with pytest.raises(Error, match="never attached"):
        program.device.attach(program.load)


def test_a_program_that_does_not_fit_is_refused_before_it_is_attached(
    driven: Make, layered: Callable[..., Any]
) -> None:
    program = driven(connection=Connection.ON_DEMAND, engine_options={"debug.allowOutOfMemory": "false"})
    program._layered = lambda **arguments: layered(rows=8192, width=8192, **arguments)
    with pytest.raises(Error, match="memory"):
        program.compile()
    assert program.events[-1] == "model"
    assert program.device.program is None
    assert program.device.modelled is None
    assert held() == []


def test_a_profile_is_written_where_the_engine_options_say(driven: Make, tmp_path: Path) -> None:
    options = {"autoReport.all": "true", "autoReport.directory": str(tmp_path)}
    driven(engine_options=options).compile()
    driven(engine_options=options, name="../up").compile()
    written = sorted(path.parent.name for path in tmp_path.rglob("profile.pop"))
    assert len(written) == 2
    assert "inference" in written
    assert all(path.is_relative_to(tmp_path) for path in tmp_path.rglob("profile.pop"))
    with Profile(tmp_path / "inference" / "profile.pop") as profile:
        assert len(profile.ops) > 0


def test_engine_options_of_the_environment_come_first(
    driven: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POPLAR_ENGINE_OPTIONS", json.dumps({"autoReport.all": "false"}))
    driven(engine_options={"autoReport.all": "true", "autoReport.directory": str(tmp_path / "p")}).compile()
    assert not (tmp_path / "p").exists()


def test_without_the_chip_model(
    driven: Make, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("TREMULA_CHIP_MODEL", "off")
    options = {"autoReport.all": "true", "autoReport.directory": str(tmp_path / "p")}
    program = driven(engine_options=options)
    with log.levels_restored():
        log.set_level("tremula", "WARN")
        program.compile()
    assert "autoReport has no effect here" in capfd.readouterr().err
    assert program.device.modelled is None
    with pytest.raises(Error, match="TREMULA_CHIP_MODEL=off"):
        program.device.cycles()
    program.run(BATCH)
    counted = program.device.perf_counters(1, 1, 2)
    assert [len(counted[event][0]) for event in ("input", "output")] == [2, 2]


def test_counters_of_a_modelled_call(driven: Make) -> None:
    program = driven()
    program.compile()
    assert program.device.perf_counters(1, 1, None) == {
        event: [[]] for event in ("input", "input_complete", "output", "output_complete")
    }
    program.run(BATCH)
    counted = program.device.perf_counters(1, 2, 2)
    assert [len(moments) for moments in counted["output"]] == [2, 2]
    assert 0 < counted["input_complete"][0][0] <= counted["output"][0][0] < counted["output_complete"][0][0]


def test_cycles_are_logged_for_each_call(driven: Make, capfd: pytest.CaptureFixture[str]) -> None:
    program = driven(count_cycles=True)
    with log.levels_restored():
        log.set_level("tremula", "INFO")
        program.compile()
        program.run(BATCH)
    err = capfd.readouterr().err
    assert f"Total number of IPU cycles: {program.device.cycles()}" in err
    assert "numpyModel Scale: captured in 0.25 s (3 ops)" in err
    assert err.count("numpyModel Scale: first call in ") == 1
