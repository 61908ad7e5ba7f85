"""Reads the source of a compute function into a tree, or says at which line it uses what the tree has no word for."""

from __future__ import annotations

import ast
import builtins
import inspect
import math
import textwrap
import types
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tremula.frontends.poplar.codelets.codelet import Base, Field, Kind
from tremula.frontends.poplar.codelets.python import functions, tree
from tremula.frontends.poplar.codelets.python.tree import Body, Expr, Stmt

_BINARY = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>",
}  # fmt: skip
_COMPARE = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
_UNARY = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~", ast.Not: "not"}


class NotTranslatable(Exception):
    """The function uses something that only Python itself can execute; the text says what, and where."""


def read(vertex: type, fields: Mapping[str, Field], base: Base) -> tree.Function:
    """The compute function of a vertex class as a tree.

    Raises:
        NotTranslatable: it has more than the tree can say.
    """
    compute = inspect.unwrap(vertex.compute)  # type: ignore[attr-defined]
    try:
        lines, first = inspect.getsourcelines(compute)
        file = inspect.getsourcefile(compute) or "?"
        parsed = ast.parse(textwrap.dedent("".join(lines))).body[0]
    except (OSError, TypeError, SyntaxError, IndentationError, IndexError):
        raise NotTranslatable(f"the source of {vertex.__qualname__}.compute cannot be read") from None
    if not isinstance(parsed, ast.FunctionDef):
        raise NotTranslatable(f"{vertex.__qualname__}.compute is not a plain function ({file}:{first})")
    return _Reader(fields, _Names(compute), file, first).function(parsed, base)


class _Names:
    """What the names of a function mean that are not its own."""

    def __init__(self, compute: Any) -> None:
        closed = inspect.getclosurevars(compute)
        self._known: dict[str, Any] = {**closed.builtins, **closed.globals, **closed.nonlocals}

    def find(self, name: str) -> Any:
        return self._known.get(name, getattr(builtins, name, None))


class _Reader:
    def __init__(self, fields: Mapping[str, Field], names: _Names, file: str, first: int) -> None:
        self.fields, self.names, self.file, self.first = fields, names, file, first
        self.self_name = "self"
        self.worker = ""
        self.locals: set[str] = set()
        self.hidden = 0

    def function(self, parsed: ast.FunctionDef, base: Base) -> tree.Function:
        arguments = [each.arg for each in parsed.args.args]
        expected = 2 if base is Base.MULTI_VERTEX else 1
        if len(arguments) != expected or parsed.args.vararg or parsed.args.kwarg or parsed.args.kwonlyargs:
            self._refuse(parsed, "compute takes self" + (" and the worker's number" if expected == 2 else ""))
        self.self_name = arguments[0]
        self.worker = arguments[1] if expected == 2 else ""
        body = self.body(parsed.body)
        return tree.Function(body, self.file, self.first, self.worker)

    def _refuse(self, node: ast.AST, what: str) -> Any:
        line = self.first + getattr(node, "lineno", 1) - 1
        raise NotTranslatable(f"{what} ({self.file}:{line})")

    def _line(self, node: ast.stmt) -> int:
        return self.first + node.lineno - 1

    # -- statements ---------------------------------------------------------------------------------------------

    def body(self, statements: Sequence[ast.stmt]) -> Body:
        return tuple(each for statement in statements for each in self.statement(statement))

    def statement(self, node: ast.stmt) -> list[Stmt]:
        line = self._line(node)
        match node:
            case ast.Pass() | ast.Expr(value=ast.Constant()):
                return []
            case ast.Return(value=None | ast.Constant(value=None)):
                return [tree.Leave(line, "return")]
            case ast.Return(value=ast.expr() as value):
                return [tree.Leave(line, "return", self.expression(value))]
            case ast.Break():
                return [tree.Leave(line, "break")]
            case ast.Continue():
                return [tree.Leave(line, "continue")]
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)) if len(
                targets
            ) == len(values):
                return self._several(line, targets, values)
            case ast.Assign(targets=targets, value=value):
                return [self._assigned(node, each, self.expression(value)) for each in targets]
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                return [self._assigned(node, target, self.expression(value))]
            case ast.AugAssign(target=target, op=op, value=value):
                changed = tree.Binary(self._op(node, op), self.expression(target), self.expression(value))
                return [self._assigned(node, target, changed)]
            case ast.If(test=test, body=body, orelse=orelse):
                return [tree.If(line, self.expression(test), self.body(body), self.body(orelse))]
            case ast.While(test=test, body=body, orelse=[]):
                return [tree.While(line, self.expression(test), self.body(body))]
            case ast.For(orelse=[]):
                return [self._loop(node)]
        self._refuse(
            node, f"the statement `{ast.unparse(node).splitlines()[0]:.60}` is not one that codelets may have"
        )
        return []

    def _assigned(self, node: ast.stmt, to: ast.expr, value: Expr) -> Stmt:
        if isinstance(to, ast.Attribute) and self._is_vector(to):
            self._refuse(node, f"assign the elements: `{ast.unparse(to)}[:] = ...`")
        target = self.target(to)
        if tree.has_spans(value) and not isinstance(target, tree.Span):
            self._refuse(node, "several elements are assigned only to several elements of a field")
        return tree.Assign(self._line(node), target, value)

    def _several(self, line: int, targets: Sequence[ast.expr], values: Sequence[ast.expr]) -> list[Stmt]:
        """`a, b = b, a`: all values first."""
        made = [(self._new_name(), self.expression(value)) for value in values]
        first: list[Stmt] = [tree.Assign(line, tree.Local(name), value) for name, value in made]
        return first + [
            tree.Assign(line, self.target(target), tree.Local(name))
            for target, (name, _) in zip(targets, made, strict=True)
        ]

    def _new_name(self) -> str:
        self.hidden += 1
        name = f"hidden_{self.hidden}"
        self.locals.add(name)
        return name

    def _loop(self, node: ast.For) -> Stmt:
        line, target, over = self._line(node), node.target, node.iter
        called = over.func.id if isinstance(over, ast.Call) and isinstance(over.func, ast.Name) else ""
        given = over.args if isinstance(over, ast.Call) and not over.keywords else []
        if called == "range" and isinstance(target, ast.Name) and 1 <= len(given) <= 3:
            start, stop, step = self._range(given)
            self.locals.add(target.id)
            return tree.For(line, target.id, start, stop, step, self.body(node.body))
        if (
            called == "enumerate"
            and len(given) == 1
            and isinstance(target, ast.Tuple)
            and len(target.elts) == 2
        ):
            number, value = target.elts
            if isinstance(number, ast.Name) and isinstance(value, ast.Name):
                return self._over_items(node, number.id, value.id, given[0])
        if isinstance(target, ast.Name):
            return self._over_items(node, self._new_name(), target.id, over)
        return self._refuse(node, "a loop of a codelet is over a range or over the elements of a vector")  # type: ignore[no-any-return]

    def _range(self, arguments: Sequence[ast.expr]) -> tuple[Expr, Expr, Expr]:
        given = [self.expression(each) for each in arguments]
        if len(given) == 1:
            return tree.Const(0), given[0], tree.Const(1)
        return given[0], given[1], given[2] if len(given) == 3 else tree.Const(1)

    def _over_items(self, node: ast.For, index: str, name: str, over: ast.expr) -> Stmt:
        field, row = self._vector(over)
        self.locals |= {index, name}
        line = self._line(node)
        first = tree.Assign(line, tree.Local(name), tree.Item(field, tree.Local(index), row))
        size = tree.Size(field, row)
        return tree.For(line, index, tree.Const(0), size, tree.Const(1), (first, *self.body(node.body)))

    # -- fields -------------------------------------------------------------------------------------------------

    def _field(self, node: ast.expr) -> Field | None:
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == self.self_name
        ):
            return self.fields.get(node.attr)
        return None

    def _vector(self, node: ast.expr) -> tuple[str, Expr | None]:
        """The vector that an expression names: a field, or one vector of a list."""
        field = self._field(node)
        if field is not None and field.kind in (Kind.VECTOR, Kind.STATE_VECTOR):
            return field.name, None
        if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Slice):
            field = self._field(node.value)
            if field is not None and field.kind is Kind.VECTOR_LIST:
                return field.name, self.expression(node.slice)
        return self._refuse(node, f"`{ast.unparse(node):.60}` is not a vector of the vertex")  # type: ignore[no-any-return]

    def _is_vector(self, node: ast.expr) -> bool:
        try:
            self._vector(node)
        except NotTranslatable:
            return False
        return True

    def target(self, node: ast.expr) -> tree.Local | tree.Scalar | tree.Item | tree.Span:
        if isinstance(node, ast.Name):
            if node.id == self.worker:
                self._refuse(node, "the worker's number is not changed")
            self.locals.add(node.id)
            return tree.Local(node.id)
        found = self.expression(node)
        if isinstance(found, tree.Scalar | tree.Item | tree.Span):
            field = self.fields[found.field]
            if field.direction.writes or field.kind in (Kind.STATE, Kind.STATE_VECTOR):
                return found
            self._refuse(node, f"field {field.name!r} is an input, which is not written")
        return self._refuse(node, f"`{ast.unparse(node):.60}` cannot be assigned")  # type: ignore[no-any-return]

    # -- expressions --------------------------------------------------------------------------------------------

    def expression(self, node: ast.expr) -> Expr:
        match node:
            case ast.Constant(value=bool() | int() | float() as value):
                return tree.Const(value)
            case ast.Name(id=name):
                return self._name(node, name)
            case ast.Attribute():
                return self._attribute(node)
            case ast.Subscript():
                return self._subscript(node)
            case ast.UnaryOp(op=op, operand=operand):
                return self._folded(tree.Unary(_UNARY[type(op)], self.expression(operand)))
            case ast.BinOp(left=left, op=op, right=right):
                return tree.Binary(self._op(node, op), self.expression(left), self.expression(right))
            case ast.BoolOp(op=op, values=values):
                return tree.Logic(
                    "and" if isinstance(op, ast.And) else "or", tuple(map(self.expression, values))
                )
            case ast.Compare(left=left, ops=ops, comparators=others):
                return self._comparison(node, left, ops, others)
            case ast.IfExp(test=test, body=yes, orelse=no):
                return tree.Choice(self.expression(test), self.expression(yes), self.expression(no))
            case ast.Call():
                return self._call(node)
        return self._refuse(node, f"`{ast.unparse(node):.60}` is not an expression that codelets may have")  # type: ignore[no-any-return]

    def _folded(self, node: tree.Unary) -> Expr:
        if isinstance(node.value, tree.Const) and node.op in "+-" and not isinstance(node.value.value, bool):
            return tree.Const(-node.value.value if node.op == "-" else node.value.value)
        return node

    def _op(self, node: ast.AST, op: ast.operator) -> str:
        found = _BINARY.get(type(op))
        return (
            found
            if found is not None
            else self._refuse(node, "a matrix product is not an operation of codelets")
        )

    def _comparison(
        self, node: ast.Compare, left: ast.expr, ops: Sequence[ast.cmpop], others: Sequence[ast.expr]
    ) -> Expr:
        parts: list[Expr] = []
        first = self.expression(left)
        for op, other in zip(ops, others, strict=True):
            if type(op) not in _COMPARE:
                self._refuse(node, "`is` and `in` are not comparisons of codelets")
            second = self.expression(other)
            parts.append(tree.Binary(_COMPARE[type(op)], first, second))
            first = second
        return parts[0] if len(parts) == 1 else tree.Logic("and", tuple(parts))

    def _name(self, node: ast.expr, name: str) -> Expr:
        if name == self.worker:
            return tree.Worker()
        if name in self.locals:
            return tree.Local(name)
        return self._constant(node, self.names.find(name), name)

    def _constant(self, node: ast.expr, value: Any, text: str) -> Expr:
        if isinstance(value, bool | np.bool_):
            return tree.Const(bool(value))
        if isinstance(value, int | np.integer):
            return tree.Const(int(value))
        if isinstance(value, float | np.floating):
            return tree.Const(float(value))
        return self._refuse(node, f"`{text:.60}` is not a number, local variable or field")  # type: ignore[no-any-return]

    def _attribute(self, node: ast.Attribute) -> Expr:
        field = self._field(node)
        if field is not None:
            if field.kind in (Kind.SCALAR, Kind.STATE):
                return tree.Scalar(field.name)
            if field.kind in (Kind.VECTOR, Kind.STATE_VECTOR):
                return tree.Span(field.name, tree.Const(0), None, tree.Const(1))
            return self._refuse(node, f"a list of vectors is used one by one: self.{field.name}[number]")  # type: ignore[no-any-return]
        if isinstance(node.value, ast.Name) and node.value.id not in (*self.locals, self.self_name):
            owner = self.names.find(node.value.id)
            if isinstance(owner, types.ModuleType | type):
                return self._constant(node, getattr(owner, node.attr, None), ast.unparse(node))
        return self._refuse(node, f"`{ast.unparse(node):.60}` is not a field")  # type: ignore[no-any-return]

    def _subscript(self, node: ast.Subscript) -> Expr:
        if isinstance(node.slice, ast.Tuple):
            self._refuse(node, "vectors have one dimension")
        field = self._field(node.value)
        if field is not None and field.kind is Kind.VECTOR_LIST and not isinstance(node.slice, ast.Slice):
            return tree.Span(field.name, tree.Const(0), None, tree.Const(1), self.expression(node.slice))
        name, row = self._vector(node.value)
        if not isinstance(node.slice, ast.Slice):
            index = self.expression(node.slice)
            if isinstance(index, tree.Const) and isinstance(index.value, int) and index.value < 0:
                index = tree.Binary("+", tree.Size(name, row), index)
            return tree.Item(name, index, row)
        begin = tree.Const(0) if node.slice.lower is None else self._edge(node.slice.lower, name, row)
        end = None if node.slice.upper is None else self._edge(node.slice.upper, name, row)
        step = tree.Const(1) if node.slice.step is None else self.expression(node.slice.step)
        if isinstance(step, tree.Const) and not step.value > 0:
            self._refuse(node, "slices go forwards")
        return tree.Span(name, begin, end, step, row)

    def _edge(self, node: ast.expr, name: str, row: Expr | None) -> Expr:
        """The edge of a slice: a negative one counts from the end."""
        found = self.expression(node)
        if isinstance(found, tree.Const) and found.value < 0:
            return tree.Binary("+", tree.Size(name, row), found)
        return found

    # -- calls --------------------------------------------------------------------------------------------------

    def _call(self, node: ast.Call) -> Expr:
        if node.keywords or any(isinstance(each, ast.Starred) for each in node.args):
            self._refuse(node, f"`{ast.unparse(node):.60}`: calls of codelets have plain arguments")
        called, arguments = node.func, node.args
        if isinstance(called, ast.Attribute):
            if self._field(called.value) is not None or self._is_vector(called.value):
                return self._method(node, called)
            if (
                isinstance(called.value, ast.Name)
                and called.value.id == self.self_name
                and called.attr == "numWorkers"
            ):
                return tree.Workers()
            owner = self.names.find(called.value.id) if isinstance(called.value, ast.Name) else None
            table = functions.MATH if owner is math else functions.NUMPY if owner is np else {}
            return self._function(node, called.attr, table, arguments, owner is np)
        if isinstance(called, ast.Name) and called.id not in self.locals:
            value = self.names.find(called.id)
            if value is len and len(arguments) == 1:
                return self._size(arguments[0])
            for module, table in (
                (math, functions.MATH),
                (np, functions.NUMPY),
                (builtins, functions.BUILTIN),
            ):
                if value is not None and value is getattr(module, called.id, None):
                    return self._function(node, called.id, table, arguments, module is not math)
        return self._refuse(node, f"`{ast.unparse(called):.60}` is not a function that codelets may call")  # type: ignore[no-any-return]

    def _size(self, node: ast.expr) -> Expr:
        field = self._field(node)
        if field is not None and field.kind is Kind.VECTOR_LIST:
            return tree.Size(field.name)
        name, row = self._vector(node)
        if not self.fields[name].has_size:
            self._refuse(node, f"field {name!r} has no size: its layout is only a pointer")
        return tree.Size(name, row)

    def _method(self, node: ast.Call, called: ast.Attribute) -> Expr:
        if called.attr == "size" and not node.args:
            return self._size(called.value)
        if called.attr in functions.REDUCTIONS and not node.args:
            return tree.Reduce(functions.REDUCTIONS[called.attr], self.expression(called.value))
        return self._refuse(node, f"vectors have no {called.attr!r} in codelets")  # type: ignore[no-any-return]

    def _function(
        self,
        node: ast.Call,
        name: str,
        table: Mapping[str, str],
        arguments: Sequence[ast.expr],
        reduces: bool,
    ) -> Expr:
        given = tuple(map(self.expression, arguments))
        if reduces and name in functions.REDUCTIONS and len(given) == 1 and tree.has_spans(given[0]):
            return tree.Reduce(functions.REDUCTIONS[name], given[0])
        if name == "dot" and len(given) == 2 and all(map(tree.has_spans, given)):
            return tree.Reduce("sum", tree.Binary("*", *given))
        if name == "pow" and len(given) == 2:
            return tree.Binary("**", *given)
        if name == "where" and len(given) == 3:
            return tree.Choice(*given)
        known = table.get(name)
        if known is None:
            return self._refuse(node, f"`{name}` is not a function that codelets may call")  # type: ignore[no-any-return]
        wanted = functions.TABLE[known].arguments
        if known in ("min", "max") and len(given) > 2:
            made: Expr = given[0]
            for each in given[1:]:
                made = tree.Call(known, (made, each))
            return made
        if len(given) != wanted:
            self._refuse(node, f"`{name}` takes {wanted} arguments")
        return tree.Call(known, given)
