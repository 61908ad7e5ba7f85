"""Signals during a call: handlers run at once, what they raise comes when the call is complete."""
# ruff: noqa: PT012 - what is tested is when it raises

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tremula.device.whole_call import WholeCall


class Stop(Exception):
    """What a program's own handler raises."""


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """Python's own handler for Ctrl-C, one that raises for SIGTERM, one that only counts for SIGUSR1."""
    counted.clear()
    before = {
        signal.SIGINT: signal.signal(signal.SIGINT, signal.default_int_handler),
        signal.SIGTERM: signal.signal(signal.SIGTERM, _stop),
        signal.SIGUSR1: signal.signal(signal.SIGUSR1, lambda number, _frame: counted.append(number)),
    }
    yield
    assert signal.getsignal(signal.SIGTERM) is _stop
    for number, handler in before.items():
        signal.signal(number, handler)


counted: list[int] = []


def _stop(_number: int, _frame: Any) -> None:
    raise Stop


@pytest.mark.parametrize(("number", "expected"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, Stop)])
def test_what_a_handler_raises_comes_after_the_call(number: int, expected: type[BaseException]) -> None:
    done = []
    with pytest.raises(expected), WholeCall():
        signal.raise_signal(number)
        done.append("call")
    assert done == ["call"]


def test_a_handler_that_returns_runs_at_once() -> None:
    with WholeCall():
        signal.raise_signal(signal.SIGUSR1)
        assert counted == [signal.SIGUSR1]


def test_a_second_interrupt_does_not_wait() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), WholeCall():
        signal.raise_signal(signal.SIGINT)
        done.append("first")
        signal.raise_signal(signal.SIGINT)
        done.append("second")
    assert done == ["first"]


def test_the_interrupt_comes_before_an_error_of_the_call() -> None:
    with pytest.raises(KeyboardInterrupt) as caught, WholeCall():
        signal.raise_signal(signal.SIGINT)
        raise ValueError("other instances are gone")
    assert isinstance(caught.value.__context__, ValueError)


def test_a_call_within_a_call_leaves_it_to_the_outer_one() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), WholeCall():
        with WholeCall():
            signal.raise_signal(signal.SIGINT)
        done.append("inner")
    assert done == ["inner"]


def test_a_handler_that_the_call_sets_stays() -> None:
    def own(_number: int, _frame: Any) -> None: ...

    with WholeCall():
        signal.signal(signal.SIGUSR1, own)
    assert signal.getsignal(signal.SIGUSR1) is own


def test_an_object_serves_one_call_after_the_other() -> None:
    whole = WholeCall()
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt), whole:
            signal.raise_signal(signal.SIGINT)
        with whole:
            pass
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_other_threads_change_no_handler() -> None:
    seen = []

    def call() -> None:
        with WholeCall():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    assert seen == [signal.default_int_handler]
