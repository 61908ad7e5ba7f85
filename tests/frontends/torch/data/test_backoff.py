"""Pauses grow while a wait goes on, and a long wait makes the next one patient from the start."""

from __future__ import annotations

import pytest

from tremula.frontends.torch.data import backoff
from tremula.frontends.torch.data.backoff import Backoff


class Clock:
    """A time that only passes in sleeps, and a little in each look at it."""

    def __init__(self) -> None:
        self.now = 0.0
        self.sleeps: list[float] = []
        self.yields = 0

    def perf_counter(self) -> float:
        self.now += 1e-5
        return self.now

    def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.now += seconds

    def sched_yield(self) -> None:
        self.yields += 1


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(backoff, "time", clock)
    monkeypatch.setattr(backoff, "os", clock)
    return clock


def test_a_short_wait_is_not_slept_through(clock: Clock) -> None:
    waiting = Backoff(1e-3, 1e-2, growth=0.5)
    for _ in range(5):
        waiting.pause()
    assert 0 < waiting.end() < 1e-4
    assert clock.sleeps == []
    assert clock.yields == 5


def test_sleeps_grow_up_to_the_longest(clock: Clock) -> None:
    waiting = Backoff(1e-3, 8e-3, growth=0.5)
    while clock.now < 0.1:
        waiting.pause()
    assert clock.sleeps[0] == 1e-3
    assert clock.sleeps == sorted(clock.sleeps)
    assert clock.sleeps[-1] == 8e-3
    assert waiting.end() == pytest.approx(0.1, rel=0.1)


def test_after_a_long_wait_the_next_begins_with_a_sleep_and_after_a_short_one_it_does_not(
    clock: Clock,
) -> None:
    waiting = Backoff(1e-4, 1e-2, growth=0.5)
    while clock.now < 0.01:
        waiting.pause()
    waiting.end()
    yields = clock.yields
    waiting.pause()
    assert clock.yields == yields
    waiting.end()
    waiting.pause()
    assert clock.yields == yields + 1


def test_a_longest_below_the_shortest_is_the_users_wish(clock: Clock) -> None:
    waiting = Backoff(0.5, 1e-3, growth=0.25)
    waiting.pause()
    while not clock.sleeps:
        waiting.pause()
    assert clock.sleeps == [0.5]


def test_no_wait_takes_no_time(clock: Clock) -> None:
    assert Backoff(1e-3, 1e-2, growth=0.5).end() == 0.0
