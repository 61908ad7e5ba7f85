"""Splits cover what they split, exactly and without waste."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tremula.plan.partition import ChannelSplits, FieldSplits, parallel_and_serial, part_size, splits
from tremula.plan.reduce_stages import stage_depths

extents = st.integers(1, 3000)


@given(extents, st.integers(1, 1500))
def test_parts_cover_an_extent_and_none_is_empty(extent: int, limit: int) -> None:
    parts = splits(extent, limit)
    size = part_size(extent, parts)
    assert (parts * size >= extent).all()
    assert ((parts - 1) * size < extent).all()
    assert parts[0] == 1
    assert parts[-1] <= limit


@given(extents, st.integers(1, 1500))
def test_no_size_of_part_is_left_out(extent: int, limit: int) -> None:
    every = {-(-extent // parts) for parts in range(1, min(extent, limit) + 1)}
    assert set(part_size(extent, splits(extent, limit)).tolist()) == every


@given(st.integers(1, 20), st.integers(1, 60), st.integers(1, 60), st.integers(1, 1472))
def test_field_splits_use_no_more_tiles_than_there_are(batch: int, high: int, wide: int, tiles: int) -> None:
    fields = FieldSplits.of(batch, (high, wide), tiles)
    assert (fields.tiles <= tiles).all()
    assert (fields.tiles == fields.batch * fields.field[0] * fields.field[1]).all()


@given(st.integers(1, 64), st.integers(1, 64), st.integers(1, 9))
def test_only_one_kind_of_channels_is_cut_over_time(ins: int, outs: int, kernel: int) -> None:
    channels = ChannelSplits.of(1, (kernel, 3), ins, outs, 1472, (ins, outs))
    assert ((channels.ins_serial == 1) | (channels.outs_serial == 1)).all()
    assert (channels.ins * channels.ins_serial <= ins).all()
    assert (channels.outs * channels.outs_serial <= outs).all()
    assert (channels.tiles <= 1472).all()
    assert (channels.kernel[-1] == 1).all()


@given(st.integers(2, 500))
def test_turns_and_tiles_multiply_to_a_split(extent: int) -> None:
    parts, times = parallel_and_serial(extent, 1472, extent)
    assert set((parts * times).tolist()) <= set(splits(extent, extent).tolist())


@given(st.integers(1, 1472))
def test_stages_of_a_reduction_leave_one(depth: int) -> None:
    left = depth
    for here in stage_depths(depth):
        assert here > 1
        left = -(-left // here)
    assert left == 1
    assert len(stage_depths(depth)) <= 3


def test_stages_are_as_many_as_depth_asks_for() -> None:
    assert stage_depths(1) == ()
    assert stage_depths(15) == (15,)
    assert len(stage_depths(16)) == 2
    assert len(stage_depths(124)) == 2
    assert len(stage_depths(200)) == 3
    assert np.prod(stage_depths(64)) == 64
