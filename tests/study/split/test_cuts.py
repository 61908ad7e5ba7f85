"""Where to cut, against trying everything."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tremula.study.split.cuts import TOLERANCE, Stages, by_ipu, kept_together, shortest, smallest


def _runs(each: list[float]) -> np.ndarray:
    total = np.concatenate(([0.0], np.cumsum(each)))
    return total[None, :] - total[:, None]


@st.composite
def problems(draw: st.DrawFn) -> Stages:
    pieces = draw(st.integers(2, 8))
    returns = draw(st.booleans())
    stages = draw(st.integers(2 + returns, 4)) if pieces > 2 else 2
    returns = returns and pieces >= stages and stages > 2
    figures = st.lists(st.integers(1, 20), min_size=pieces, max_size=pieces)
    load = np.stack([_runs(draw(figures)) for _ in range(stages)])
    memory = np.stack([_runs(draw(figures)) for _ in range(stages)])
    pairs = draw(st.lists(st.tuples(st.integers(0, pieces - 1), st.integers(0, pieces - 1)), max_size=2))
    load = kept_together(load, [(min(p), max(p)) for p in pairs], returns=returns)
    depth = np.array([0.0, *draw(st.lists(st.integers(0, 3), min_size=pieces, max_size=pieces))])
    return Stages(load, memory, depth.astype(float), returns)


def _all(problem: Stages, bound: float = np.inf) -> list[tuple[float, float]]:
    """Load of the busiest and bytes of the fullest IPU of every split that is allowed."""
    found = []
    for begins in itertools.combinations(range(1, problem.pieces), problem.stages - 1):
        load = max(by_ipu(problem, problem.load, begins))
        memory = max(by_ipu(problem, problem.memory, begins))
        if np.isfinite(load) and memory <= bound:
            found.append((load, memory))
    return found


@given(problems(), st.integers(5, 100))
def test_no_split_within_the_bound_has_a_shorter_longest_stage(problem: Stages, bound: int) -> None:
    possible = _all(problem, bound)
    found = shortest(problem, bound)
    if not possible:
        assert found is None
        return
    assert found is not None
    assert found.memory <= bound
    assert found.load <= min(possible)[0] * (1.0 + TOLERANCE) + 1e-9
    assert (found.load, found.memory) in possible
    assert list(found.begins) == sorted(set(found.begins))


@given(problems())
def test_no_split_is_smaller_than_the_smallest(problem: Stages) -> None:
    possible = _all(problem)
    found = smallest(problem)
    if not possible:
        assert found is None
        return
    assert found is not None
    assert found.memory <= min(memory for _, memory in possible) * (1.0 + TOLERANCE) + 1e-9


def test_of_equal_splits_the_one_at_outer_modules_is_taken() -> None:
    load = np.stack([_runs([100.0, 0.1, 0.1, 100.0])] * 2)
    deep_first = Stages(load, load, np.array([0.0, 2.0, 0.0, 2.0, 0.0]))
    found = shortest(deep_first)
    assert found is not None
    assert found.begins == (2,)


def test_readers_of_a_shared_weight_stay_in_one_stage() -> None:
    load = kept_together(np.stack([_runs([1.0] * 6)] * 3), [(1, 3)])
    found = shortest(Stages(load, load, np.zeros(7)))
    assert found is not None
    assert not any(1 < begin <= 3 for begin in found.begins)


def test_a_last_stage_back_on_the_first_ipu_may_have_the_other_reader() -> None:
    pairs = [(0, 5)]
    alone = kept_together(np.stack([_runs([1.0] * 6)] * 3), pairs)
    assert shortest(Stages(alone, alone, np.zeros(7))) is None
    back = kept_together(np.stack([_runs([1.0] * 6)] * 4), pairs, returns=True)
    found = shortest(Stages(back, back, np.zeros(7), returns=True))
    assert found is not None
    assert found.load == 2.0
    assert found.begins == (1, 3, 5)
