"""Arguments that torch has dropped: the data source of samplers, `verbose` of schedulers. On demand only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch.utils.data
from torch.optim import lr_scheduler

from tremula import log
from tremula.frontends.torch.legacy import torch_arguments


class OldSampler(torch.utils.data.Sampler):
    def __init__(self) -> None:
        super().__init__(None)

    def __iter__(self) -> Iterator[int]:
        return iter(range(3))


def test_samplers_of_older_programs_work_once_enabled() -> None:
    with pytest.raises(TypeError):
        OldSampler()
    try:
        assert torch_arguments.accept_data_source()
        assert list(OldSampler()) == [0, 1, 2]
        assert not torch_arguments.accept_data_source()
        assert len(torch.utils.data.SequentialSampler(range(4))) == 4
    finally:
        del torch.utils.data.Sampler.__init__
    with pytest.raises(TypeError):
        OldSampler()


class OldSchedule(lr_scheduler._LRScheduler):
    def __init__(self, optimizer: Any) -> None:
        super().__init__(optimizer, -1, False)

    def get_lr(self) -> list[float]:
        return [0.5]


@pytest.fixture
def verbose() -> Iterator[None]:
    before = {each: vars(each)["__init__"] for each in torch_arguments.accept_verbose()}
    yield
    for each, original in before.items():
        each.__init__ = original.__wrapped__


@pytest.mark.usefixtures("verbose")
def test_schedulers_take_verbose_by_name_and_as_their_last_argument(
    capfd: pytest.CaptureFixture[str],
) -> None:
    log.forget_once()
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
    assert OldSchedule(optimizer).get_last_lr() == [0.5]
    assert lr_scheduler.StepLR(optimizer, 3, 0.5, -1, False).step_size == 3
    assert "verbose" not in capfd.readouterr().err
    plateau = lr_scheduler.ReduceLROnPlateau(optimizer, patience=2, verbose=True)
    assert plateau.patience == 2
    assert "verbose of a learning-rate scheduler has no effect here" in capfd.readouterr().err
    assert torch_arguments.accept_verbose() == []


def test_without_the_switch_schedulers_are_torchs_own() -> None:
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
    with pytest.raises(TypeError, match="verbose"):
        lr_scheduler.StepLR(optimizer, 3, verbose=True)
