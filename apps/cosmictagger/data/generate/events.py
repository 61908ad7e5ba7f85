"""Generated events: event i of a seed is always the same, whoever asks for it, when and how often."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from tqdm import tqdm

from cosmictagger.data.events import PLANES, Event, EventId
from cosmictagger.data.generate.constants import Physics
from cosmictagger.data.generate.readout import Scale, project, read_out
from cosmictagger.data.generate.sources import cosmics, neutrino
from cosmictagger.data.writer import EventWriter
from cosmictagger.interruption import Interruption

FULL_SHAPE = (2048, 1280)
#: events that processes may be ahead of the file
_AHEAD = 256


@dataclass(frozen=True)
class Generator:
    """Makes events of a detector with three wire planes: cosmic muons, one neutrino, noise.

    Args:
        seed: which endless list of events; 0 or more.
        shape: pixels of a plane: (wires, ticks). Fewer pixels show the same detector more coarsely.
        cosmics: how many muons cross each event; None draws a number (2 or 3 on average, at least one).
        physics: the constants behind it.
    """

    seed: int = 0
    shape: tuple[int, int] = FULL_SHAPE
    cosmics: int | None = None
    physics: Physics = field(default_factory=Physics)

    def __post_init__(self) -> None:
        wires, ticks = self.shape
        if not (16 <= wires <= 8192 and 16 <= ticks <= 8192):
            raise ValueError(f"Planes of {wires} wires x {ticks} ticks: each must be 16 to 8192.")
        if self.seed < 0 or (self.cosmics is not None and not 0 <= self.cosmics <= 100):
            raise ValueError("The seed must be 0 or more, the number of cosmics 0 to 100.")

    def event(self, number: int) -> Event:
        """Event `number` (0 or more) of this seed."""
        rng = np.random.default_rng([self.seed, number])
        physics, scale = self.physics, Scale.of(self.physics, self.shape)
        step = scale.step(physics)
        interaction = neutrino(rng, physics, step)
        muons = max(1, rng.poisson(physics.cosmics.mean)) if self.cosmics is None else self.cosmics
        background = cosmics(rng, physics, muons, step)
        ids, values, labels = read_out(rng, physics, scale, background, interaction.points)
        tick, *wires = project(physics, scale, np.array([interaction.truth.position]))
        vertex = np.array([[wires[plane][0], tick[0]] for plane in range(PLANES)])
        # the square around it has to be whole
        vertex = np.clip(np.floor(vertex), 1, np.array(self.shape) - 2).astype(np.float32)
        return Event(
            self.shape,
            np.concatenate(ids),
            np.concatenate(values),
            np.concatenate(labels),
            np.r_[np.int64(0), np.cumsum([len(part) for part in ids])],
            vertex,
            interaction.truth,
            EventId(self.seed, 0, number),
        )


class SyntheticEvents(Sequence[Event]):
    """Generated events as a sequence, in memory, without a file.

    Args:
        events: how many.
        seed: which ones.
        shape: pixels of a plane: (wires, ticks).
        cosmics: muons per event; None draws a number.
        cache: how many events to keep once made (one of full size has about 0.7 MB). With worker processes
            each keeps its own.
        first: number of the first event. Two sequences of one seed are disjoint if their numbers are.
        physics: the constants behind it.
    """

    def __init__(
        self,
        events: int,
        seed: int = 0,
        *,
        shape: tuple[int, int] = FULL_SHAPE,
        cosmics: int | None = None,
        cache: int = 256,
        first: int = 0,
        physics: Physics | None = None,
    ) -> None:
        if events < 1 or first < 0 or cache < 0:
            raise ValueError("There must be one event at least; first and cache must be 0 or more.")
        self._generator = Generator(seed, shape, cosmics, physics or Physics())
        self.shape = shape
        self._events, self._first, self._cache = events, first, cache
        self._kept: OrderedDict[int, Event] = OrderedDict()

    def __len__(self) -> int:
        return self._events

    def __getitem__(self, number: int) -> Event:  # type: ignore[override]  # no slices
        if not -self._events <= number < self._events:
            raise IndexError(f"There are {self._events} generated events; none is {number}.")
        number %= self._events
        event = self._kept.get(number)
        if event is None:
            event = self._generator.event(self._first + number)
            if self._cache:
                self._kept[number] = event
                if len(self._kept) > self._cache:
                    self._kept.popitem(last=False)
        return event

    def read(self, number: int, with_truth: bool = True) -> Event:
        """An event; there is nothing to save by leaving its truth out."""
        return self[number]

    def __getstate__(self) -> dict[str, object]:
        # a process makes its own: that is quicker than sending them
        return {**self.__dict__, "_kept": OrderedDict()}


def generate(
    path: str | os.PathLike[str],
    events: int,
    seed: int = 0,
    *,
    shape: tuple[int, int] = FULL_SHAPE,
    cosmics: int | None = None,
    first: int = 0,
    physics: Physics | None = None,
    processes: int = 1,
    progress: bool = True,
) -> Path:
    """Write a file of generated events.

    Args:
        path: the file to make.
        events: how many events.
        seed: which ones; the same seed gives the same events.
        shape: pixels of a plane: (wires, ticks).
        cosmics: muons per event; None draws a number.
        first: number of the first event.
        physics: the constants behind it.
        processes: how many generate; the file is the same for any number of them.
        progress: show a bar.

    Returns:
        The path of the file.
    """
    if events < 1 or first < 0 or processes < 1:
        raise ValueError(
            "The number of events and of processes must be 1 or more, and the number of the first event 0 or more."
        )
    if Path(path).is_dir():
        raise ValueError(f"{path} is a folder; name a file.")
    generator = Generator(seed, shape, cosmics, physics or Physics())
    numbers = range(first, first + events)
    with (
        Interruption() as interruption,
        EventWriter(path) as writer,
        _mapping(min(processes, events)) as mapping,
    ):
        made = mapping(generator.event, numbers)
        for event in tqdm(made, total=events, desc="Generating events", unit="event", disable=not progress):
            interruption.check()
            writer.write(event)
    return Path(path)


@contextlib.contextmanager
def _mapping(processes: int) -> Iterator[Callable[..., Iterable[Event]]]:
    """Something like `map`, in as many processes; results come in order, and memory stays bounded."""
    if processes == 1:
        yield map
        return
    # fresh processes: this one may have threads, which a copy of it would not have
    context = multiprocessing.get_context("spawn")
    # Ctrl-C is this process's affair: it ends the others
    with context.Pool(processes, signal.signal, (signal.SIGINT, signal.SIG_IGN)) as pool:

        def mapped(function: Callable[[int], Event], numbers: range) -> Iterator[Event]:
            for begin in range(0, len(numbers), _AHEAD):
                yield from pool.imap(function, numbers[begin : begin + _AHEAD], chunksize=4)

        yield mapped
