"""The loss of label sequences and its gradient agree with torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.frontends.poplar.libs.bench import Bench, normal

from tremula.frontends.poplar.libs.popnn import ctc
from tremula.frontends.poplar.types import FLOAT

STEPS, BATCH, CLASSES, LABELS = 7, 3, 4, 3


@settings(max_examples=20, deadline=None)
@given(st.integers(0, CLASSES - 1), st.integers(0, 50), st.booleans())
def test_loss_and_gradient_agree_with_torch(blank: int, seed: int, logits: bool) -> None:
    random = np.random.default_rng(seed)
    classes = [each for each in range(CLASSES) if each != blank]
    labels = random.choice(classes, (BATCH, LABELS)).astype(np.uint32)
    data_lengths = random.integers(STEPS - 1, STEPS + 1, BATCH).astype(np.uint32)
    label_lengths = random.integers(0, LABELS + 1, BATCH).astype(np.uint32)
    values = torch.from_numpy(normal(STEPS, BATCH, CLASSES, seed=seed)).requires_grad_()
    logs = torch.log_softmax(values, -1)
    long = [torch.from_numpy(each.astype(np.int64)) for each in (labels, data_lengths, label_lengths)]
    expected = torch.nn.functional.ctc_loss(logs, *long, blank=blank, reduction="none")
    expected.sum().backward()
    bench = Bench()
    data = bench.tensor((values if logits else logs).detach().numpy())
    rest = [bench.tensor(each) for each in (labels, data_lengths, label_lengths)]
    made, slope = ctc.loss(
        bench.graph,
        FLOAT,
        data,
        *rest,
        bench.prog,
        blank,
        logits=logits,
        gradient=True,
        debug="",
        options=None,
    )
    assert slope is not None
    found, inner = bench.run(made, slope)
    assert values.grad is not None
    np.testing.assert_allclose(found, expected.detach(), rtol=1e-4)
    np.testing.assert_allclose(inner, values.grad, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(("zero", "expected"), [("false", np.inf), ("true", 0.0)])
def test_a_label_that_is_too_long_has_no_path(zero: str, expected: float) -> None:
    bench = Bench()
    data = bench.tensor(normal(2, 1, 3))
    labels = bench.tensor(np.array([[1, 1]], np.uint32))
    lengths = [bench.tensor(np.array([2], np.uint32)) for _ in range(2)]
    made, _ = ctc.loss(
        bench.graph, FLOAT, data, labels, *lengths, bench.prog, 0, logits=True, gradient=True, debug="",
        options={"zeroInfinity": zero},
    )  # fmt: skip
    assert bench.run(made)[0].tolist() == [expected]
