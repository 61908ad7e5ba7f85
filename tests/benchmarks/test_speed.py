"""The speed benchmark: its rows, what counts as a miss, and that the command runs and writes its figures."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

ROOT = Path(__file__).parents[2]
KEYS = {"name", "mode", "ratio_eager", "ratio_compile", "first_call_s", "compile_s", "warm_s"}


def test_each_row_has_a_network_whose_loops_run(benchmark: Any) -> None:
    rows, models, child = benchmark("speed_rows"), benchmark("speed_models"), benchmark("speed_child")
    assert len({row.key for row in rows.ROWS}) == len(rows.ROWS)
    assert {row.network for row in rows.ROWS} == set(models.NETWORKS)
    for row in benchmark("speed_choice").chosen_rows(rows.ROWS, "mlp,workshop-inference"):
        contest = child.Contest(row)
        run, _ = contest.ours()
        assert contest.agree(run(), contest.eager()())


def test_a_word_that_fits_no_row_is_an_error(benchmark: Any) -> None:
    with pytest.raises(ValueError, match="no row begins with 'resnet'"):
        benchmark("speed_choice").chosen_rows(benchmark("speed_rows").ROWS, "mlp,resnet")


def test_a_figure_over_its_target_is_a_miss(benchmark: Any) -> None:
    speed, rows = benchmark("speed"), benchmark("speed_rows")
    row = benchmark("speed_choice").chosen_rows(rows.ROWS, "workshop-training-50")[0]
    reached = {
        "ratio_eager": 0.6, "ratio_compile": 1.02, "first_call_s": 2.1, "first_call_eager_s": 0.1,
        "compile_s": 20.0, "warm_s": 5.0, "agrees": True,
    }  # fmt: skip
    assert speed.misses(row, reached) == []
    for key, value in (
        ("ratio_eager", 0.61),
        ("ratio_compile", 1.03),
        ("first_call_s", 2.2),
        ("warm_s", 5.1),
    ):
        (missed,) = speed.misses(row, {**reached, key: value})
        assert missed.startswith(key)
    assert speed.misses(row, {**reached, "agrees": False})
    unknown = dict.fromkeys(reached)
    assert speed.misses(row, unknown) == []


def test_the_best_variant_is_searched_one_choice_at_a_time(benchmark: Any) -> None:
    baselines, models = benchmark("speed_baselines"), benchmark("speed_models")
    search = baselines.Search(models.NETWORKS["cifar"], training=True)
    tried = []
    for variant in search.candidates():
        tried.append(str(variant))
        if variant.cpp_wrapper:
            search.failures[variant] = "no compiler"
        else:
            search.figures[variant] = 1.0 - 0.2 * variant.whole_step - 0.1 * variant.channels_last
    assert tried == [
        "model compiled, fused optimizer",
        "model compiled, fused optimizer, channels-last",
        "whole step compiled",
        "whole step compiled, channels-last",
        "whole step compiled, channels-last, C++ wrapper",
    ]
    assert str(search.best) == "whole step compiled, channels-last"


@pytest.mark.parametrize("network", ["workshop", "mlp"], ids=["SGD", "Adam"])
def test_the_written_out_update_is_the_optimizers(
    benchmark: Any, network: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    baselines = benchmark("speed_baselines")
    # the benchmark's own rates change next to nothing
    monkeypatch.setattr(baselines, "SGD_RATE", 0.1)
    monkeypatch.setattr(baselines, "ADAM_RATE", 0.01)
    settings = benchmark("speed_models").NETWORKS[network]
    torch.manual_seed(0)
    model, other = settings.make(), settings.make()
    other.load_state_dict(model.state_dict())
    inputs, labels = settings.data(settings.batch)
    run = baselines.eager_training(settings, model, [(*inputs, labels)])
    step = baselines._whole_step(settings, other, None)
    for _ in range(3):
        run()
        step(*inputs, labels)
    for mine, its in zip(other.parameters(), model.parameters(), strict=True):
        torch.testing.assert_close(mine, its)


@pytest.mark.slow
def test_the_command_measures_and_writes_json(tmp_path: Path) -> None:
    out = tmp_path / "figures.json"
    command = [sys.executable, "-m", "benchmarks.speed", "--rows", "mlp-training-50", "--seconds", "0.1"]
    done = subprocess.run(
        [*command, "--no-compile", "--no-imports", "--json", str(out)],
        cwd=ROOT, env={**os.environ, "TREMULA_SUMMARY": "0"}, capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (figure,) = json.loads(out.read_text())
    assert figure.keys() >= KEYS
    assert figure["mode"] == "training, device iterations 50"
    assert figure["ratio_eager"] > 0
    assert figure["first_call_s"] > 0
    assert figure["ratio_compile"] is None
    assert figure["agrees"] is True
    assert figure["name"] in done.stdout
