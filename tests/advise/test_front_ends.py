"""Front ends differ in the settings that they have, and in the micro-batches that their pipelines take."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tremula import ask
from tremula.advise.advise import advise
from tremula.advise.rules import batches, layout
from tremula.frontends.tensorflow.dialect.advice_code import KerasCode
from tremula.frontends.torch.dialect.advice_code import Lines, TorchCode
from tremula.program.loops import Loops
from tremula.program.variant import StageStart
from tremula.study.answer import answer
from tremula.study.case import Study
from tremula.study.question import Setting

from .subjects import case_of, changes, layers, study_of


class Coarse(TorchCode):
    """Pipelines take multiples of sixteen micro-batches, half precision cannot be set, and layers are listed."""

    half_precision: Lines = ()

    def micro_batches(self, wanted: int, stages: int, training: bool) -> int:
        return wanted if stages == 1 else -(-wanted // 16) * 16

    def assignment(self, starts: Sequence[StageStart]) -> list[tuple[str, int]]:
        return [(start.module, stage + 1) for stage, start in enumerate(starts)]


@pytest.fixture
def coarse() -> Study:
    study = study_of(layers(8, 64), (512, 64), optimizer="sgd", loops=Loops(gradient_accumulation=8))
    study.subject.dialect = Coarse(study.subject.parts.module)  # type: ignore[misc, attr-defined]
    return study


def test_a_setting_that_the_front_end_does_not_have_is_not_advised(coarse: Study) -> None:
    rules = {each.rule for each in advise(coarse, case_of(coarse), search=False)}
    assert rules
    assert "half precision" not in rules


def test_an_advised_pipeline_has_micro_batches_that_it_takes(coarse: Study) -> None:
    case = case_of(coarse, tiles=2)
    proposed = changes(layout.over_ipus, coarse, case)[0]
    assert proposed.search is not None
    change = proposed.search()
    assert change.apply(case).loops.gradient_accumulation == 16
    assert any("gradientAccumulation(16)" in line for line in change.code)
    assert "from 8 to 16" in change.cost


def test_a_pipeline_that_is_asked_for_has_micro_batches_that_it_takes(coarse: Study) -> None:
    found = answer(coarse, Setting(stages=2))
    assert found.case is not None
    assert found.case.loops.gradient_accumulation == 16
    assert any("raised from 8 to 16" in note for note in found.result.notes)


def test_the_global_batch_is_kept_only_with_micro_batches_that_it_takes(coarse: Study) -> None:
    case = answer(coarse, Setting(stages=2)).case
    assert case is not None
    larger = changes(batches.micro_batch, coarse, case)
    assert larger
    assert not any("gradientAccumulation" in line for each in larger for line in each.code)


def test_stages_are_listed_layer_by_layer_where_the_front_end_has_a_list(coarse: Study) -> None:
    split = answer(coarse, Setting(stages=2)).split
    assert split is not None
    assert split.config()["assignment"] == [[split.begins[0].module, 1]]


def test_a_saved_program_of_keras_is_read_with_lines_of_keras(coarse: Study, tmp_path: Path) -> None:
    coarse.subject.dialect = KerasCode()  # type: ignore[misc]
    ask.save_program(coarse.subject, tmp_path / "net.program")
    saved = ask.saved_program(tmp_path / "net.program")
    split = answer(Study(saved), Setting(stages=2)).split
    assert split is not None
    assert "model.set_pipeline_stage_assignment(stages)" in split.lines()
    # grouped stages of both directions, rounded up
    assert split.estimate.loops.gradient_accumulation == 8
    assert "config.auto_select_ipus = 2" in split.options_lines()
