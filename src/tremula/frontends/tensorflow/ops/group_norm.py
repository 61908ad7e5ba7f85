"""Group normalisation as the device computes it: statistics of groups of channels, in float32.

A group holds either neighbouring channels, or every n-th one (`strided`), which the device does faster and which other
frameworks do not do. The first axis is the batch; channels are the second or the last axis.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.ops import facts
from tremula.frontends.tensorflow.static_shape import static_size

CHANNELS_FIRST, CHANNELS_LAST = "NCHW", "NHWC"


@dataclass(frozen=True)
class Grouping:
    """Which channels share statistics.

    Attributes:
        groups: the number of groups.
        data_format: `NCHW` for channels in the second axis, `NHWC` for the last one.
        strided: every n-th channel is in one group; otherwise neighbours are.
        epsilon: added to the variance.
    """

    groups: int
    data_format: str
    strided: bool = True
    epsilon: float = 1.53e-5

    def _channels(self, x: Any) -> int:
        return int(static_size(x, 1 if self.data_format == CHANNELS_FIRST else -1))

    def _split(self, x: Any) -> tuple[Any, list[int]]:
        """`x` with an axis for the groups, and the axes of one group."""
        channels = self._channels(x)
        batch = static_size(x, 0) if static_size(x, 0) is not None else tf.shape(x)[0]
        members = channels // self.groups
        split = [members, self.groups] if self.strided else [self.groups, members]
        member_axis = 0 if self.strided else 1
        if self.data_format == CHANNELS_FIRST:
            return tf.reshape(x, [batch, *split, -1]), [1 + member_axis, 3]
        return tf.reshape(x, [batch, -1, *split]), [1, 2 + member_axis]

    def _spread(self, by_group: Any, x: Any) -> Any:
        """`[batch, groups]` as a factor for each channel of `x`."""
        members = self._channels(x) // self.groups
        if self.strided:
            by_channel = tf.tile(by_group, [1, members])
        else:
            by_channel = tf.repeat(by_group, members, axis=1)
        return self._aligned(by_channel, x)

    def _aligned(self, by_channel: Any, x: Any) -> Any:
        """`[..., channels]` with axes of size 1 where `x` has its others."""
        leading = [1] if by_channel.shape.rank == 1 else [tf.shape(by_channel)[0]]
        ones = [1] * (x.shape.rank - 2)
        channels = self._channels(x)
        inner = [channels, *ones] if self.data_format == CHANNELS_FIRST else [*ones, channels]
        return tf.reshape(by_channel, leading + inner)

    def statistics(self, x: Any) -> tuple[Any, Any]:
        """The mean and the inverse standard deviation of each group, `[batch * groups]` in the dtype of `x`."""
        mean, inverse = self._moments(tf.cast(x, tf.float32))
        return tuple(tf.cast(tf.reshape(value, [-1]), x.dtype) for value in (mean, inverse))

    def _moments(self, x: Any) -> tuple[Any, Any]:
        split, axes = self._split(x)
        mean, variance = tf.nn.moments(split, axes)
        return mean, tf.math.rsqrt(variance + self.epsilon)

    def apply(self, x: Any, gamma: Any, beta: Any, mean: Any, inverse: Any) -> Any:
        """Normalise `x` with given statistics, then scale by `gamma` and add `beta`."""
        wide = tf.cast(x, tf.float32)
        mean, inverse = (tf.reshape(tf.cast(s, tf.float32), [-1, self.groups]) for s in (mean, inverse))
        scale = self._spread(inverse, x) * self._aligned(tf.cast(gamma, tf.float32), x)
        # exact for a group of equal values
        centred = wide - self._spread(mean, x)
        return tf.cast(centred * scale + self._aligned(tf.cast(beta, tf.float32), x), x.dtype)

    def normalise(self, x: Any, gamma: Any, beta: Any) -> tuple[Any, Any, Any]:
        """Normalise `x` with its own statistics.

        Returns:
            The output, and the mean and inverse standard deviation of each group, `[batch * groups]`.
        """
        channels = static_size(x, 1 if self.data_format == CHANNELS_FIRST else -1)
        with facts.composite("Norm", kind="group", groups=self.groups, channels=channels):
            mean, inverse = self._moments(tf.cast(x, tf.float32))
            output = self.apply(x, gamma, beta, mean, inverse)
            return output, *(tf.cast(tf.reshape(value, [-1]), x.dtype) for value in (mean, inverse))

    def gradients(self, x: Any, gamma: Any, mean: Any, inverse: Any, backprop: Any) -> tuple[Any, Any, Any]:
        """The gradients for `x`, `gamma` and `beta`, given that of the output."""
        wide, incoming = tf.cast(x, tf.float32), tf.cast(backprop, tf.float32)
        mean, inverse = (tf.reshape(tf.cast(s, tf.float32), [-1, self.groups]) for s in (mean, inverse))
        whitened = (wide - self._spread(mean, x)) * self._spread(inverse, x)
        channel_axis = 1 if self.data_format == CHANNELS_FIRST else x.shape.rank - 1
        others = [axis for axis in range(x.shape.rank) if axis != channel_axis]
        for_gamma = tf.reduce_sum(incoming * whitened, others)
        for_beta = tf.reduce_sum(incoming, others)
        scaled = incoming * self._aligned(tf.cast(gamma, tf.float32), x)
        centre = self._spread(self._group_mean(scaled), x)
        slope = self._spread(self._group_mean(scaled * whitened), x)
        for_x = self._spread(inverse, x) * (scaled - centre - whitened * slope)
        return tuple(tf.cast(value, x.dtype) for value in (for_x, for_gamma, for_beta))

    def _group_mean(self, x: Any) -> Any:
        split, axes = self._split(x)
        return tf.reduce_mean(split, axes)
