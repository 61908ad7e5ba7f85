"""Floating point formats of any width."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from tensorflow.python.ipu.ops.experimental.popfloat_cast_to_gfloat import GenericFloat, cast_native_to_gfloat

_SOME = np.random.default_rng(3).normal(size=500).astype(np.float32) * 10 ** np.linspace(-6, 6, 500).astype(
    np.float32
)


def test_half_precision_is_the_format_5_10() -> None:
    inside = _SOME[np.abs(_SOME) < 65000]
    found = GenericFloat().cast_native_to_gfloat(tf.constant(inside))
    np.testing.assert_array_equal(found, inside.astype(np.float16))


def test_bfloat16_is_the_format_8_7() -> None:
    gfloat = GenericFloat(man=7, exp=8, bias=127)
    found = gfloat.cast_gfloat_to_native(gfloat.cast_native_to_gfloat(tf.constant(_SOME)))
    np.testing.assert_array_equal(found, tf.cast(tf.cast(_SOME, tf.bfloat16), tf.float32))


@given(
    st.integers(1, 6),
    st.integers(2, 5),
    st.booleans(),
    st.booleans(),
    st.sampled_from(["RZ", "RN", "RA", "RU", "RD", "SR"]),
    st.floats(-1000, 1000, width=32),
)
@settings(deadline=None, max_examples=80)
def test_numbers_become_a_neighbour_in_the_format(
    man: int, exp: int, en_denorm: bool, en_inf: bool, mode: str, number: float
) -> None:
    bias = (1 << (exp - 1)) - 1
    gfloat = GenericFloat(man, exp, bias, en_denorm, en_inf)
    found = float(
        gfloat.cast_native_to_gfloat(
            tf.constant(number), en_nanoo=False, round_mode=mode, storage_type="fp32"
        )
    )
    fields = range(1, (1 << exp) - int(en_inf))
    grid = {0.0} | {(1 + m / 2**man) * 2.0 ** (e - bias) for e in fields for m in range(1 << man)}
    if en_denorm:
        grid |= {m / 2**man * 2.0 ** (1 - bias) for m in range(1 << man)}
    grid |= {-value for value in grid}
    assert found in grid
    below = max((value for value in grid if value <= number), default=min(grid))
    above = min((value for value in grid if value >= number), default=max(grid))
    if en_denorm:
        assert found in (below, above)
    if en_denorm and mode == "RN" and below != above:
        assert abs(found - number) == min(number - below, above - number)


def test_integers_hold_the_numbers() -> None:
    gfloat = GenericFloat(man=3, exp=4, bias=7)
    assert gfloat.is_packed_float()
    assert gfloat.get_gfloat_storage_dtype() == tf.int8
    values = tf.constant([0.0, 1.0, -1.5, 240.0, 0.001953125, -0.0])
    stored = gfloat.cast_native_to_gfloat(values)
    assert stored.dtype == tf.int8
    assert gfloat.cast_gfloat_to_native(stored).numpy().tolist() == values.numpy().tolist()


def test_too_large_numbers_become_nan_or_the_largest() -> None:
    gfloat = GenericFloat(man=3, exp=4, bias=7)
    large = tf.constant([1e6, -1e6])
    assert np.all(np.isnan(gfloat.cast_gfloat_to_native(gfloat.cast_native_to_gfloat(large))))
    assert gfloat.cast_native_to_gfloat(large, en_nanoo=False, storage_type="fp32").numpy().tolist() == [
        240,
        -240,
    ]


def test_stochastic_rounding_keeps_the_mean() -> None:
    tf.random.set_seed(1)
    values = tf.fill([20000], 1.03)
    found = GenericFloat(man=3, exp=5).cast_native_to_gfloat(values, round_mode="SR", storage_type="fp32")
    assert set(found.numpy().tolist()) == {1.0, 1.125}
    assert abs(float(tf.reduce_mean(found)) - 1.03) < 0.003


def test_gradients_pass() -> None:
    x = tf.Variable([1.03])
    with tf.GradientTape() as tape:
        y = cast_native_to_gfloat(x, GenericFloat(man=3, exp=5).get_cast_to_gfloat_params()) * 3
    assert tape.gradient(y, x).numpy().tolist() == [3]


def test_what_is_not_possible_is_refused() -> None:
    with pytest.raises(RuntimeError, match="FP16"):
        GenericFloat(man=12, exp=5, calc_type="fp16")
    with pytest.raises(RuntimeWarning, match="en_nanoo"):
        GenericFloat(man=3, exp=4, en_inf=False).cast_native_to_gfloat(tf.constant(1.0))
    with pytest.raises(ValueError, match="rounding mode"):
        GenericFloat().cast_native_to_gfloat(tf.constant(1.0), round_mode="XX")
    with pytest.raises(NotImplementedError, match="Normal"):
        GenericFloat().cast_native_to_gfloat(tf.constant(1.0), round_mode="SR", sr_density="Normal")
