"""Where loading becomes the limit, and how fast a loader is."""

from __future__ import annotations

import itertools
import time
import weakref

import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

import poptorch
from tremula.estimate.figures import Figure
from tremula.frontends.torch.data import current_loader
from tremula.frontends.torch.factory import make, subject_of
from tremula.frontends.torch.subject import TorchSubject
from tremula.scale.data_rate import limits, measured_rate, with_data_rate
from tremula.scale.row import DataRate, Row


def row(ipus: int, rate: float, hosts: int = 1) -> Row:
    """Takes as many samples a second, 8 per step."""
    step = 8 / rate
    return Row(
        "model",
        True,
        {"target": "bow", "ipus": ipus},
        mode="weak",
        fits="yes",
        hosts=hosts,
        figures={
            "throughput": Figure(rate, rate * 0.7, rate * 1.1, "samples/s"),
            "step_seconds": Figure(step, step / 1.1, step / 0.7, "s"),
        },
        shares={"compute": 1.0},
    )


def test_a_host_that_keeps_up_costs_nothing() -> None:
    found = with_data_rate(row(1, 100.0), DataRate(200.0, "given"))
    assert found.parts["data"] == 0.0
    assert found.figures["fed_throughput"].value == 100.0


def test_a_slower_host_sets_the_pace() -> None:
    found = with_data_rate(row(4, 400.0), DataRate(100.0, "given"))
    assert found.figures["fed_throughput"].value == 100.0
    assert sum(found.parts.values()) == pytest.approx(8 / 100.0)  # a step waits until its samples are there


def test_every_host_of_a_system_loads() -> None:
    assert (
        with_data_rate(row(64, 400.0, hosts=4), DataRate(100.0, "given")).figures["fed_throughput"].value
        == 400.0
    )


def test_nothing_is_said_where_nothing_is_known() -> None:
    assert "data" not in with_data_rate(row(1, 100.0), None).parts
    assert with_data_rate(Row("model", True, {"ipus": 1}, problem="no"), DataRate(1.0, "given")).figures == {}


def test_the_limit_is_the_smallest_size_that_waits() -> None:
    data = DataRate(150.0, "given")
    rows = [with_data_rate(row(n, 100.0 * n), data) for n in (1, 2, 4)]
    (limit,) = limits([("weak", "bow", rows)], data)
    assert limit.ipus == 2
    assert limit.needed_per_host == 400.0
    (none,) = limits([("weak", "bow", rows[:1])], data)
    assert none.ipus is None
    assert limits([("weak", "bow", rows)], None) == []


@pytest.fixture
def subject() -> TorchSubject:
    return subject_of(make(lambda: (torch.nn.Linear(2, 2), torch.zeros(4, 2))), "linear")


def test_the_loader_that_a_program_goes_over_can_be_read_on_its_own(subject: TorchSubject) -> None:
    data = TensorDataset(torch.zeros(40, 3), torch.zeros(40))
    with current_loader.tracking():
        next(iter(poptorch.DataLoader(poptorch.Options().deviceIterations(2), data, batch_size=4)))
        loader = current_loader.current()
        assert loader is not None
        ticks = iter(range(100))
        # five batches an epoch, a tick each; the first does not count, another epoch does
        speed = current_loader.measure_speed(loader, seconds=6.0, clock=lambda: float(next(ticks)))
        assert speed == current_loader.ReadingSpeed(samples=48, batches=6, seconds=6.0, workers=0)
        assert speed.samples_per_second == 8.0
        rate, why = measured_rate(subject)
    assert why == ""
    assert rate is not None
    assert rate.origin == "measured"


def test_what_workers_prepared_before_the_clock_started_does_not_count() -> None:
    class Slow(torch.utils.data.Dataset[torch.Tensor]):
        def __len__(self) -> int:
            return 40

        def __getitem__(self, index: int) -> torch.Tensor:
            time.sleep(0.02)
            return torch.zeros(1)

    speed = current_loader.measure_speed(DataLoader(Slow(), num_workers=2), seconds=0.5)
    assert speed is not None
    assert speed.samples_per_second <= 2 / 0.02 * 1.1  # two workers cannot do more
    assert speed.workers == 2


def test_reading_ends_in_time_whatever_the_loader_is_like() -> None:
    ticks = itertools.count()
    one = DataLoader(TensorDataset(torch.zeros(4)), batch_size=4)
    speed = current_loader.measure_speed(one, seconds=5.0, clock=lambda: float(next(ticks)))
    assert speed is not None  # every epoch has one batch: epochs are counted
    assert speed.batches == 5
    assert current_loader.measure_speed(DataLoader(TensorDataset(torch.zeros(0))), seconds=1.0) is None
    slow = current_loader.measure_speed(one, seconds=1.0, clock=lambda: 10.0 * next(ticks))
    assert slow is None


def test_loaders_are_kept_only_while_somebody_watches(subject: TorchSubject) -> None:
    loader = poptorch.DataLoader(poptorch.Options(), TensorDataset(torch.zeros(4)))
    next(iter(loader))
    assert current_loader.current() is None
    kept = weakref.ref(loader)
    with current_loader.tracking():
        next(iter(loader))
        del loader
        assert current_loader.current() is kept()
    assert kept() is None
    rate, why = measured_rate(subject)
    assert rate is None
    assert "no poptorch.DataLoader" in why


def test_a_loader_that_fails_is_told(subject: TorchSubject) -> None:
    class Broken(torch.utils.data.Dataset[torch.Tensor]):
        def __len__(self) -> int:
            return 4

        def __getitem__(self, index: int) -> torch.Tensor:
            raise ValueError("the disk is gone")

    with current_loader.tracking():
        current_loader.set_current(DataLoader(Broken()))
        rate, why = measured_rate(subject)
    assert rate is None
    assert "the disk is gone" in why
