"""The list of advice: order, budget, pairs, and texts that are harmless whatever modules are called."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from torch import nn

from tremula.advise.advice import Advice, effect_band, ranked, worth
from tremula.advise.advise import advise
from tremula.errors import Error
from tremula.estimate.bands import Band
from tremula.estimate.figures import Figure
from tremula.hardware.catalogue import smallest_system
from tremula.memory.verdict import curve, fit_of
from tremula.study.answer import Answer
from tremula.study.question import Setting
from tremula.study.result import Result, result_of

from .subjects import case_of, layers, study_of, too_large, trained

HOSTILE = '<script>alert("x")</script>\x1b[31m[red]\u202e'


def result(rate: float, tile: float, ipus: int) -> Result:
    """Figures made by hand."""
    values = {"throughput": rate, "tile_share": tile, "tile_bytes": 1000 * tile}
    figures = {name: Figure(value, value, value, "") for name, value in values.items()}
    return Result("model", True, {"ipus": ipus}, fits="yes" if tile <= 1.0 else "no", figures=figures)


def _advice(rule: str, rate: float, tile: float, ipus: int = 1, before: float = 0.5) -> Advice:
    _, case = trained()
    return Advice(
        rule=rule,
        title=rule,
        why="",
        code=(),
        cost="",
        before=result(100.0, before, 1),
        after=result(rate, tile, ipus),
        band=Band(0.8, 1.25, 0),
        case=case,
    )


def test_what_makes_it_fit_comes_first() -> None:
    found = ranked([
        _advice("faster but full", 300.0, 1.2, before=1.5),
        _advice("fits slowly", 40.0, 0.9, before=1.5),
        _advice("fits on four", 120.0, 0.5, ipus=4, before=1.5),
        _advice("fits", 80.0, 0.9, before=1.5),
        _advice("frees nothing", 200.0, 1.5, before=1.5),
    ])  # fmt: skip
    assert [each.rule for each in found] == ["fits", "fits slowly", "fits on four", "faster but full"]


def test_what_is_faster_comes_first_when_it_fits() -> None:
    found = ranked([
        _advice("a little", 101.0, 0.5),
        _advice("twice", 200.0, 0.9),
        _advice("out of memory", 400.0, 1.1),
        _advice("four IPUs", 390.0, 0.5, ipus=4),
        _advice("half as much again", 150.0, 0.5),
    ])  # fmt: skip
    assert [each.rule for each in found] == ["twice", "half as much again", "four IPUs"]


def test_room_counts_where_tiles_are_nearly_full() -> None:
    assert worth(_advice("room", 95.0, 0.7, before=0.95))
    assert not worth(_advice("room", 95.0, 0.3, before=0.6))


def test_the_mildest_change_of_a_rule_that_does_it_is_told() -> None:
    (found,) = ranked([_advice("n", 150.0, 0.5), _advice("n", 195.0, 0.5), _advice("n", 200.0, 0.5)])
    assert found.after.throughput == 195.0


def test_advice_about_a_program_that_fits() -> None:
    study, case = trained()
    told: list[tuple[str, float]] = []
    found = advise(study, case, tell=lambda what, share: told.append((what, share)))
    assert found.advice[0].rule == "device iterations"
    assert found.together is not None
    assert found.together.effect > found.advice[0].effect
    assert not found.untried
    assert told[-1] == ("", 1.0)
    effects = [each.effect for each in found if each.after.ipus == 1]
    assert effects == sorted(effects, reverse=True)
    text = str(found)
    assert "modelled" in text
    assert "options.deviceIterations(" in text
    json.dumps(found.to_plain())
    assert found._repr_html_().count("<li>") == len(found)


def test_advice_about_a_program_that_does_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    from tremula.advise import advise as engine
    from tremula.advise.rules import batches, layout, precision, recomputation

    rules = (recomputation.checkpoints, precision.half, layout.over_ipus, batches.micro_batch)
    monkeypatch.setattr(engine, "RULES", rules)
    study, case = too_large()
    found = advise(study, case)
    assert not found.before.runs
    assert found[0].after.runs
    fits = [each.after.runs for each in found]
    assert fits == sorted(fits, reverse=True)


def test_pairs_are_tried_when_nothing_alone_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    from tremula.advise import advise as engine
    from tremula.advise.rules import precision, recomputation

    monkeypatch.setattr(engine, "RULES", (recomputation.checkpoints, precision.half))
    study, _ = too_large()
    found = advise(study, case_of(study, tiles=1))
    assert any(" + " in each.rule for each in found)


def test_the_budget_is_kept_and_told() -> None:
    study, case = trained()
    found = advise(study, case, budget_seconds=0.0)
    assert not found.advice
    assert found.untried
    assert "Not tried" in str(found)


def test_without_searches_pipelines_are_looked_for_only_where_nothing_fits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from tremula.advise import advise as engine
    from tremula.advise.rules import layout

    monkeypatch.setattr(engine, "RULES", (layout.over_ipus,))
    fitting = advise(*trained(), search=False)
    assert not fitting.tried
    assert advise(*too_large(), search=False).tried


def test_an_answer_without_a_case_says_why() -> None:
    study, _ = trained()
    with pytest.raises(Error, match="no such chip"):
        advise(study, Answer("small", Setting(), None, None, problem="no such chip"))


def test_the_case_of_an_answer_is_taken() -> None:
    study, case = trained()
    found = advise(study, Answer("small", Setting(), case, None), budget_seconds=0.0)
    assert found.before == result_of(study.estimate(case))


class Named(nn.Module):
    """Layers under names that nobody should use."""

    def __init__(self) -> None:
        super().__init__()
        for number in range(6):
            self.add_module(f"{HOSTILE}{number}", nn.Linear(128, 128))

    def forward(self, x: object) -> object:
        for each in self._modules.values():
            assert each is not None
            x = each(x)
        return x


def test_hostile_names_are_harmless(monkeypatch: pytest.MonkeyPatch) -> None:
    from tremula.advise import advise as engine
    from tremula.advise.rules import layout, memory, recomputation

    naming = (recomputation.checkpoints, memory.of_the_peak, layout.over_ipus)
    monkeypatch.setattr(engine, "RULES", naming)
    study = study_of(Named(), (512, 128), optimizer="sgd")
    case = case_of(study, tiles=4)
    found = advise(study, case)
    assert any("get_submodule(" in line for each in found for line in each.code)
    text, page = str(found), found._repr_html_()
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "<script" not in page
    assert "\x1b" not in json.dumps(found.to_plain(), ensure_ascii=False)
    for each in found:
        # a name cannot get out of the string that quotes it
        tree = compile("\n".join(each.code), "advice", "exec")
        assert "alert" not in tree.co_names


def test_the_band_of_a_loss_is_that_of_the_gain_turned_round() -> None:
    assert _advice("gain", 200.0, 0.5).likely == pytest.approx((1.6, 2.5))
    assert _advice("loss", 50.0, 0.5).likely == pytest.approx((0.4, 0.625))


@pytest.mark.parametrize(("share", "said"), [(0.1, "then it fits"), (0.99, "then it likely fits")])
def test_it_fits_only_where_the_table_says_yes(share: float, said: str) -> None:
    tile = share * curve().full
    advice = _advice("smaller", 80.0, tile, before=1.5)
    fits = fit_of(tile).verdict
    assert said in replace(advice, after=replace(advice.after, fits=fits)).headline


def test_advice_that_takes_more_ipus_than_there_are_says_so_and_comes_last() -> None:
    study = study_of(layers(2), (4, 64))
    case = case_of(study)
    case = replace(case, system=smallest_system(case.system.chip, 4), loops=replace(case.loops, replicas=4))
    found = advise(study, case, budget_seconds=5.0)
    lacking = [each for each in found if each.lacks_ipus]
    assert lacking
    assert list(found)[-len(lacking) :] == lacking
    for each in lacking:
        assert each.after.ipus > case.system.ipus
        assert f"needs: {each.after.ipus} IPUs; {case.system.name} has {case.system.ipus}" in str(each)
    assert not [each for each in found if each.after.ipus > case.system.ipus and not each.lacks_ipus]


def test_every_effect_comes_with_the_part_that_the_model_saves() -> None:
    study = study_of(layers(2), (4, 64))
    found = advise(study, case_of(study), budget_seconds=5.0)
    rules = {each.rule: each for each in found}
    for rule in ("device iterations", "larger micro-batch"):
        assert rules[rule].causes[0].startswith("host call: ")
        assert f"from: {rules[rule].causes[0]}" in str(rules[rule])
    assert found.to_plain()["advice"][0]["causes"] == list(found[0].causes)


def test_bands_come_with_the_package() -> None:
    for more in (False, True):
        found = effect_band(more_ipus=more)
        assert 0 < found.low < found.high < 3
        assert found.rows > 0
