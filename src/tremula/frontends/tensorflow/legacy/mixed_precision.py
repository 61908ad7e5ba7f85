"""Half precision with loss scaling under an IPUStrategy."""

from __future__ import annotations

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.stock_keras import internal


def install() -> None:
    """Let a strategy say itself that Keras may scale losses under it; stock Keras has a list of its own strategies."""
    loss_scaling = internal("mixed_precision.loss_scale_optimizer")
    stock = loss_scaling.strategy_supports_loss_scaling

    def strategy_supports_loss_scaling() -> bool:
        said = getattr(tf.distribute.get_strategy(), "supports_loss_scaling", False)
        return bool(said) or bool(stock())

    loss_scaling.strategy_supports_loss_scaling = strategy_supports_loss_scaling
