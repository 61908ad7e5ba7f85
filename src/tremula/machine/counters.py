"""Counters of each virtual IPU, readable by all processes of the user while a program runs.

A file of one fixed-size slot per IPU, mapped into memory: the process that is attached writes its own slots, a few
numbers per call; readers look at them whenever they like. A sequence number in front of each slot is odd while it
is being written, so that no reader takes half a record for a whole one. Times are the host's clock (measured), cycles,
seconds and bytes on the chip come from the chip model (modelled).
"""

from __future__ import annotations

import errno
import getpass
import math
import mmap
import os
import struct
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from pathlib import Path

from tremula import log
from tremula.atomic_files import cannot_write
from tremula.errors import Error
from tremula.machine.systems import MAX_IPUS
from tremula.private_files import Untrusted, open_to_update

_SLOT_BYTES = 512
#: a slot begins with two words: its sequence number and the version of the layout
_WORD_BYTES = 8
_HEAD_BYTES = 2 * _WORD_BYTES
_LARGEST_SEQUENCE = 1 << 62
_NUMBERS = struct.Struct("<qqqqqqddddddqqqq")
_TEXT_BYTES = (48, 200, 64)
_VERSION = 2
#: seconds over which the utilisation that tools show is averaged
WINDOW_SECONDS = 5.0
#: how old the figures that readers see may get while a program computes
_WRITE_SECONDS = 0.1
#: how long a writer may be kept from finishing a record, on a machine that is busy, before it is taken for dead
_WRITER_TIMEOUT_SECONDS = 0.5
#: a call beside which writing the figures is nothing
_LONG_CALL_SECONDS = 0.002


@dataclass(frozen=True)
class Usage:
    """What is known of the program that is, or was last, attached to an IPU."""

    pid: int = 0  #: its process
    device_id: int = 0  #: the device that it took, of which this IPU is a part
    device_ipus: int = 0  #: how many IPUs that device has
    calls: int = 0  #: calls to the wrapped model
    samples: int = 0  #: samples of those calls
    resets: int = 0  #: how often the device was reset
    attached_at: float = 0.0  #: when it was taken (seconds since 1970)
    updated_at: float = 0.0  #: when the last call ended
    busy_seconds: float = 0.0  #: measured seconds of the calls
    recent: float = 0.0  #: share of the last few seconds that calls took, at `updated_at`
    modelled_cycles: float = 0.0  #: cycles that the calls would take on the chip, if that was modelled
    modelled_seconds: float = 0.0  #: the same in seconds
    tile_bytes: int = 0  #: modelled bytes on the fullest tile
    tile_memory_bytes: int = 0  #: bytes that a tile has
    to_ipu_bytes: int = 0  #: bytes that the host gave to the program
    from_ipu_bytes: int = 0  #: bytes that it took back
    user: str = ""  #: who runs it
    command: str = ""  #: the program
    model: str = ""  #: class name of the wrapped model

    def utilisation(self, now: float | None = None) -> float:
        """Share of the last seconds in which the program computed: 0 to 1, measured."""
        idle = max(0.0, (time.time() if now is None else now) - self.updated_at)
        return min(1.0, self.recent * math.exp(-idle / WINDOW_SECONDS))

    def session_utilisation(self, now: float | None = None) -> float:
        """Share of the time since it was attached."""
        span = (time.time() if now is None else now) - self.attached_at
        return min(1.0, self.busy_seconds / span) if span > 0 else 0.0


_NAMES = [field.name for field in fields(Usage)]
_NUMBER_NAMES, _TEXT_NAMES = _NAMES[:-3], _NAMES[-3:]


class Counters:
    """The file of one system's counters."""

    def __init__(self, path: Path) -> None:
        size = MAX_IPUS * _SLOT_BYTES
        try:
            descriptor = open_to_update(path)
            try:
                info = os.fstat(descriptor)
                if info.st_size < size or getattr(info, "st_blocks", size) * 512 < size:
                    _allocate(descriptor, size)
                self._map = mmap.mmap(descriptor, size)
            finally:
                os.close(descriptor)
        except Untrusted as problem:
            raise Error(
                f"The file with the counters of the virtual IPUs is not safe from changes by other users: {problem}. "
                "Set TREMULA_STATE_DIR to another folder."
            ) from None
        except OSError as problem:
            log.warn_once(
                f"counters {path}",
                f"The counters of the virtual IPUs, {cannot_write(path, problem)} The program continues; "
                "gc-monitor and other tools do not show its figures.",
            )
            self._map = mmap.mmap(-1, size)
        # a word is stored by one instruction; `struct.pack_into` sets it to zero before it writes it
        self._words = memoryview(self._map).cast("Q")

    def write(self, ipus: Iterable[int], usage: Usage) -> None:
        """Replace the slots of IPUs (counted in the system). Only who holds them may."""
        record = _packed(usage)
        for ipu in ipus:
            start, word = ipu * _SLOT_BYTES, ipu * _SLOT_BYTES // _WORD_BYTES
            sequence = self._words[word]
            sequence += sequence & 1  # a writer that was killed in the middle left an odd one
            if sequence > _LARGEST_SEQUENCE:  # garbage
                sequence = 0
            self._words[word] = sequence + 1
            self._words[word + 1] = _VERSION
            self._map[start + _HEAD_BYTES : start + _HEAD_BYTES + len(record)] = record
            self._words[word] = sequence + 2

    def read(self, ipu: int) -> Usage | None:
        """The slot of an IPU; None if it was never written, or cannot be read."""
        start, word = ipu * _SLOT_BYTES, ipu * _SLOT_BYTES // _WORD_BYTES
        last, deadline = -1, 0.0
        while True:
            before, version = self._words[word], self._words[word + 1]
            data = self._map[start + _HEAD_BYTES : start + _SLOT_BYTES]
            after = self._words[word]
            if before == after and not before & 1:
                return _parsed(data) if version == _VERSION else None
            now = time.monotonic()
            if after != last:  # the writer is alive
                last, deadline = after, now + _WRITER_TIMEOUT_SECONDS
            elif now > deadline:
                return _parsed(data)  # its writer died while writing
            time.sleep(0.0002)

    def reset(self, ipu: int) -> None:
        """Forget what an IPU counted, but for the number of resets."""
        last = self.read(ipu)
        self.write([ipu], Usage(resets=1 + (last.resets if last is not None else 0)))


def _allocate(descriptor: int, size: int) -> None:
    """Room on the disk for all slots: a process that writes to a mapped page without any is killed."""
    if hasattr(os, "posix_fallocate"):
        try:
            os.posix_fallocate(descriptor, 0, size)
            return
        except OSError as problem:
            if problem.errno not in (errno.EINVAL, errno.EOPNOTSUPP, errno.ENOSYS):
                raise
    os.lseek(descriptor, 0, os.SEEK_END)  # a file system that cannot allocate: what is written has its place
    missing = size - os.fstat(descriptor).st_size
    while missing > 0:
        missing -= os.write(descriptor, bytes(missing))


def _packed(usage: Usage) -> bytes:
    numbers = _NUMBERS.pack(*[getattr(usage, name) for name in _NUMBER_NAMES])
    texts = [
        getattr(usage, name).encode(errors="replace")[:length].ljust(length, b"\0")
        for name, length in zip(_TEXT_NAMES, _TEXT_BYTES, strict=True)
    ]
    return b"".join([numbers, *texts])


def _parsed(data: bytes) -> Usage | None:
    numbers = _NUMBERS.unpack_from(data)
    position = _NUMBERS.size
    texts = []
    for length in _TEXT_BYTES:
        text = data[position : position + length].rstrip(b"\0").decode(errors="replace")
        texts.append("".join(letter if letter.isprintable() else "?" for letter in text))
        position += length
    values = dict(zip(_NAMES, (*numbers, *texts), strict=True))
    if not all(math.isfinite(number) and number >= 0 for number in numbers):
        return None
    return Usage(**values)


class Meter:
    """Counts for one attached program, on all IPUs of its device.

    Counting is adding up a few numbers. Readers get them after each call that takes long enough for it not to
    matter, and ten times a second.
    """

    def __init__(self, counters: Counters, ipus: range, usage: Usage) -> None:
        self._counters = counters
        self._ipus = ipus
        self._begin = usage
        self._calls = self._samples = self._sent = self._fetched = 0
        self._busy = self._recent = self._cycles = self._modelled = 0.0
        self._last = usage.attached_at
        self._written = 0.0
        self.write()

    @property
    def usage(self) -> Usage:
        """The figures so far."""
        return replace(
            self._begin,
            calls=self._calls,
            samples=self._samples,
            updated_at=self._last,
            busy_seconds=self._busy,
            recent=self._recent,
            modelled_cycles=self._cycles,
            modelled_seconds=self._modelled,
            to_ipu_bytes=self._sent,
            from_ipu_bytes=self._fetched,
        )

    def loaded(self, *, model: str, tile_bytes: int = 0, tile_memory_bytes: int = 0) -> None:
        """A program lies on the device."""
        self._begin = replace(
            self._begin, model=model, tile_bytes=tile_bytes, tile_memory_bytes=tile_memory_bytes
        )
        self.write()

    def called(
        self,
        seconds: float,
        *,
        samples: int = 0,
        sent: int = 0,
        fetched: int = 0,
        cycles: float = 0.0,
        modelled_seconds: float = 0.0,
    ) -> None:
        """A call took `seconds` of the host, moved these bytes, and would have taken these cycles."""
        now = time.time()
        gap = max(now - self._last, seconds, 1e-9)
        fade = math.exp(-gap / WINDOW_SECONDS)
        self._recent = self._recent * fade + (1.0 - fade) * min(1.0, seconds / gap)
        self._last = now
        self._calls += 1
        self._samples += samples
        self._busy += seconds
        self._cycles += cycles
        self._modelled += modelled_seconds
        self._sent += sent
        self._fetched += fetched
        if seconds >= _LONG_CALL_SECONDS or self._calls == 1 or now - self._written >= _WRITE_SECONDS:
            self.write()

    def write(self) -> None:
        """Let readers see the figures as they are now."""
        self._written = time.time()
        self._counters.write(self._ipus, self.usage)


def usage_of_this_process() -> Usage:
    """Who this process is, with all counts at zero."""
    arguments = sys.argv if sys.argv and sys.argv[0] else ["python"]
    name = os.path.basename(arguments[0])
    command = " ".join([name, *arguments[1:]])[:180]
    return Usage(pid=os.getpid(), attached_at=time.time(), user=_user(), command=command)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user id without a name, as in containers
        return str(os.getuid())


_opened: dict[Path, Counters] = {}


def counters_in(folder: Path) -> Counters:
    """The counters in `folder`."""
    path = folder / "counters"
    found = _opened.get(path)
    if found is None or not path.exists():
        found = _opened[path] = Counters(path)
    return found
