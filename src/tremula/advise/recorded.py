"""Advice as rows of a profile: the profile is written when a program is compiled, so the search is short."""

from __future__ import annotations

import json

from tremula.advise.advise import advise
from tremula.formatting import plain
from tremula.profile import model
from tremula.study.answer import answer
from tremula.study.case import Study
from tremula.study.question import Setting
from tremula.study.subject import Subject

#: seconds after which no new change is tried: settings take hundredths of one, captures whole ones
_SECONDS = 5.0
_MOST = 10
#: characters of a text
_LONGEST = 1_000


def recorded_advice(subject: Subject) -> list[model.Advice]:
    """What to change about the program as it is, best first.

    Raises:
        Error: there is no estimate of it.
    """
    study = Study(subject)
    about = answer(study, Setting())
    found = advise(study, about, budget_seconds=_SECONDS, search=False, tell=lambda _what, _share: None)
    return [
        model.Advice(
            title=plain(each.title, _LONGEST),
            effect=each.effect,
            low=each.likely[0],
            high=each.likely[1],
            tile_share=each.after.tile_share,
            fits=each.after.fits,
            ipus=each.after.ipus,
            cause=plain("; ".join(each.causes[:2]), _LONGEST),
            cost=plain(each.cost, _LONGEST),
            code=model.Json(json.dumps(list(each.code))),
        )
        for each in found.advice[:_MOST]
    ]
