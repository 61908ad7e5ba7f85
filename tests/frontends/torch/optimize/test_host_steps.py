"""Stepping an optimizer on the host although a wrapped model owns it."""

from __future__ import annotations

import inspect

import torch

from tremula.frontends.torch.optimize.host_steps import host_step_message, mark_stepped, watch_host_steps


def test_the_first_host_step_is_reported_with_its_line() -> None:
    weight = torch.nn.Parameter(torch.ones(2))
    weight.grad = torch.ones(2)
    optimizer = torch.optim.SGD([weight], lr=0.5)
    lines: list[str] = []
    handle = watch_host_steps(optimizer, lines.append)
    optimizer.zero_grad(set_to_none=False)
    assert lines == []
    optimizer.step()
    line = inspect.currentframe().f_lineno - 1  # type: ignore[union-attr]
    optimizer.step()
    assert lines == [f"{__file__}:{line} in test_the_first_host_step_is_reported_with_its_line"]
    assert "setOptimizer" in host_step_message(lines[0])
    handle.remove()
    again: list[str] = []
    watch_host_steps(optimizer, again.append).remove()
    optimizer.step()
    assert again == []


def test_schedulers_know_that_the_device_stepped() -> None:
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    mark_stepped(optimizer)
    scheduler.step()  # would warn, and warnings are errors
    assert optimizer.param_groups[0]["lr"] == 0.5
