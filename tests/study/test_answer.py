"""Answers: replicas, stages and batches that fit together; one that fails does not take the others with it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tremula.frontends.torch.subject import TorchSubject
from tremula.hardware.catalogue import chip, smallest_system
from tremula.step_parts import STEP_PARTS
from tremula.study.answer import ask
from tremula.study.question import Question
from tremula.study.result import Result

Stack = Callable[..., TorchSubject]


def test_ipus_become_replicas_while_the_model_fits_on_one(stack: Stack) -> None:
    results = ask(stack(), Question.of(ipus=[1, 2, 16], target="bow")).results
    assert [(each.setting["replicas"], each.setting["stages"]) for each in results] == [
        (1, 1),
        (2, 1),
        (16, 1),
    ]
    rates = [each["throughput"].value for each in results]
    assert rates == sorted(rates)


def test_a_model_that_does_not_fit_is_cut_over_as_few_ipus_as_it_takes(stack: Stack) -> None:
    subject = stack(width=6000, layers=6, batch=1, training=False)
    answers = ask(subject, Question.of(ipus=[1, 4], target="mk2", precision="fp32"))
    alone, cut = answers.results
    assert alone.fits in ("no", "unlikely")
    assert cut.fits in ("yes", "likely")
    assert cut.setting["stages"] * cut.setting["replicas"] == 4
    half = ask(subject, Question.of(stages=cut.setting["stages"] // 2, target="mk2")).results[0]
    assert half["tile_share"].value > 1
    assert answers.answers[1].split is not None
    assert cut["tile_share"].value < 1 < alone["tile_share"].value


def test_a_pipeline_gets_the_micro_batches_that_it_needs_and_says_so(stack: Stack) -> None:
    trained, inferred = (
        ask(stack(training=training), Question.of(stages=2)).results[0] for training in (True, False)
    )
    assert trained.setting["accumulation"] >= 3
    assert "accumulation raised from 1" in trained.notes[0]
    assert inferred.setting["device_iterations"] >= 2
    assert "device iterations raised" in inferred.notes[0]


def test_accumulation_that_was_asked_for_is_not_changed(stack: Stack) -> None:
    result = ask(stack(), Question.of(stages=2, accumulation=2)).results[0]
    assert "needs at least 3" in result.problem or "or more" in result.problem


def test_what_cannot_be_is_an_answer_beside_the_others(stack: Stack) -> None:
    good, odd = ask(stack(), Question.of(ipus=[2, 3], stages=2)).results
    assert good.problem == ""
    assert "3 IPUs are not a multiple of 2" in odd.problem
    unknown, known = ask(stack(), Question.of(target=["bowl", "bow"])).results
    assert "Did you mean bow" in unknown.problem
    assert known.problem == ""


def test_a_batch_that_forward_refuses_is_told_with_what_was_changed() -> None:
    import torch
    from torch import nn

    from tremula.frontends.torch.factory import make, subject_of

    class Fixed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.layer(x).reshape(2, 4)

    subject = subject_of(make(lambda: (Fixed(), torch.zeros(2, 4))), "fixed")
    own, other = ask(subject, Question.of(micro_batch=[2, 3])).results
    assert own.problem == ""
    assert "micro-batch 3" in other.problem


@pytest.mark.parametrize("training", [True, False])
def test_figures_of_one_answer_agree_with_each_other(stack: Stack, training: bool) -> None:
    question = Question.of(
        ipus=[1, 2], micro_batch=[4, 16], accumulation=4, device_iterations=3, target="mk2"
    )
    for answer in ask(stack(training=training), question):
        found, result = answer.estimate, answer.result
        assert found is not None
        assert sum(result.shares[part.key] for part in STEP_PARTS) == pytest.approx(1.0)
        assert sum(result.memory.values()) == result["ipu_bytes"].value
        for figure in result.figures.values():
            assert figure.low <= figure.value <= figure.high
        updates = 4 if training else 1
        per_step = result.setting["micro_batch"] * updates * result.setting["replicas"]
        assert result["throughput"].value == pytest.approx(per_step / result["step_seconds"].value)
        total = per_step * 3
        assert f"= {total:,} samples per call" in result.batch


def test_half_the_precision_halves_the_weights(stack: Stack) -> None:
    single, half = ask(stack(width=256), Question.of(precision=["fp32", "fp16"])).results
    assert half.memory["weights"] == single.memory["weights"] / 2
    assert half.setting["precision"] == "fp16"


def test_half_partials_are_planned_not_captured(stack: Stack) -> None:
    subject = stack(width=256)
    results = ask(subject, Question.of(precision=["fp16", "fp16.16"])).results
    assert [each.setting["partials"] for each in results] == ["fp32", "fp16"]
    assert len(subject._known) == 2  # as it is, and in half


def test_energy_has_a_wide_range_where_power_is_known_of_a_board_only(stack: Stack) -> None:
    published, derived, unknown = ask(stack(), Question.of(target=["mk2", "bow", "mk1"])).results
    assert published["energy_per_sample"].value > 0
    assert "energy_per_sample" not in unknown.figures  # of the C2 only the idle power is

    def width(result: Result) -> float:
        figure = result["energy_per_sample"]
        return figure.high / figure.low

    machine = smallest_system(chip("bow")).machine
    assert machine.board_watts_spread is not None
    doubt = machine.boards * (1 + machine.board_watts_spread) / (1 - machine.board_watts_spread)
    assert width(derived) == pytest.approx(width(published) * doubt)


def test_progress_is_told(stack: Stack) -> None:
    told: list[tuple[str, float]] = []
    ask(stack(), Question.of(ipus=[1, 2]), tell=lambda what, share: told.append((what, share)))
    assert [share for _, share in told] == [0.0, 0.5, 1.0]
    assert told[0][0] == "ipus 1"
