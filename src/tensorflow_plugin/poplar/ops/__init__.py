"""Ops of the device as programs call them. Importing it makes the changes that `tensorflow.python.ipu` makes."""

from tremula.frontends.tensorflow import hooks as _hooks

_hooks.apply()
