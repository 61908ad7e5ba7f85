"""Arguments of functions that have several forms: taken one by one, by position, with checks of their types.

C++ tells the forms of a function apart by the types of its arguments. Here each function takes its arguments from the
left and looks at the type of the next one where two forms differ. A name for profiles and options end every form.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, TypeVar

import numpy as np

from tremula.frontends.poplar.graph.vertices import ComputeSet
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.libs.errors import PoplibsError
from tremula.frontends.poplar.lines import user_line
from tremula.frontends.poplar.program.programs import Sequence_
from tremula.frontends.poplar.types import Type

Value = TypeVar("Value")

_NAMES: dict[type, str] = {
    View: "tensor",
    Type: "element type",
    Sequence_: "Sequence",
    ComputeSet: "compute set",
    Mapping: "map of options",
    Sequence: "list",
    bool: "truth value",
    int: "integer",
    str: "text",
}
NUMBERS = (bool, int, float, np.generic)


class Arguments:
    """The positional arguments of one call of `function`, without the graph."""

    def __init__(
        self, function: str, values: Sequence[Any], debug: Any = "", options: Mapping[str, Any] | None = None
    ) -> None:
        self.function = function
        self._values = list(values)
        self._place = 0
        self._debug, self._options = debug, options

    def next_is(self, *kinds: type) -> bool:
        """Whether there is a next argument of one of these kinds."""
        return self._place < len(self._values) and isinstance(self._values[self._place], kinds)

    def next_is_number(self) -> bool:
        """Whether the next argument is a plain number."""
        return self.next_is(*NUMBERS)

    def maybe(self, kind: type[Value]) -> Value | None:
        """The next argument if it is of this kind, else None."""
        if not self.next_is(kind):
            return None
        self._place += 1
        found: Value = self._values[self._place - 1]
        return found

    def take(self, what: str, kind: type[Value]) -> Value:
        """The next argument, which has to be of this kind; `what` names it in the error."""
        found = self.maybe(kind)
        if found is None:
            self._refuse(what, _NAMES.get(kind, kind.__name__))
        return found

    def sequence(self, what: str) -> Sequence[Any]:
        """The next argument, a list."""
        return self.take(what, Sequence)  # type: ignore[type-abstract]

    def mapping(self) -> Mapping[Any, Any] | None:
        """The next argument if it is a map of options, else None."""
        return self.maybe(Mapping)  # type: ignore[type-abstract]

    def any(self, what: str) -> Any:
        """The next argument, whatever it is."""
        if self._place >= len(self._values):
            self._refuse(what, "value")
        self._place += 1
        return self._values[self._place - 1]

    def view(self, what: str) -> View:
        """The next argument, a tensor."""
        return self.take(what, View)

    def program(self, what: str = "prog") -> Sequence_:
        """The next argument, the sequence that programs are added to."""
        return self.take(what, Sequence_)

    def integers(self, what: str) -> tuple[int, ...]:
        """The next argument, a list of integers."""
        given = self.any(what)
        if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray):
            self._place -= 1
            self._refuse(what, "list of integers")
        return tuple(int(each) for each in given)

    def integer(self, what: str) -> int:
        """The next argument, an integer."""
        given = self.any(what)
        if not isinstance(given, int | np.integer):
            self._place -= 1
            self._refuse(what, "integer")
        return int(given)

    def number(self, what: str) -> float:
        """The next argument, a number."""
        if not self.next_is_number():
            self._refuse(what, "number")
        return float(self.any(what))

    def end(self) -> tuple[str, dict[str, str]]:
        """The name and the options that may follow, in this order."""
        rest = self._values[self._place :]
        debug, options = self._debug, self._options
        if rest and not isinstance(rest[0], Mapping):
            debug = rest.pop(0)
        if rest and (isinstance(rest[0], Mapping) or rest[0] is None):
            options = rest.pop(0)
        if rest or isinstance(debug, View | Type | Sequence_ | ComputeSet):
            self._place = len(self._values) - len(rest)
            extra = debug if isinstance(debug, View | Type | Sequence_ | ComputeSet) else rest[0]
            raise PoplibsError(
                f"{self.function}: argument {self._place} ({type(extra).__name__}) is too much, or not of the "
                f"type that its place asks for ({user_line()})"
            )
        return str(debug or ""), {str(key): str(value) for key, value in (options or {}).items()}

    def _refuse(self, what: str, kind: str) -> NoReturn:
        given = (
            f"not {type(self._values[self._place]).__name__}"
            if self._place < len(self._values)
            else "but the arguments end before"
        )
        raise PoplibsError(
            f"{self.function}: {what} has to be a {kind}, {given} "
            f"(argument {self._place + 2}, the graph included; {user_line()})"
        )
