"""What can be asked, and what is refused."""

from __future__ import annotations

import pytest

from tremula.errors import Error
from tremula.study.question import MOST_SETTINGS, Question, Setting


def test_lists_make_every_combination() -> None:
    settings = Question.of(ipus=[1, 2], target=["bow", "mk2"], micro_batch=4).settings()
    assert len(settings) == 4
    assert settings[0] == Setting(target="bow", ipus=1, micro_batch=4)
    assert {(each.target, each.ipus) for each in settings} == {("bow", 1), ("bow", 2), ("mk2", 1), ("mk2", 2)}


def test_nothing_asked_is_the_program_as_it_is() -> None:
    assert Question().settings() == [Setting()]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"ipus": 0}, "1 or more"),
        ({"micro_batch": [4, -1]}, "1 or more"),
        ({"stages": True}, "whole number"),
        ({"precision": "bf16"}, "fp32, fp16"),
        ({"recompute": "some"}, "none, all"),
        ({"ipus": []}, "has no value"),
        ({"replica": 2}, "Unknown setting replica"),
        ({"ipus": list(range(1, 40)), "micro_batch": list(range(1, 40))}, "combinations"),
    ],
)
def test_nonsense_is_refused_with_what_would_do(asked: dict[str, object], message: str) -> None:
    with pytest.raises(Error, match=message):
        Question.of(**asked)


def test_the_largest_question_is_still_answered() -> None:
    assert len(Question.of(ipus=list(range(1, MOST_SETTINGS + 1))).settings()) == MOST_SETTINGS
