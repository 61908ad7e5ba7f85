"""Normalisation over groups of channels, over single channels, and over chosen axes.

Statistics come from the batch that is normalised, in training and in inference alike.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.addons.layers.base import IPULayer, initializer_config
from tremula.frontends.tensorflow.ops.group_norm import CHANNELS_FIRST, CHANNELS_LAST, Grouping
from tremula.frontends.tensorflow.stock_keras import keras


class GroupNormalization(IPULayer):
    """Normalises groups of channels of each entry of the batch.

    Args:
        groups: how many groups there are; it has to divide the number of channels.
        channels_axis: the axis of the channels: 1, or the last one.
        center: whether `beta` is added.
        scale: whether the result is multiplied by `gamma`.
        epsilon: added to the variance.
        beta_initializer: the initializer of `beta`; None is that of any weight in Keras, Glorot uniform.
        gamma_initializer: the initializer of `gamma`; None is that of any weight in Keras, Glorot uniform.
        strided_channel_grouping: a group is every n-th channel, which the device does faster, not neighbours.
        trainable: whether `beta` and `gamma` are trained.
        kwargs: arguments of the Keras layer.
    """

    def __init__(
        self,
        groups: int = 2,
        channels_axis: int = -1,
        center: bool = True,
        scale: bool = True,
        epsilon: float = 1e-3,
        beta_initializer: Any = None,
        gamma_initializer: Any = None,
        strided_channel_grouping: bool = True,
        trainable: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(trainable=trainable, **kwargs)
        self.groups = groups
        self.channels_axis = channels_axis
        self.center = center
        self.scale = scale
        self.epsilon = epsilon
        self.beta_initializer = keras.initializers.get(beta_initializer)
        self.gamma_initializer = keras.initializers.get(gamma_initializer)
        self.strided_channel_grouping = strided_channel_grouping
        self.data_format = ""
        self.channels = 1

    def build(self, input_shape: Any) -> None:
        """Make `gamma` and `beta`.

        Raises:
            ValueError: the channels are not in an axis that the device can normalise, or do not fit the groups.
        """
        shape = tf.TensorShape(input_shape)
        if shape.rank is None:
            raise ValueError(
                f"The input of {self.name} has undefined rank: a normalisation has to know its channels."
            )
        axis = self.channels_axis
        if not -shape.rank <= axis < shape.rank:
            raise ValueError(
                f"Axis is out of bounds: channels_axis of {self.name} is {axis}, the input is {shape}."
            )
        axis %= shape.rank
        if axis not in (1, shape.rank - 1):
            raise ValueError(
                f"Unsupported data format: channels_axis of {self.name} is {axis}, not 1 or the last axis."
            )
        self.data_format = CHANNELS_FIRST if axis == 1 else CHANNELS_LAST
        self._build_for(shape[axis], [shape[axis]])

    def _build_for(self, channels: int | None, parameters: Sequence[int]) -> None:
        if channels is None:
            raise ValueError(f"The number of channels of the input of {self.name} has to be known.")
        self.channels = channels
        if self.groups > channels:
            raise ValueError(
                f"Invalid groups {self.groups} of {self.name}: there are only {channels} channels."
            )
        if channels % self.groups:
            raise ValueError(f"{channels} channels of {self.name} do not divide into {self.groups} groups.")
        if self.scale:
            self.gamma = self.add_weight(
                name="gamma", shape=parameters, initializer=self.gamma_initializer, trainable=self.trainable
            )
        if self.center:
            self.beta = self.add_weight(
                name="beta", shape=parameters, initializer=self.beta_initializer, trainable=self.trainable
            )
        self.built = True

    def call(self, inputs: Any, training: Any = None) -> Any:
        """The normalised inputs."""
        grouping = Grouping(self.groups, self.data_format, self.strided_channel_grouping, self.epsilon)
        gamma = tf.reshape(self.gamma, [-1]) if self.scale else tf.ones([self.channels])
        beta = tf.reshape(self.beta, [-1]) if self.center else tf.zeros([self.channels])
        outputs, _, _ = grouping.normalise(inputs, gamma, beta)
        outputs.set_shape(inputs.shape)
        return outputs

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal layer."""
        return {
            **super().get_config(),
            "groups": self.groups,
            "channels_axis": self.channels_axis,
            "center": self.center,
            "scale": self.scale,
            "epsilon": self.epsilon,
            "beta_initializer": initializer_config(self.beta_initializer),
            "gamma_initializer": initializer_config(self.gamma_initializer),
            "strided_channel_grouping": self.strided_channel_grouping,
        }


class InstanceNormalization(GroupNormalization):
    """Normalises each channel of each entry of the batch. Arguments are those of `GroupNormalization`."""

    def __init__(
        self,
        channels_axis: int = -1,
        center: bool = True,
        scale: bool = True,
        epsilon: float = 1e-3,
        beta_initializer: Any = None,
        gamma_initializer: Any = None,
        trainable: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            groups=0,
            channels_axis=channels_axis,
            center=center,
            scale=scale,
            epsilon=epsilon,
            beta_initializer=beta_initializer,
            gamma_initializer=gamma_initializer,
            trainable=trainable,
            **kwargs,
        )

    def _build_for(self, channels: int | None, parameters: Sequence[int]) -> None:
        self.groups = channels or 0
        super()._build_for(channels, parameters)

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal layer."""
        return _without(super().get_config(), "groups", "strided_channel_grouping")


class LayerNormalization(GroupNormalization):
    """Normalises over one or more axes.

    Args:
        axis: the axis or axes.
        epsilon: added to the variance.
        center: whether `beta` is added.
        scale: whether the result is multiplied by `gamma`.
        beta_initializer: the initializer of `beta`.
        gamma_initializer: the initializer of `gamma`.
        beta_regularizer: not supported.
        gamma_regularizer: not supported.
        beta_constraint: not supported.
        gamma_constraint: not supported.
        trainable: whether `beta` and `gamma` are trained.
        kwargs: arguments of the Keras layer.

    Raises:
        ValueError: the axis is neither an integer nor a list of them.
    """

    def __init__(
        self,
        axis: Any = -1,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        beta_regularizer: Any = None,
        gamma_regularizer: Any = None,
        beta_constraint: Any = None,
        gamma_constraint: Any = None,
        trainable: bool = True,
        **kwargs: Any,
    ) -> None:
        if not isinstance(axis, (int, list, tuple)):
            raise ValueError(f"axis has to be an integer or a list of integers, but it is {axis!r}.")
        super().__init__(
            groups=1,
            center=center,
            scale=scale,
            epsilon=epsilon,
            beta_initializer=beta_initializer,
            gamma_initializer=gamma_initializer,
            trainable=trainable,
            **kwargs,
        )
        self.axis = axis if isinstance(axis, int) else list(axis)
        self._check_unsupported(beta_regularizer, "beta_regularizer")
        self._check_unsupported(gamma_regularizer, "gamma_regularizer")
        self._check_unsupported(beta_constraint, "beta_constraint")
        self._check_unsupported(gamma_constraint, "gamma_constraint")

    def build(self, input_shape: Any) -> None:
        """Make `gamma` and `beta`.

        Raises:
            ValueError: an axis does not exist, comes twice, or has no known size.
        """
        shape = tf.TensorShape(input_shape)
        if shape.rank is None:
            raise ValueError(f"Input shape of {self.name} has undefined rank.")
        given = [self.axis] if isinstance(self.axis, int) else list(self.axis)
        for axis in given:
            if not -shape.rank <= axis < shape.rank:
                raise ValueError(f"Invalid axis {axis} of {self.name}: the input has {shape.rank} axes.")
        axes = [axis % shape.rank for axis in given]
        if len(set(axes)) != len(axes):
            raise ValueError(f"Duplicate axis of {self.name}: {tuple(given)}.")
        parameters = [shape[axis] for axis in axes]
        if None in parameters:
            raise ValueError(f"Input shape {shape} of {self.name}: the axes {axes} have to be known.")
        self._reduced = sorted(axes)
        self._kept = [axis for axis in range(shape.rank) if axis not in axes]
        self.data_format = CHANNELS_LAST
        self._build_for(math.prod(parameters), parameters)

    def call(self, inputs: Any, training: Any = None) -> Any:
        """The normalised inputs.

        Raises:
            ValueError: the shape of the inputs is not known.
        """
        shape = inputs.shape
        if not shape.is_fully_defined():
            raise ValueError(
                f"Input shape {shape} of {self.name} has unknown dimensions, but the device needs all of them: set the "
                "batch size, for example with keras.Input(batch_size=...)."
            )
        order = [*self._kept, *self._reduced]
        ordered = tf.transpose(inputs, order)
        rows = super().call(tf.reshape(ordered, [-1, self.channels]), training)
        outputs = tf.transpose(
            tf.reshape(rows, ordered.shape), [order.index(axis) for axis in range(len(order))]
        )
        outputs.set_shape(shape)
        return outputs

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal layer."""
        config = _without(super().get_config(), "groups", "strided_channel_grouping", "channels_axis")
        return {**config, "axis": self.axis}


def _without(config: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in config.items() if name not in names}


GroupNorm = GroupNormalization
InstanceNorm = InstanceNormalization
LayerNorm = LayerNormalization
