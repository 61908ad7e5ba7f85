"""Figures of merit and the page that shows them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from cosmoflow.data.generate import PARAMETERS
from cosmoflow.data.layout import Parameters
from cosmoflow.evaluation import Predictions
from cosmoflow.report import write_report
from cosmoflow.scores import score


def made(samples: int = 400, noise: float = 0.1) -> Predictions:
    random = np.random.default_rng(0)
    truth = random.uniform(-1, 1, (samples, 4))
    predicted = truth + random.normal(0, noise, (samples, 4))
    predicted[:, 3] = 0.0
    return Predictions(truth, predicted, np.abs(predicted - truth))


def test_scores_are_those_of_the_definitions() -> None:
    found = made()
    result = score(found, PARAMETERS)
    first = result.parameters[0]
    error = found.predicted[:, 0] - found.truth[:, 0]
    assert first.mae.value == pytest.approx(np.abs(error).mean())
    assert first.mse.value == pytest.approx((error**2).mean())
    assert first.r2.value == pytest.approx(1 - (error**2).mean() / found.truth[:, 0].var())
    assert first.physical_mae is not None
    assert first.physical_mae.value == pytest.approx(
        first.mae.value * (PARAMETERS.high[0] - PARAMETERS.low[0]) / 2
    )
    assert result.parameters[3].r2.value == pytest.approx(0, abs=0.02)
    assert result.parameters[3].mae.value == pytest.approx(result.parameters[3].baseline, rel=0.02)


def test_uncertainties_are_those_of_a_mean() -> None:
    found = made()
    result = score(found, PARAMETERS, resamplings=4000)
    expected = found.errors[:, 1].std() / np.sqrt(len(found.errors))
    assert result.parameters[1].mae.error == pytest.approx(expected, rel=0.1)


def test_one_sample_is_not_a_crash() -> None:
    found = made(1)
    assert score(found, Parameters()).samples == 1


def test_the_page_is_whole_and_reaches_for_nothing(tmp_path: Path) -> None:
    names = Parameters(("<b>bold</b>", "b", "c", "d"))
    found = made(60)
    history = [{"epoch": e, "validation_mae": 0.5 / e, "train_mae": 0.5 / e} for e in (1.0, 2.0, 3.0)]
    page = write_report(
        tmp_path, found, score(found, names), names, history, {"network": "<script>"}
    ).read_text()
    assert "<script>" not in page
    assert "<b>bold" not in page
    assert "default-src 'none'; img-src data:; style-src 'sha256-" in page
    sources = re.findall(r'(?:src|href)="([^"]{0,22})', page)
    assert sources == ["data:image/png;base64,"] * 3
    assert "http://" not in page.replace("http-equiv", "")
    assert "https://" not in page
    for name in ("truth", "residuals", "history"):
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
