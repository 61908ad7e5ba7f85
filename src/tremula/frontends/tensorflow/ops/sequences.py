"""Copying runs of rows between tensors, with lengths and offsets that may be known at run time only."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.static_shape import static_size


def sequence_slice(
    dst: Any, src: Any, num_elems: Any, src_offsets: Any, dst_offsets: Any, zero_unused: bool
) -> Any:
    """Copy runs of rows of `src` into `dst`.

    Args:
        dst: the tensor that is written to; its gradient is none, as on the device.
        src: the tensor that is read; its inner dimensions equal those of `dst`.
        num_elems: the number of rows of each run.
        src_offsets: the first row of each run in `src`.
        dst_offsets: the first row of each run in `dst`. Where runs overlap, the later one is kept.
        zero_unused: zero the rows of `dst` that no run writes.

    Raises:
        ValueError: the three lists have different lengths, or the inner dimensions differ.
    """
    dst, src, num_elems, src_offsets, dst_offsets = _tensors(dst, src, num_elems, src_offsets, dst_offsets)
    _check_runs("num_elems, src_offsets and dst_offsets", num_elems, src_offsets, dst_offsets)
    _check_inner(dst, src)
    return _copy_runs(dst, src, num_elems, src_offsets, dst_offsets, zero_unused)


def sequence_slice_unpack(src: Any, num_elems: Any, src_offsets: Any, total_elements: int) -> Any:
    """Put runs of rows of `src` one after the other.

    Args:
        src: the tensor that is read.
        num_elems: the number of rows of each run.
        src_offsets: the first row of each run in `src`.
        total_elements: the number of rows of the result.

    Raises:
        ValueError: the two lists have different lengths.
    """
    src, num_elems, src_offsets = _tensors(src, num_elems, src_offsets)
    _check_runs("num_elems and src_offsets", num_elems, src_offsets)
    return unpack(src, num_elems, src_offsets, _one_after_the_other(num_elems), total_elements)


def unpack(src: Any, num_elems: Any, src_offsets: Any, dst_offsets: Any, total_elements: int) -> Any:
    """Copy runs of rows of `src` into rows of zeros."""
    rows = tf.zeros(tf.concat([[int(total_elements)], tf.shape(src)[1:]], 0), src.dtype)
    rows.set_shape([int(total_elements), *src.shape[1:]])
    return _copy_runs(rows, src, num_elems, src_offsets, dst_offsets, zero_unused=True)


def sequence_slice_pack(dst: Any, src: Any, num_elems: Any, dst_offsets: Any, zero_unused: bool) -> Any:
    """Put runs that lie one after the other in `src` at their places in `dst`.

    Args:
        dst: the tensor that is written to.
        src: the tensor that is read; its inner dimensions equal those of `dst`.
        num_elems: the number of rows of each run.
        dst_offsets: the first row of each run in `dst`.
        zero_unused: zero the rows of `dst` that no run writes.

    Raises:
        ValueError: the two lists have different lengths, or the inner dimensions differ.
    """
    dst, src, num_elems, dst_offsets = _tensors(dst, src, num_elems, dst_offsets)
    _check_runs("num_elems and dst_offsets", num_elems, dst_offsets)
    _check_inner(dst, src)
    return _copy_runs(dst, src, num_elems, _one_after_the_other(num_elems), dst_offsets, zero_unused)


def _tensors(*values: Any) -> list[Any]:
    return [tf.convert_to_tensor(value) for value in values]


def _check_runs(what: str, *lists: Any) -> None:
    lengths = {static_size(runs, 0) if runs.shape.rank == 1 else None for runs in lists}
    if len(lengths) != 1 or 0 in lengths or None in lengths:
        shapes = ", ".join(str(runs.shape) for runs in lists)
        raise ValueError(
            f"{what} must have matching, nonzero shapes of rank 1, but have the shapes {shapes}."
        )


def _check_inner(dst: Any, src: Any) -> None:
    if src.shape[1:] != dst.shape[1:]:
        raise ValueError(
            f"src and dst inner shapes must match. They are {src.shape[1:]} and {dst.shape[1:]}."
        )


def _one_after_the_other(lengths: Any) -> Any:
    return tf.cumsum(lengths, exclusive=True)


def _copy_runs(
    dst: Any, src: Any, num_elems: Any, src_offsets: Any, dst_offsets: Any, zero_unused: bool
) -> Any:
    rows = tf.range(tf.shape(dst)[0], dtype=num_elems.dtype)
    inside = (rows >= dst_offsets[:, tf.newaxis]) & (
        rows < (dst_offsets + num_elems)[:, tf.newaxis]
    )  # [run, row]
    order = tf.range(1, tf.shape(num_elems)[0] + 1)[:, tf.newaxis]
    last = tf.reduce_max(tf.where(inside, order, 0), axis=0)  # 1 + the last run that writes each row, or 0
    written = tf.reshape(last > 0, tf.concat([[-1], tf.ones([tf.rank(dst) - 1], tf.int32)], 0))
    run = tf.maximum(last - 1, 0)
    source = tf.gather(src_offsets, run) + rows - tf.gather(dst_offsets, run)
    source = tf.clip_by_value(source, 0, tf.cast(tf.shape(src)[0], source.dtype) - 1)
    size = tf.shape(src)[0]

    @tf.custom_gradient
    def copy(src: Any) -> Any:
        kept = tf.zeros_like(dst) if zero_unused else tf.stop_gradient(dst)

        def gradient(incoming: Any) -> Any:
            used = tf.where(written, incoming, tf.zeros_like(incoming))
            result = tf.math.unsorted_segment_sum(used, source, size)
            result.set_shape(src.shape)
            return result

        return tf.where(written, tf.gather(src, source), kept), gradient

    return copy(src)
