"""Types of expressions: operands have to agree, and constants take the type of what they are combined with."""

from __future__ import annotations

from collections.abc import Sequence

from tremula.frontends.poplar.libs.errors import PoplibsError
from tremula.frontends.poplar.libs.popops.expressions import Cast, Const, Expr, Operated, PlaceHolder
from tremula.frontends.poplar.libs.popops.operations import KINDS, TRUTHS, kind_of
from tremula.frontends.poplar.lines import user_line
from tremula.frontends.poplar.types import BOOL, Type

#: operations whose last operand is a condition, or whose operands need not agree
_SELECT = "SELECT"


class Types:
    """The types of all parts of one expression."""

    def __init__(self, root: Expr, operands: Sequence[Type]) -> None:
        self._operands = operands
        self._constants: dict[int, Type] = {}
        waiting: list[Const] = []
        found = self._find(root, waiting)
        if found is None:  # constants only: their own types decide
            found = waiting[0].type
        self._settle(waiting, found)
        self.result: Type = found

    def of_constant(self, constant: Const) -> Type:
        """The type that a constant has taken."""
        return self._constants[id(constant)]

    def _settle(self, waiting: list[Const], type: Type) -> None:
        for each in waiting:
            self._constants[id(each)] = type
        waiting.clear()

    def _find(self, part: Expr, waiting: list[Const]) -> Type | None:
        """The type of a part; None, and its constants in `waiting`, where only constants could say it."""
        if isinstance(part, Const):
            waiting.append(part)
            return None
        if isinstance(part, PlaceHolder):
            return self._operand(part)
        if isinstance(part, Cast):
            inner: list[Const] = []
            below = self._find(part.argument, inner)
            if inner:
                self._settle(inner, below or inner[0].type)
            return part.type
        if isinstance(part, Operated):
            return self._find_operation(part, waiting)
        raise PoplibsError(f"{part!r} is not part of an expression ({user_line()})")

    def _operand(self, part: PlaceHolder) -> Type:
        if not 1 <= part.index <= len(self._operands):
            raise PoplibsError(
                f"the expression names operand _{part.index}, but there are {len(self._operands)} tensors "
                f"({user_line()})"
            )
        return self._operands[part.index - 1]

    def _find_operation(self, part: Operated, waiting: list[Const]) -> Type | None:
        name = part.type.name
        arguments = part.arguments
        if name == _SELECT:
            self._condition(arguments[2])
            arguments = arguments[:2]
        mine: list[Const] = []
        found: Type | None = None
        for argument in arguments:
            below: list[Const] = []
            kind = self._find(argument, below)
            if kind is None:
                mine += below
                continue
            if below:
                self._settle(below, kind)
            if found is not None and kind is not found:
                raise PoplibsError(
                    f"the operands of {name} are of types {found} and {kind}; cast one of them ({user_line()})"
                )
            found = kind
        if found is not None:
            self._settle(mine, found)
        elif name in TRUTHS or name == _SELECT:
            found = mine[0].type
            self._settle(mine, found)
        else:
            waiting += mine
            return None
        if kind_of(found) not in KINDS[name]:
            raise PoplibsError(f"{name} takes no operands of type {found} ({user_line()})")
        return BOOL if name in TRUTHS else found

    def _condition(self, part: Expr) -> None:
        inner: list[Const] = []
        kind = self._find(part, inner)
        if kind is None:
            kind = inner[0].type
        self._settle(inner, kind)
        if kind is not BOOL:
            raise PoplibsError(f"the condition of a selection is of type {kind}, not bool ({user_line()})")
