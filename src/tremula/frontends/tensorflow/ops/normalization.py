"""Group, layer and instance normalisation as functions that make their own variables."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v2 as tf

from tremula import log
from tremula.frontends.tensorflow.ops import facts
from tremula.frontends.tensorflow.ops.group_norm import CHANNELS_FIRST, CHANNELS_LAST, Grouping
from tremula.frontends.tensorflow.static_shape import static_size

#: below this, float16 variances of zero divide by zero on the device
SMALLEST_EPSILON = 1.53e-5


def group_norm(
    inputs: Any,
    groups: int = 2,
    channels_axis: int = -1,
    center: bool = True,
    scale: bool = True,
    epsilon: float = SMALLEST_EPSILON,
    param_initializers: dict[str, Any] | None = None,
    reuse: Any = None,
    variables_collections: Any = None,
    training: bool = True,
    trainable: bool = True,
    scope: Any = None,
    strided_channel_grouping: bool = True,
) -> Any:
    """Normalise groups of channels.

    Args:
        inputs: a tensor of at least two dimensions with a known number of channels.
        groups: how many groups the channels are divided into; it has to divide their number.
        channels_axis: the axis of the channels: 1 or the last one.
        center: add an offset `beta`.
        scale: multiply by `gamma`.
        epsilon: added to the variance.
        param_initializers: initializers for `beta` and `gamma`.
        reuse: whether variables of an earlier call are taken; needs `scope`.
        variables_collections: collections for the variables, a list or a dict by `beta` and `gamma`.
        training: whether the statistics are part of one training op, or made and applied apart.
        trainable: whether the variables are trainable.
        scope: for `variable_scope`.
        strided_channel_grouping: put every n-th channel into one group, as is fast on the device, and not neighbours.

    Raises:
        ValueError: rank or channels are unknown, the axis is not possible, or the groups do not fit.
    """
    _warn_of_epsilon("group_norm", epsilon)
    return _normalise(
        inputs, groups, channels_axis, center, scale, epsilon, param_initializers, reuse, variables_collections,
        training, trainable, scope, "GroupNorm", strided_channel_grouping,
    )  # fmt: skip


def layer_norm(
    inputs: Any,
    channels_axis: int = -1,
    center: bool = True,
    scale: bool = True,
    epsilon: float = SMALLEST_EPSILON,
    param_initializers: dict[str, Any] | None = None,
    reuse: Any = None,
    variables_collections: Any = None,
    training: bool = True,
    trainable: bool = True,
    scope: Any = None,
) -> Any:
    """Normalise each example over all its other axes: `group_norm` with one group. See there for the arguments."""
    _channels(inputs, channels_axis)
    _warn_of_epsilon("layer_norm", epsilon)
    return _normalise(
        inputs, 1, channels_axis, center, scale, epsilon, param_initializers, reuse, variables_collections,
        training, trainable, scope, "LayerNorm", False,
    )  # fmt: skip


def instance_norm(
    inputs: Any,
    channels_axis: int = -1,
    center: bool = True,
    scale: bool = True,
    epsilon: float = SMALLEST_EPSILON,
    param_initializers: dict[str, Any] | None = None,
    reuse: Any = None,
    variables_collections: Any = None,
    training: bool = True,
    trainable: bool = True,
    scope: Any = None,
) -> Any:
    """Normalise each channel of each example: `group_norm` with a group for each. See there for the arguments."""
    _, groups = _channels(inputs, channels_axis)
    _warn_of_epsilon("instance_norm", epsilon)
    return _normalise(
        inputs, groups, channels_axis, center, scale, epsilon, param_initializers, reuse, variables_collections,
        training, trainable, scope, "InstanceNorm", False,
    )  # fmt: skip


def _warn_of_epsilon(function: str, epsilon: float) -> None:
    if epsilon < SMALLEST_EPSILON:
        log.warn_once(
            f"{function}-epsilon",
            f"{function}: with an epsilon of {epsilon} a small variance in half precision gives NaN or a "
            f"floating-point exception on the device. Use at least {SMALLEST_EPSILON}.",
        )


def _channels(inputs: Any, axis: int) -> tuple[int, int]:
    """The axis of the channels as a positive number, and how many there are."""
    rank = inputs.shape.rank
    if rank is None:
        raise ValueError(
            f"The input {_name(inputs)} has undefined rank: a normalisation has to know its channels."
        )
    if not -rank <= axis < rank:
        raise ValueError(f"Axis is out of bounds. The input has {rank} axes; channels_axis is {axis}.")
    axis %= rank
    if axis not in (1, rank - 1):
        raise ValueError(
            f"Channels have to be axis 1 or the last one of the input's {rank} axes, not axis {axis}."
        )
    channels = static_size(inputs, axis)
    if channels is None:
        raise ValueError(f"The input {_name(inputs)} has undefined channel dimension {axis}.")
    return axis, int(channels)


def _name(tensor: Any) -> str:
    return "" if hasattr(tensor, "numpy") else str(getattr(tensor, "name", ""))


def _normalise(
    inputs: Any,
    groups: int,
    channels_axis: int,
    center: bool,
    scale: bool,
    epsilon: float,
    param_initializers: dict[str, Any] | None,
    reuse: Any,
    variables_collections: Any,
    training: bool,
    trainable: bool,
    scope: Any,
    kind: str,
    strided: bool,
) -> Any:
    inputs = tf.convert_to_tensor(inputs)
    axis, channels = _channels(inputs, channels_axis)
    if groups > channels:
        raise ValueError(
            f"Invalid groups {groups} for {channels} channels. Use at most as many groups as channels."
        )
    if channels % groups:
        raise ValueError(
            f"{channels} channels is not commensurate with {groups} groups. Use a divisor of {channels}."
        )
    initializers = param_initializers or {}

    def parameter(name: str, wanted: bool, constant: float) -> Any:
        if not wanted:
            return tf.constant(constant, inputs.dtype, [channels])
        return tf.compat.v1.get_variable(
            name,
            shape=[channels],
            dtype=inputs.dtype,
            initializer=initializers.get(name, tf.compat.v1.constant_initializer(constant)),
            collections=_collections(variables_collections, name),
            trainable=trainable,
        )

    with tf.compat.v1.variable_scope(scope, kind, [inputs], reuse=reuse):
        beta, gamma = parameter("beta", center, 0.0), parameter("gamma", scale, 1.0)
        data_format = CHANNELS_FIRST if axis == 1 else CHANNELS_LAST
        grouping = Grouping(groups, data_format, strided, epsilon)
        output, _, _ = grouping.normalise(inputs, gamma, beta)
        return facts.record(output, norm=kind, groups=groups, training=training)


def _collections(collections: Any, name: str) -> Any:
    return collections.get(name) if isinstance(collections, dict) else collections
