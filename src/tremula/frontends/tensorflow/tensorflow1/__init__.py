"""Programs that were written for TensorFlow 1.15, on the installed TensorFlow.

They do `import tensorflow as tf` and use the names of TensorFlow 1, such as `tf.placeholder`. The stack for IPUs had a
package of its own for them. Here, TREMULA_TENSORFLOW=1 lets `import tensorflow` give the interface of TensorFlow 1, for
the whole process; without it, stock TensorFlow is as it is.
"""

from __future__ import annotations

from tremula.settings.environment import env

SWITCH = "TREMULA_TENSORFLOW"
#: what `tf.__version__` says then
VERSION = "1.15.5"


def switched_on() -> bool:
    """Whether the program gets the interface of TensorFlow 1."""
    return bool(env.get(SWITCH) == "1")
