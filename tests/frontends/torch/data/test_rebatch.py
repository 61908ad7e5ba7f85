"""Rebatching neither loses, repeats nor reorders rows."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tremula.frontends.torch.data.rebatch import Rebatcher, combine_batches

BATCH_SIZES = st.lists(st.integers(0, 9), max_size=12)


@given(BATCH_SIZES, st.integers(1, 7))
def test_rows_come_out_in_order_in_batches_of_one_size(sizes: list[int], size: int) -> None:
    rebatcher = Rebatcher(size)
    made: list[list[int]] = []
    under_way: list[int | None] = [None] * size
    first = 0
    for rows in sizes:
        batch = list(range(first, first + rows))
        first += rows
        for span in rebatcher.spans(rows):
            under_way[span.at : span.at + span.stop - span.start] = batch[span.start : span.stop]
            assert len(under_way) == size
            if span.completes:
                made.append(list(under_way))
                under_way = [None] * size
    flat = [row for batch in made for row in batch]
    assert flat + under_way[: rebatcher.filled] == list(range(first))
    assert len(made) == first // size


def test_reset_forgets_the_batch_under_way() -> None:
    rebatcher = Rebatcher(4)
    assert [span.completes for span in rebatcher.spans(3)] == [False]
    rebatcher.reset()
    assert next(rebatcher.spans(1)).at == 0


def test_a_batch_has_rows() -> None:
    with pytest.raises(ValueError, match="at least one row"):
        Rebatcher(0)


@given(BATCH_SIZES, st.integers(1, 4), st.booleans())
def test_combined_batches_are_the_concatenation(sizes: list[int], count: int, drop_last: bool) -> None:
    rows = list(torch.arange(sum(sizes)).split(sizes)) if sizes else []
    combined = list(
        combine_batches(
            [{"x": batch} for batch in rows],
            count,
            drop_last=drop_last,
            flatten=lambda batch: [batch["x"]],
            rebuild=lambda batch, tensors: {"x": next(tensors)},
        )
    )
    whole, rest = divmod(len(sizes), count)
    kept = sizes if rest and not drop_last else sizes[: whole * count]
    assert len(combined) == whole + bool(rest and not drop_last)
    assert [int(v) for batch in combined for v in batch["x"]] == list(range(sum(kept)))
