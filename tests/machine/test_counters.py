"""Counters: whole records, whatever a writer does while somebody reads."""

import dataclasses
import multiprocessing
import os
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tremula.machine.counters import WINDOW_SECONDS, Counters, Meter, Usage

NUMBERS = {
    field.name: st.integers(0, 1 << 62) if field.type == "int" else st.floats(0, 1e300)
    for field in dataclasses.fields(Usage)
    if field.type != "str"
}


@given(st.integers(0, 255), st.builds(Usage, **NUMBERS))
def test_what_is_written_is_read(tmp_path_factory, ipu, usage):
    counters = Counters(tmp_path_factory.mktemp("room") / "counters")
    assert counters.read(ipu) is None
    counters.write([ipu], usage)
    assert counters.read(ipu) == usage


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="needs posix_fallocate")
def test_the_disk_has_room_for_all_slots_or_says_so(tmp_path):
    """A process that writes to a mapped page for which a full disk has no room is killed by a signal."""
    path = tmp_path / "counters"
    Counters(path)
    found = os.stat(path)
    assert found.st_blocks * 512 >= found.st_size


def test_texts_are_cut_and_made_printable(tmp_path):
    counters = Counters(tmp_path / "counters")
    counters.write([0], Usage(user="u" * 100, command="a\x1b[31mb\n" + "ü" * 200, model="\0"))
    found = counters.read(0)
    assert len(found.user) == 48
    assert found.command.startswith("a?[31mb?")
    assert found.command.isprintable()
    assert found.model == ""


def _write_for_ever(path, ready):
    counters = Counters(path)
    number = 0
    while True:
        number += 1
        counters.write([3], Usage(pid=number, calls=number, samples=number, user=str(number)))
        ready.set()


def test_a_reader_never_sees_half_a_record_even_when_the_writer_is_killed(tmp_path):
    path = tmp_path / "counters"
    context = multiprocessing.get_context("spawn")
    ready = context.Event()
    writer = context.Process(target=_write_for_ever, args=(path, ready))
    writer.start()
    try:
        assert ready.wait(60)
        counters = Counters(path)
        for _ in range(20000):
            found = counters.read(3)
            assert found.pid == found.calls == found.samples == int(found.user)
    finally:
        writer.kill()
        writer.join()
    counters.read(3)
    counters.write([3], Usage(pid=7))
    assert counters.read(3).pid == 7


def test_garbage_is_no_record(tmp_path):
    path = tmp_path / "counters"
    path.write_bytes(b"\xff" * 4096)
    counters = Counters(path)
    assert counters.read(0) is None
    counters.write([0], Usage(pid=7))
    assert counters.read(0).pid == 7


def test_a_meter_counts_for_all_ipus_of_a_device(tmp_path):
    counters = Counters(tmp_path / "counters")
    meter = Meter(counters, range(2, 4), Usage(pid=1, attached_at=time.time()))
    meter.loaded(model="Net", tile_bytes=1000, tile_memory_bytes=638976)
    for _ in range(3):
        meter.called(0.01, samples=8, sent=100, fetched=10, cycles=5e6, modelled_seconds=0.003)
    meter.write()
    assert counters.read(1) is None
    for ipu in (2, 3):
        found = counters.read(ipu)
        assert (found.calls, found.samples, found.to_ipu_bytes, found.from_ipu_bytes) == (3, 24, 300, 30)
        assert (found.modelled_cycles, found.tile_bytes, found.model) == (15e6, 1000, "Net")
        assert found.busy_seconds == pytest.approx(0.03)


def test_utilisation_rises_with_work_and_fades_without(tmp_path):
    usage = Usage(attached_at=100.0, updated_at=110.0, busy_seconds=5.0, recent=0.8)
    assert usage.utilisation(110.0) == 0.8
    assert usage.utilisation(110.0 + 3 * WINDOW_SECONDS) < 0.05
    assert usage.session_utilisation(110.0) == 0.5
    meter = Meter(Counters(tmp_path / "counters"), range(1), Usage(attached_at=time.time()))
    assert meter.usage.utilisation() == 0.0
    meter.called(1e6)
    assert meter.usage.utilisation() > 0.99


def test_a_reset_forgets_all_but_the_resets(tmp_path):
    counters = Counters(tmp_path / "counters")
    counters.write([0], Usage(calls=5))
    counters.reset(0)
    counters.reset(0)
    assert counters.read(0) == Usage(resets=2)
