"""Tensors of eight-bit floating point numbers: conversion, products and convolutions.

Products are summed in single precision and rounded to half once. The device sums in half precision partials by default
(`partialsType`), so its last bits differ for long sums.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.ops import quarter


class QuarterTensor:
    """Codes and their metadata.

    Attributes:
        data: uint8 codes.
        metadata: scalar uint8.
    """

    def __init__(self, data: Any, metadata: Any) -> None:
        self.data = _bytes(data)
        self.metadata = _bytes(metadata)

    def numpy(self) -> list[Any]:
        """Codes and metadata as arrays, as `assign` takes them."""
        return [self.data.numpy(), self.metadata.numpy()]

    def assign(self, new_values: Sequence[Any], **_: Any) -> None:
        """Take other codes and metadata: `[data, metadata]`."""
        self.data, self.metadata = _bytes(new_values[0]), _bytes(new_values[1])

    def __repr__(self) -> str:
        return f"QuarterTensor(data={self.data}, metadata={self.metadata})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, QuarterTensor):
            return NotImplemented
        return all(
            np.array_equal(mine, theirs) for mine, theirs in zip(self.numpy(), other.numpy(), strict=True)
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def shape(self) -> Any:
        """Of the codes."""
        return self.data.shape

    @property
    def dtype(self) -> Any:
        """Of the codes: uint8."""
        return tf.uint8

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, index: Any) -> Any:
        return self.data[index]

    def __iter__(self) -> Iterator[Any]:
        return iter([self.data, self.metadata])


def convert_to_f8(values: Any, metadata: Any, name: str | None = None) -> QuarterTensor:
    """Eight-bit codes of any numeric tensor, by way of half precision."""
    with tf.name_scope(name or "convert_to_f8"):
        metadata = tf.convert_to_tensor(metadata, dtype=tf.uint8)
        return QuarterTensor(quarter.encode(quarter.to_half(values), metadata), metadata)


def convert_from_f8(packed_input: Any, dtype: Any = tf.float16, name: str | None = None) -> Any:
    """The numbers of a `QuarterTensor` (or of codes and metadata), by way of half precision."""
    with tf.name_scope(name or "convert_from_f8"):
        codes, metadata = packed_input
        metadata = tf.convert_to_tensor(metadata, dtype=tf.uint8)
        return tf.cast(quarter.to_half(quarter.decode(codes, metadata)), dtype)


def f8_matmul(lhs: Any, rhs: Any, name: str = "f8_matmul") -> Any:
    """Matrix product of tensors of rank 2, or of rank 3 with a group dimension; the result is float16."""
    with tf.name_scope(name):
        left, right = (_operand(each, (2, 3), "f8_matmul") for each in (lhs, rhs))
        return quarter.to_half(tf.matmul(left, right))


def f8_conv_1d(
    inputs: Any,
    filters: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NWC",
    dilations: Any = (1,),
    name: str = "f8_conv_1d",
) -> Any:
    """One-dimensional convolution; the result is float16."""
    if data_format not in ("NWC", "NCW"):
        raise ValueError(f"`data_format` of f8_conv_1d is 'NWC' or 'NCW', not {data_format!r}.")
    with tf.name_scope(name):
        left, right = (_operand(each, (3,), "f8_conv_1d") for each in (inputs, filters))
        return _convolved(tf.nn.conv1d, left, right, strides, padding, data_format, dilations)


def f8_conv_2d(
    inputs: Any,
    filters: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str = "f8_conv_2d",
) -> Any:
    """Two-dimensional convolution; the result is float16."""
    with tf.name_scope(name):
        left, right = (_operand(each, (4,), "f8_conv_2d") for each in (inputs, filters))
        return _convolved(tf.nn.conv2d, left, right, strides, padding, data_format, dilations)


def f8_conv_3d(
    inputs: Any,
    filters: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NDHWC",
    dilations: Any = (1, 1, 1, 1, 1),
    name: str = "f8_conv_3d",
) -> Any:
    """Three-dimensional convolution; the result is float16."""
    with tf.name_scope(name):
        left, right = (_operand(each, (5,), "f8_conv_3d") for each in (inputs, filters))
        return _convolved(tf.nn.conv3d, left, right, strides, padding, data_format, dilations)


def _convolved(
    convolution: Any, inputs: Any, filters: Any, strides: Any, padding: Any, data_format: str, dilations: Any
) -> Any:
    # The CPU kernels of TensorFlow have the channels last.
    rank = len(inputs.shape)
    channels_first = data_format[1] == "C"
    if channels_first:
        inputs = tf.transpose(inputs, [0, *range(2, rank), 1])
        strides, dilations = (_channels_last(each, rank) for each in (strides, dilations))
        if not isinstance(padding, str):
            padding = _channels_last(padding, rank)
    layout = {3: "NWC", 4: "NHWC", 5: "NDHWC"}[rank]
    strides, dilations = (list(each) if isinstance(each, Sequence) else each for each in (strides, dilations))
    result = convolution(inputs, filters, strides, padding, data_format=layout, dilations=dilations)
    if channels_first:
        result = tf.transpose(result, [0, rank - 1, *range(1, rank - 1)])
    return quarter.to_half(result)


def _channels_last(values: Any, rank: int) -> Any:
    if isinstance(values, Sequence) and len(values) == rank:
        return [values[0], *values[2:], values[1]]
    return values


def _operand(tensor: Any, ranks: tuple[int, ...], op: str) -> Any:
    """An operand as float32 numbers. A bare uint8 tensor has the metadata 0: F152 without a scale."""
    if not isinstance(tensor, QuarterTensor):
        tensor = tf.convert_to_tensor(tensor)
    shape = tensor.shape
    if not shape.is_fully_defined():
        raise ValueError(
            f"{op}: Input shape must be fully defined, but it is {shape}. Give each dimension a size, for instance "
            f"by batching with drop_remainder=True."
        )
    if len(shape) not in ranks:
        expected = " or ".join(map(str, ranks))
        raise ValueError(f"{op} takes tensors of rank {expected}; this one has shape {shape}.")
    if isinstance(tensor, QuarterTensor):
        return quarter.decode(tensor.data, tensor.metadata)
    if tensor.dtype == tf.uint8:
        return quarter.decode(tensor, tf.constant(0, tf.uint8))
    return tf.cast(tensor, tf.float32)


def _bytes(data: Any) -> Any:
    if isinstance(data, np.ndarray | np.generic | int):
        data = tf.convert_to_tensor(data, dtype=tf.uint8)
    if data.dtype != tf.uint8:
        raise TypeError(
            f"A QuarterTensor contains uint8 codes and metadata, not a tensor of type {data.dtype}. Make the "
            f"codes with convert_to_f8 and the metadata with create_metadata."
        )
    return data
