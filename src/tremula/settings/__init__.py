"""Tables of all settings of the emulated stack that come from outside a program.

`env` reads environment variables; `engine_options` and `popart_options` hold the names that the lower
layers of the stack know. `python -m tremula.settings.page` writes the reference page from these tables.
"""

from tremula.settings.environment import VARIABLES, Environment, Variable, env

__all__ = ["VARIABLES", "Environment", "Variable", "env"]
