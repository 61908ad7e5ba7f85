"""Names that numpy has removed: given back on demand, and nothing that it has is changed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from tremula.frontends import numpy_names


@pytest.fixture
def before() -> Iterator[dict[str, object]]:
    names = dict(vars(np))
    yield names
    for name in set(vars(np)) - set(names):
        delattr(np, name)


def test_removed_names_mean_what_they_meant(before: dict[str, object]) -> None:
    added = numpy_names.restore()
    assert not set(added) & set(before)
    assert all(name in vars(np) for name in numpy_names.NAMES)
    assert all(vars(np)[name] is value for name, value in before.items())
    assert np.zeros(2, dtype=np.float).dtype == np.float64  # type: ignore[attr-defined]
    assert np.zeros(2, dtype=np.bool).dtype == np.dtype("?")
    assert np.array([1, "a"], dtype=np.object).dtype == np.dtype("O")  # type: ignore[attr-defined]
    assert np.in1d([[1], [2]], [2]).tolist() == [False, True]  # type: ignore[attr-defined]
    assert np.trapz([0.0, 2.0]) == 1.0  # type: ignore[attr-defined]
    assert np.isnan(np.NaN)  # type: ignore[attr-defined]
    assert np.asfarray([1, 2]).dtype == np.float64  # type: ignore[attr-defined]
    assert numpy_names.restore() == []
