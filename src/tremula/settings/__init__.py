"""Every setting that reaches the emulated stack from outside a program, typed and in tables.

`env` reads environment variables; `engine_options` and `popart_options` hold the names that the lower
layers of the stack know. `python -m tremula.settings.page` writes the reference page from these tables.
"""

from tremula.settings.environment import VARIABLES, Environment, Variable, env

__all__ = ["VARIABLES", "Environment", "Variable", "env"]
