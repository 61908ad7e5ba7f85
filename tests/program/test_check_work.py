"""Work of a file: whatever is read can be planned, and what no program has is refused."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from tremula.checked_json import BadValue
from tremula.errors import Error
from tremula.hardware.catalogue import chip
from tremula.plan.planner import PLANNERS, Planner
from tremula.program import work as works
from tremula.program.check_work import check_work
from tremula.program.columns import _work

MK2 = chip("mk2")
WORKS = (
    works.MatMul(8, 16, 32),
    works.Convolution(2, 4, 8, (8, 8), (3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1), (1, 1)),
    works.SparseMatMul(64, 64, 8, 0.1, 4),
    works.Elementwise("add", 1000),
    works.Cast(100, "fp32", "fp16"),
    works.Reduction(4, 8, 2),
    works.Softmax(8, 10),
    works.Norm("batch", 64, 8, 16),
    works.Pool("max", 2, 4, (8, 8), (2, 2), (2, 2)),
    works.Gather(100, 16, 32),
    works.Scatter(100, 16, 32),
    works.Recurrent("lstm", 5, 2, 8, 16),
    works.Random("normal", 100),
    works.Copy(100),
    works.Fill(100),
    works.Sort(4, 100, "fp32", 3),
    works.Scan(4, 100),
    works.Stencil((64, 64), 1, 5),
    works.Unknown("sonar", 10, 10),
)
VALUES: tuple[Any, ...] = (
    *(None, True, 0, 1, -1, 2, 7, 65536, 2**31 - 1, 2**47, 2**63, 10**30, 0.0, -0.5, 1e308, float("nan")),
    *("", "x", [], [0], [0, 0], [1], [1, 1, 1], [-1, -1], [2**40, 2**40], [[1, 1]]),
)


def _plain(work: works.Work) -> dict[str, Any]:
    return dict(json.loads(json.dumps(dataclasses.asdict(work))))


def test_all_kinds_are_here() -> None:
    assert {type(work) for work in WORKS} == set(PLANNERS)
    for work in WORKS:
        check_work(work)
        assert _work([type(work).__name__, _plain(work)]) == work


@pytest.mark.parametrize("work", WORKS, ids=lambda work: type(work).__name__)
def test_changed_work_is_refused_or_can_be_planned(work: works.Work) -> None:
    for name in _plain(work):
        for value in VALUES:
            try:
                changed = _work([type(work).__name__, {**_plain(work), name: value}])
            except BadValue:
                continue
            Planner(MK2).plan(changed)


@pytest.mark.parametrize(
    ("work", "changes", "text"),
    [
        (WORKS[8], {"kernel": [2]}, "do not have the same number of dimensions"),
        (WORKS[8], {"kind": "median"}, "no Pool is called 'median'"),
        (WORKS[1], {"stride": [0, 1]}, "stride of a Convolution is 0"),
        (WORKS[0], {"dtype": "fp64"}, "is 'fp64', which is not a type of numbers"),
        (WORKS[0], {"rows": -3}, "rows of a MatMul is -3"),
        (WORKS[2], {"density": 1.5}, "density of a SparseMatMul is 1.5"),
    ],
)
def test_what_is_wrong_is_said(work: works.Work, changes: dict[str, Any], text: str) -> None:
    with pytest.raises(BadValue, match=text):
        _work([type(work).__name__, {**_plain(work), **changes}])


def test_a_plan_without_room_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_arguments: object) -> Any:
        raise MemoryError

    monkeypatch.setitem(PLANNERS, works.MatMul, fail)
    with pytest.raises(Error, match=r"A plan for MatMul\(rows=8, .* takes more memory than this host has"):
        Planner(MK2).plan(WORKS[0])
