"""The fidelity benchmark: its case files, what is wrong with bad ones, its statistics, and that the command runs."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

GEMM = """
[[case]]
id = "mine"
kind = "gemm"
chip = "bow"
precision = "fp16.16"
metric = "throughput"
published = 100
unit = "TFLOP/s"
source = "a test"
parameters = { rows = 256, inner = 256, columns = 256 }
"""

MODEL = """
[[case]]
id = "mine"
kind = "model"
chip = "mk2"
metric = "throughput"
published = 100
unit = "items/s"
source = "a test"
front_end = "tensorflow"
parameters = { model = "keras_mnist", batch = 4 }
"""


def test_shipped_cases_are_well_formed_and_their_models_exist(benchmark: Any) -> None:
    cases = benchmark("fidelity_cases").shipped_cases()
    models = benchmark("models")
    assert len(cases) > 150
    assert {"vertex", "gemm", "stencil", "training", "scaling", "inference", "memory"} <= {
        c.category for c in cases
    }
    for case in cases:
        if case.kind in ("model", "scaling", "memory"):
            name = case.parameters["model"]
            assert set(case.parameters.get("arguments", {})) <= set(models.argument_names(name)), case.id


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('kind = "gemm"', 'kind = "matmul"', "unknown kind 'matmul'; there are vertex, gemm"),
        ("inner = 256", "depth = 256", "no parameter depth; it has .*rows"),
        ("inner = 256,", "", "needs the parameter inner"),
        ("inner = 256", 'inner = "many"', "inner = 'many' is not a whole number"),
        ('unit = "TFLOP/s"', 'unit = "ms"', "throughput is not given in ms; use one of FLOP/s"),
        ('metric = "throughput"', 'metric = "speed"', "unknown metric 'speed'; there are cycles"),
        ('precision = "fp16.16"', 'precision = "half"', "unknown precision 'half'"),
        ("published = 100", "published = 0", "published = 0 must be above 0"),
        ('source = "a test"', "", "field source is missing"),
        ('id = "mine"', 'id = "mine"\nlike = "theirs"', "there is no such template"),
        ('id = "mine"', 'id = "mine"\nwidth = 3', "unknown field width"),
    ],
)
def test_a_bad_case_is_refused_with_what_would_be_right(
    benchmark: Any, tmp_path: Path, old: str, new: str, said: str
) -> None:
    cases = benchmark("fidelity_cases")
    assert old in GEMM
    path = tmp_path / "cases.toml"
    path.write_text(GEMM.replace(old, new))
    with pytest.raises(cases.CaseError, match=f"(?s)cases.toml: case 'mine'.*{said}"):
        cases.load(path)


def test_a_case_says_what_its_published_program_is_written_in(benchmark: Any, tmp_path: Path) -> None:
    cases = benchmark("fidelity_cases")
    path = tmp_path / "cases.toml"
    path.write_text(MODEL)
    assert [case.front_end for case in cases.load(path)] == ["tensorflow"]
    path.write_text(MODEL.replace('front_end = "tensorflow"\n', ""))
    assert [case.front_end for case in cases.load(path)] == ["torch"]
    path.write_text(MODEL.replace('"tensorflow"', '"jax"'))
    with pytest.raises(cases.CaseError, match="unknown front_end 'jax'; there are torch, tensorflow"):
        cases.load(path)
    path.write_text(MODEL.replace('"tensorflow"', "true"))
    with pytest.raises(cases.CaseError, match="front_end = True is not of type str"):
        cases.load(path)
    path.write_text(GEMM.replace('id = "mine"', 'id = "mine"\nfront_end = "torch"'))
    with pytest.raises(cases.CaseError, match="front_end is for whole models; kind gemm has none"):
        cases.load(path)


def test_without_tensorflow_the_torch_version_is_predicted_and_said(
    benchmark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(benchmark("fidelity_evaluate"), "installed", lambda front_end: front_end == "torch")
    path, out, page = (tmp_path / name for name in ("cases.toml", "out.json", "page.md"))
    path.write_text(MODEL + MODEL.replace('"mine"', '"plain"').replace('"tensorflow"', '"torch"'))
    assert benchmark("fidelity").main(["--cases", str(path), "--json", str(out), "--page", str(page)]) == 0
    instead, own = json.loads(out.read_text())["cases"]
    assert (instead["front_end"], own["front_end"]) == ("torch (no tensorflow)", "torch")
    assert instead["predicted"] == own["predicted"]
    assert "predicted_by_torch" not in instead
    assert "torch (no tensorflow)" in capsys.readouterr().out
    assert "| torch (no tensorflow) |  |" in page.read_text()


def test_templates_and_defaults_merge_parameters_key_by_key(benchmark: Any) -> None:
    parse = benchmark("fidelity_cases").parse
    content = {
        "defaults": {"chip": "mk2", "source": "all", "parameters": {"rows": 2, "inner": 4}},
        "template": {"wide": {"kind": "gemm", "metric": "time", "unit": "us", "parameters": {"columns": 8}}},
        "case": [{"id": "a", "like": "wide", "published": 1, "parameters": {"inner": 16}}],
    }
    (case,) = parse(content, "here")
    assert dict(case.parameters) == {"rows": 2, "inner": 16, "columns": 8}
    assert (case.chip, case.category) == ("mk2", "gemm")


def test_the_command_writes_the_agreed_json_and_survives_a_case_that_fails(
    benchmark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = tmp_path / "cases.toml", tmp_path / "out.json"
    bad = GEMM.replace('"mine"', '"broken"').replace('chip = "bow"', 'chip = "gc9"')
    path.write_text(GEMM + bad)
    assert benchmark("fidelity").main(["--cases", str(path), "--json", str(out)]) == 1
    first, second = json.loads(out.read_text())["cases"]
    assert set(first) == {"id", "category", "published", "predicted", "unit", "fitted"}
    assert 1 < first["predicted"] < 349
    assert second["predicted"] is None
    assert "gc9" in second["error"]
    assert "not predicted" in capsys.readouterr().out


def test_a_small_model_with_stages_is_predicted(benchmark: Any, tmp_path: Path) -> None:
    case = benchmark("fidelity_cases").Case(
        "small", "model", "mk2", "throughput", 1.0, "items/s", "", "training",
        parameters={
            "model": "pipelined_mnist", "batch": 4, "training": True, "accumulation": 8, "stages": ["body.6"],
        },
    )  # fmt: skip
    evaluator = benchmark("fidelity_evaluate").Evaluator()
    found = evaluator.predict(case)
    assert found.error is None
    assert found.predicted > 0
    estimate = benchmark("fidelity_models").model_estimate(case, evaluator)
    assert estimate.deployment.ipus_per_replica == 2
    assert estimate.time.pipeline is not None
    wrong = benchmark("fidelity_models").replace(case, parameters={**case.parameters, "stages": ["body.66"]})
    assert "no submodule 'body.66'" in evaluator.predict(wrong).error


@pytest.mark.parametrize(
    ("kind", "small", "large"),
    [
        (
            "gemm",
            {"rows": 512, "inner": 512, "columns": 512},
            {"rows": 20_000, "inner": 20_000, "columns": 512},
        ),
        ("elementwise", {"operation": "add", "elements": 10_000}, {"operation": "add", "elements": 10**9}),
        ("stencil", {"grid": [500, 500]}, {"grid": [500, 500], "smallest_block": [500, 500]}),
        ("stencil", {"grid": [500, 500]}, {"grid": [500, 500], "resident_bytes": 10**9}),
    ],
)
def test_an_op_fits_until_its_data_pass_the_memory_of_the_fullest_tile(
    benchmark: Any, kind: str, small: dict[str, Any], large: dict[str, Any]
) -> None:
    evaluator, case_of = benchmark("fidelity_evaluate").Evaluator(), benchmark("fidelity_cases").Case
    both = {"radius": 1, "points": 5} if kind == "stencil" else {}

    def found(metric: str, unit: str, given: dict[str, Any]) -> float:
        case = case_of("c", kind, "mk2", metric, 1.0, unit, "", "memory", parameters={**both, **given})
        predicted = evaluator.predict(case)
        assert predicted.error is None
        return predicted.predicted

    limit = evaluator.planner("mk2").chip.tile_memory_bytes
    assert found("tile_bytes", "B", small) <= limit < found("tile_bytes", "B", large)
    assert found("fits", "bool", small) == 1.0
    assert found("fits", "bool", large) == 0.0


def test_gradients_of_a_convolution_have_the_extents_of_what_they_are_gradients_of(benchmark: Any) -> None:
    ops, case_of = benchmark("fidelity_ops"), benchmark("fidelity_cases").Case
    given = {
        "batch": 3, "in_channels": 8, "out_channels": 12, "groups": 2, "field": [14, 9], "kernel": [3, 2],
        "stride": [2, 1], "padding": [1, 0], "dilation": [1, 2],
    }  # fmt: skip

    def work(role: str) -> Any:
        case = case_of(
            "c", "convolution", "bow", "time", 1.0, "s", "", "convolution", parameters={**given, "pass": role}
        )
        return ops.op_work(case)

    forward, to_input, to_weights = (work(role) for role in ("forward", "input_gradient", "weight_gradient"))
    assert forward.output_field == (7, 7)
    assert to_input.output_field == (14, 9)
    assert (to_input.in_channels, to_input.out_channels) == (6, 4)
    assert to_weights.output_field == (3, 2)
    assert (to_weights.batch, to_weights.in_channels, to_weights.out_channels) == (4, 3, 6)


def test_errors_are_summed_up_apart_for_fitted_and_unused_rows(benchmark: Any) -> None:
    cases, evaluate, statistics = (
        benchmark(f"fidelity_{name}") for name in ("cases", "evaluate", "statistics")
    )

    def row(name: str, ratio: float, fit: bool, without: float | None = None) -> Any:
        case = cases.Case(name, "gemm", "bow", "time", 2.0, "s", "", "gemm", fit=fit)
        other = None if without is None else evaluate.Prediction(case, 2.0 * without)
        return statistics.Row(evaluate.Prediction(case, 2.0 * ratio), other)

    (found,) = statistics.summaries([row("a", 1.0, True, 1.5), row("b", 0.9, False), row("c", 1.2, False)])
    assert found.fitted.rows == 1
    assert found.fitted.median == 0.0
    assert found.unused.rows == 3
    assert found.unused.median == pytest.approx(0.2)
    assert found.met is False
    assert statistics.percentile([0.0, 1.0, 2.0], 0.9) == pytest.approx(1.8)


def test_a_fit_finds_the_constant_that_made_the_rows(benchmark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    fit, cases, evaluate, folds = (
        benchmark(f"fidelity_{name}") for name in ("fit", "cases", "evaluate", "folds")
    )
    true_value = 0.2

    class Toy:
        def __init__(self, values: dict[str, float]) -> None:
            self.values = values

        def predict(self, case: Any) -> Any:
            cost = case.parameters["fixed"] + case.parameters["moved"] * self.values["rearranged_share"]
            return evaluate.Prediction(case, cost)

    monkeypatch.setattr(fit, "evaluator_with", Toy)
    rows = [
        cases.Case(
            f"row-{moved}", "gemm", "bow", "time", 100.0 + moved * true_value, "s", "", "gemm",
            parameters={"fixed": 100.0, "moved": moved}, fit=True,
        )
        for moved in (0.0, 100.0, 300.0, 1000.0, 3000.0)
    ]  # fmt: skip
    predictions = fit.Predictions(rows)
    assert predictions.depends(rows[0]) == ()
    assert predictions.depends(rows[1]) == ("rearranged_share",)
    found = fit.search(predictions, {**fit.current_values(), "rearranged_share": 0.7})
    assert found["rearranged_share"] == pytest.approx(true_value, rel=0.1)
    text = fit.folds_as_toml([found] * folds.FOLDS, folds.fold_of(rows))
    assert tomllib.loads(text)["fold"][0]["rearranged_share"] == pytest.approx(found["rearranged_share"])


def test_the_page_lists_what_is_wrong_and_every_constant(benchmark: Any) -> None:
    cases, evaluate, statistics, page = (
        benchmark(f"fidelity_{name}") for name in ("cases", "evaluate", "statistics", "page")
    )
    case = cases.Case("far-off", "gemm", "bow", "time", 2.0, "s", "somebody", "gemm", notes="a remark")
    rows = [statistics.Row(evaluate.Prediction(case, 5.0))]
    text = page.page(rows, statistics.summaries(rows), {"other-001": "no module"})
    assert "| `far-off` | gemm, bow, fp32: time | 2.50 | a remark |" in text
    assert "| `other-001` | no module |" in text
    for constant in benchmark("fidelity_fit").current_values():
        assert f"| `{constant}` |" in text


def test_plans_are_shared_between_clocks_and_constants_that_they_did_not_read(
    benchmark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    plans = benchmark("fidelity_plans")
    from tremula.hardware.catalogue import chip
    from tremula.plan import planner as planners
    from tremula.plan.constants import Constants
    from tremula.plan.cost import Bytes, Cost, Why
    from tremula.program.work import Fill, Unknown

    calls = []

    def reading(work: Any, planner: Any) -> Cost:
        calls.append(work)
        if isinstance(work, Fill):
            assert planner.constants.rearranged_share > 0
        return Cost((), Bytes(), Why("", "", ""))

    plans.forget()
    monkeypatch.setitem(planners.PLANNERS, Fill, reading)
    monkeypatch.setitem(planners.PLANNERS, Unknown, reading)
    plain, fitted = Unknown("op", 8, 8), Fill(8)
    for name, share in (("mk2", 0.5), ("bow", 0.5), ("mk2", 0.25)):
        planner = plans.SharingPlanner(chip(name), Constants(rearranged_share=share))
        planner.plan(plain)
        planner.plan(fitted)
    plans.forget()
    assert calls == [plain, fitted, fitted]


def test_the_modelling_benchmark_names_the_targets_that_are_missed(benchmark: Any) -> None:
    modelling = benchmark("modelling")
    row = modelling.ROWS[0]
    figures = {
        "ops": 9,
        "start_s": 1.0,
        "cold": {"capture_s": 7.0, "model_s": 2.0},
        "warm": {"capture_s": 4.0, "model_s": 2.0},
    }
    assert modelling.table_line(row, figures).endswith("MISSED warm")
    figures["warm"]["capture_s"] = 2.0
    assert modelling.table_line(row, figures).endswith("met")
    assert "not measured: too bad" in modelling.table_line(row, {"error": "too bad"})


def test_a_case_says_which_system_it_is_about_whatever_this_machine_has(
    benchmark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    transfers, cases = benchmark("fidelity_transfers"), benchmark("fidelity_cases").shipped_cases()
    named = [transfers.system_of(case).name for case in cases]
    monkeypatch.setenv("TREMULA_SYSTEM", "c600")
    assert [transfers.system_of(case).name for case in cases] == named
