"""What a page asks of a report, and the answers: plain JSON, bounded, straight from the profile.

`tremula view --serve` gives them over HTTP, a single page holds a selection of them (page_data.py). Parameters are
texts that somebody else wrote: each is checked. A question that makes no sense raises Error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tremula.errors import Error
from tremula.profile import Profile
from tremula.view import (
    execution_answers,
    frame_answers,
    insight_answers,
    memory_answers,
    op_answers,
    program_answers,
    search_answers,
    step_answers,
    summary_answers,
    variable_answers,
)
from tremula.view.parameters import Parameters
from tremula.view.text import clean

Answer = dict[str, Any]
_Maker = Callable[[Profile, Parameters], Answer]

_MAKERS: Mapping[str, _Maker] = {
    "summary": summary_answers.summary_answer,
    "work": summary_answers.work_answer,
    "insights": insight_answers.insights_answer,
    "pipeline": summary_answers.pipeline_answer,
    "modules": op_answers.modules_answer,
    "reason": op_answers.reason_answer,
    "tile_map": memory_answers.tile_map_answer,
    "tiles": memory_answers.tiles_answer,
    "tile_variables": variable_answers.tile_variables_answer,
    "liveness": memory_answers.liveness_answer,
    "alive": variable_answers.alive_answer,
    "children": program_answers.children_answer,
    "program_node": program_answers.program_node_answer,
    "program_search": program_answers.program_search_answer,
    "search": search_answers.search_answer,
    "execution": execution_answers.execution_answer,
    "execution_stages": execution_answers.stages_answer,
    "execution_selection": step_answers.selection_answer,
    "execution_search": step_answers.search_answer,
    "execution_step": step_answers.step_answer,
}

#: the questions that there are
WHATS = tuple(_MAKERS)


def answer(report: Profile, what: str, params: Mapping[str, str]) -> Answer:
    """The answer to `what` for a report; raises Error for questions and parameters that make no sense."""
    maker = _MAKERS.get(what)
    if maker is None:
        raise Error(f"Unknown request {clean(what, 40)!r}.", type="view_error")
    return maker(report, Parameters(params))


def frame_answer(
    profile: Profile, name: str, columns: Sequence[str], first: int = 0, rows: int | None = None
) -> Answer:
    """Rows `first` to `first + rows` of columns of a frame; a bounded number of them.

    Raises Error if there is no such frame or column.
    """
    return frame_answers.frame_answer(profile, name, columns, first, rows)
