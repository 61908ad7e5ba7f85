"""The environment of a process, read through the table of variables.

Values are parsed on every access and not cached, so a program (or a test) can change the environment while it runs.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from tremula import stack_layers
from tremula.errors import Error
from tremula.settings.values import BadValueError
from tremula.settings.variables import VARIABLES, Variable

__all__ = ["VARIABLES", "Environment", "Variable", "env"]


class Environment:
    """Typed view of a process environment through the table."""

    def __init__(self, variables: tuple[Variable, ...], source: Mapping[str, str] | None = None) -> None:
        self._variables = {variable.name: variable for variable in variables}
        self._source = source

    def variable(self, name: str) -> Variable:
        """The row of `name`; KeyError for a variable that is not declared."""
        return self._variables[name]

    def raw(self, name: str) -> str | None:
        """The text as set, or None; only for declared variables."""
        self.variable(name)
        source = os.environ if self._source is None else self._source
        return source.get(name)

    def is_set(self, name: str) -> bool:
        """Whether the variable is there and not empty."""
        return bool(self.raw(name))

    def get(self, name: str) -> Any:
        """The value of `name` now, or its default where it is unset or empty.

        Raises Error if the text is not a valid value; the message names the variable.
        """
        variable = self.variable(name)
        text = self.raw(name)
        if not text:
            default = variable.default
            return dict(default) if isinstance(default, dict) else default
        try:
            return variable.parse(text)
        except BadValueError as problem:
            raise Error(
                f"The environment variable {name} is set to {text!r}: {problem}. "
                f"Correct it or unset it. ({variable.meaning})",
                type=stack_layers.COMPILED_ERROR,
            ) from None


#: the environment of this process
env = Environment(VARIABLES)
