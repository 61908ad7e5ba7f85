"""Output of instances: whole lines, tagged, byte for byte, and nothing lost."""

from __future__ import annotations

import os
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tremula.launch import output
from tremula.launch.mpi_output import Account, TaggedOutput
from tremula.launch.output import LAST_LINES, Lines, Pump, Tail
from tremula.launch.output_stream import OutputStream


class Paper(OutputStream):
    """An stream that keeps what is written."""

    def __init__(self) -> None:
        super().__init__(-1)
        self.data = b""

    def _write(self, data: bytes) -> None:
        self.data += data


@pytest.fixture
def paper() -> Paper:
    return Paper()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unfinished lines are shown at once."""
    monkeypatch.setattr(output, "_SHOW_AFTER_SECONDS", 0.0)


def lines(paper: Paper, index: int = 0, *, shown: bool = True) -> Lines:
    return Lines(b"[1,%d]<stdout>:" % index, paper, shown=shown, tail=Tail())


def test_lines_are_tagged_when_they_are_whole(paper: Paper) -> None:
    first, second = lines(paper, 0), lines(paper, 1)
    first.feed(b"one\ntw")
    second.feed(b"eins\n")
    first.feed(b"o\nthree\n")
    assert paper.data == b"[1,0]<stdout>:one\n[1,1]<stdout>:eins\n[1,0]<stdout>:two\n[1,0]<stdout>:three\n"


@given(st.lists(st.binary(max_size=20)), st.lists(st.binary(max_size=20)))
def test_every_byte_arrives_in_order(one: list[bytes], two: list[bytes]) -> None:
    paper = Paper()
    streams = [lines(paper, 0), lines(paper, 1)]
    for index in range(max(len(one), len(two))):
        for stream, pieces in zip(streams, (one, two), strict=True):
            if index < len(pieces):
                stream.feed(pieces[index].replace(b"\r", b"").replace(b"[", b""))
    for stream in streams:
        stream.finish()
    for index, pieces in enumerate((one, two)):
        tag = b"[1,%d]<stdout>:" % index
        said = b"".join(pieces).replace(b"\r", b"").replace(b"[", b"")
        expected = said.split(b"\n") if said else []
        if said.endswith(b"\n"):
            expected.pop()
        assert [line[len(tag) :] for line in paper.data.split(b"\n") if line.startswith(tag)] == expected


def test_a_prompt_is_shown_after_a_moment_and_ended_before_others_speak(
    paper: Paper, impatient: None
) -> None:
    first, second = lines(paper, 0), lines(paper, 1)
    first.feed(b"name? ")
    assert first.unfinished
    first.show_unfinished()
    assert paper.data == b"[1,0]<stdout>:name? "
    first.feed(b"Ada\n")
    assert paper.data == b"[1,0]<stdout>:name? Ada\n"
    first.feed(b"again? ")
    first.show_unfinished()
    second.feed(b"hello\n")
    first.feed(b"no\n")
    assert paper.data.splitlines()[1:] == [
        b"[1,0]<stdout>:again? ",
        b"[1,1]<stdout>:hello",
        b"[1,0]<stdout>:no",
    ]


def test_a_progress_bar_is_redrawn_with_its_tag(paper: Paper, impatient: None) -> None:
    bar = lines(paper)
    bar.feed(b"\r 10%")
    bar.show_unfinished()
    bar.feed(b"\r 20%\r")
    bar.show_unfinished()
    bar.feed(b" 30%\r\ndone\r\n")
    assert paper.data == (
        b"[1,0]<stdout>:\r[1,0]<stdout>: 10%\r[1,0]<stdout>: 20%\r[1,0]<stdout>: 30%\r\n[1,0]<stdout>:done\r\n"
    )


def test_the_last_line_needs_no_end(paper: Paper) -> None:
    stream = lines(paper)
    stream.feed(b"a\nlast")
    stream.finish()
    assert paper.data == b"[1,0]<stdout>:a\n[1,0]<stdout>:last\n"


def test_hidden_output_is_remembered(paper: Paper) -> None:
    tail = Tail()
    hidden = Lines(b"x", paper, shown=False, tail=tail)
    hidden.feed(b"".join(b"line %d\n" % number for number in range(100)))
    hidden.feed(b"the end")
    hidden.finish()
    assert paper.data == b""
    assert tail.lines() == [*(f"line {number}" for number in range(101 - LAST_LINES, 100)), "the end"]


def test_a_line_without_end_does_not_fill_the_memory(paper: Paper) -> None:
    stream = lines(paper)
    for _ in range(40):
        stream.feed(b"x" * 100_000)
    assert paper.data.count(b"[1,0]") == 1
    assert len(paper.data) > 1_000_000
    stream.finish()
    assert len(paper.data) == len(b"[1,0]<stdout>:\n") + 4_000_000


def test_the_pump_reads_until_nothing_is_left() -> None:
    paper = Paper()
    pipes = [os.pipe() for _ in range(3)]
    pump = Pump([(reader, lines(paper, index)) for index, (reader, _) in enumerate(pipes)])
    pump.start()
    count = 20_000

    def write(index: int) -> None:
        with os.fdopen(pipes[index][1], "wb") as file:
            file.writelines(b"%d %d\n" % (index, number) for number in range(count))

    writers = [threading.Thread(target=write, args=(index,)) for index in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert pump.finish(60)
    for index in range(3):
        tag = b"[1,%d]<stdout>:" % index
        mine = [line for line in paper.data.splitlines() if line.startswith(tag)]
        assert mine == [tag + b"%d %d" % (index, number) for number in range(count)]


def test_a_reader_that_goes_away_is_noticed() -> None:
    reader, writer = os.pipe()
    stream = OutputStream(writer)
    stream.write(b"heard\n", None)
    assert os.read(reader, 100) == b"heard\n"
    os.close(reader)
    stream.write(b"unheard\n", None)
    assert stream.broken
    stream.write(b"nothing happens\n", None)
    os.close(writer)


PIECES = (
    b"[1,1]<stdout>:hel[1,0]<stdout>:zero\n[1,1]<stdout>:lo\nmpirun says\n"
    b"[1,0]<stdout>:a\n[1,0]<stdout>:b[1,0]<stdout>:\n"
)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_mpiruns_pieces_become_lines_again(paper: Paper, size: int) -> None:
    tagged = TaggedOutput(paper, Account(), lambda index, stdout: True)
    for at in range(0, len(PIECES), size):
        tagged.feed(PIECES[at : at + size])
    tagged.finish()
    assert sorted(paper.data.splitlines()) == sorted(
        [
            b"[1,0]<stdout>:zero",
            b"[1,1]<stdout>:hello",
            b"mpirun says",
            b"[1,0]<stdout>:a",
            b"[1,0]<stdout>:b",
        ]
    )


def test_of_mpiruns_output_one_instance_is_chosen(paper: Paper) -> None:
    account = Account()
    tagged = TaggedOutput(paper, account, lambda index, stdout: index == 1)
    tagged.feed(PIECES)
    tagged.feed(b"  Process name: [[8734,1],1]\n  Exit code:    3\n")
    tagged.finish()
    shown = paper.data.splitlines()
    assert b"[1,1]<stdout>:hello" in shown
    assert not any(line.startswith(b"[1,0]") for line in shown)
    assert account.tails[0].lines() == ["zero", "a", "b"]
    assert account.failed == 1
