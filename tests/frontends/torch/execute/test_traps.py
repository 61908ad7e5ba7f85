"""Floating-point exceptions stop the run at the user's line, and only when they are enabled."""

import pytest
import torch

from tremula.errors import Error


class Divide(torch.nn.Module):
    def forward(self, x, y):
        return x / y


class Compare(torch.nn.Module):
    def forward(self, x, y):
        return x > y


@pytest.mark.parametrize(
    ("module", "x", "y"),
    [
        (Divide(), [1.0], [0.0]),  # division by zero
        (Divide(), [0.0], [0.0]),  # invalid
        (Divide(), [3e38], [1e-3]),  # overflow
        (Compare(), [1.0], [float("nan")]),
    ],
)
def test_each_exception_is_trapped_and_names_the_line(session, module, x, y):
    arguments = [torch.tensor(x), torch.tensor(y)]
    with pytest.raises(Error, match=r"Floating-point exception.*test_traps\.py:\d+ in forward"):
        session(module, *arguments, trap_floating_point=True).run(arguments)
    session(module, *arguments).run(arguments)


def test_ordinary_numbers_pass(session):
    arguments = [torch.tensor([1.0]), torch.tensor([4.0])]
    (quotient,) = session(Divide(), *arguments, trap_floating_point=True).run(arguments)[0]
    assert quotient.item() == 0.25
