"""`ipu_tensorflow_addons`: Tremula's, for Keras layers and optimizers made for IPUs."""

from tremula.frontends.tensorflow import hooks as _hooks

_hooks.apply(with_strategy=True)
