"""A profile compared with the estimate that it was written from: nothing is different."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tremula.frontends.torch.subject import TorchSubject
from tremula.profile.reader import Profile
from tremula.recording.record import write_profile
from tremula.study.answer import ask
from tremula.study.compare import compare
from tremula.study.question import Question
from tremula.study.saved import result_of_profile


def test_a_profile_has_the_figures_of_its_estimate(
    stack: Callable[..., TorchSubject], tmp_path: Path
) -> None:
    answer = ask(stack(), Question.of(stages=2, target="mk2")).answers[0]
    assert answer.estimate is not None
    path = tmp_path / "profile.pop"
    write_profile(answer.estimate, path)
    with Profile(path) as profile:
        found = compare(answer.result, result_of_profile(profile))
    assert set(found.settings) <= {"precision"}  # a profile does not say it
    assert all(figure.change == 0 for figure in found.figures)
    assert all(abs(use.change) == 0 for use in found.memory)
    assert all(abs(part.change) < 1e-12 for part in found.parts)
