"""Writes a compute function as a vertex class in C++, which is then compiled and bound as any other.

Whole numbers are computed in 64 bits and wrap around when they are stored. Numbers written in the code take the type of
what they are combined with, as in NumPy. An index outside a vector is an error, as in Python.
"""

from __future__ import annotations

from collections.abc import Mapping

from tremula.frontends.poplar.codelets.codelet import Base, Direction, Field, Kind
from tremula.frontends.poplar.codelets.python import functions, tree
from tremula.frontends.poplar.types import Type

#: fields have names of their own in C++, where some of Python's are keywords
PREFIX = "field_"
_BASES = {Base.VERTEX: "Vertex", Base.MULTI_VERTEX: "MultiVertex", Base.SUPERVISOR: "SupervisorVertex"}
#: types in C++, in the order in which they win over each other; `weak` is a number of the code
_ORDER = ("bool", "int", "weak", "half", "float")
_CPP = {"bool": "bool", "int": "long long", "weak": "float", "half": "half", "float": "float"}


def vertex_class(
    name: str, function: tree.Function, fields: Mapping[str, Field], base: Base, types: Mapping[str, Type]
) -> str:
    """The text of the class; `types` are those of the elements of all fields."""
    writer = _Writer(function, fields, types)
    body = writer.body(function.body, "    ")
    members = "".join(
        f"  {_member(field, types.get(field.name))} {PREFIX}{field.name};\n" for field in fields.values()
    )
    variables = "".join(f"    {_CPP[kind]} v_{local} = 0;\n" for local, kind in sorted(writer.locals.items()))
    worker = f"unsigned v_{function.worker}" if function.worker else ""
    return (
        "#include <tremula_python.hpp>\nusing namespace poplar;\n"
        f"class {name} : public {_BASES[base]} {{\npublic:\n{members}  bool compute({worker}) {{\n{variables}{body}"
        "    return true;\n  }\n};\n"
    )


def _member(field: Field, type_: Type | None) -> str:
    element = (
        "float"
        if type_ is None
        else type_.c_name.replace("long", "int")
        if type_.name in ("LONG", "UNSIGNED_LONG")
        else type_.c_name
    )
    direction = {Direction.INPUT: "Input", Direction.OUTPUT: "Output", Direction.INOUT: "InOut"}.get(
        field.direction, ""
    )
    if field.kind is Kind.STATE:
        return element
    if field.kind is Kind.STATE_VECTOR:
        return f"Vector<{element}>"
    if field.kind is Kind.SCALAR:
        return f"{direction}<{element}>"
    vector = f"{direction}<Vector<{element}>>"
    return f"Vector<{vector}>" if field.kind is Kind.VECTOR_LIST else vector


def _kind(type_: Type | None) -> str:
    if type_ is None or type_.name == "FLOAT":
        return "float"
    return {"HALF": "half", "BOOL": "bool"}.get(type_.name, "int")


def _join(*kinds: str) -> str:
    return max(kinds, key=_ORDER.index)


class _Writer:
    def __init__(
        self, function: tree.Function, fields: Mapping[str, Field], types: Mapping[str, Type]
    ) -> None:
        self.function, self.fields, self.types = function, fields, types
        self.locals: dict[str, str] = {}
        self.index = ""
        self.numbers = 0
        self._infer()

    # -- types --------------------------------------------------------------------------------------------------

    def _infer(self) -> None:
        """The type of each local variable: the one that holds all that is assigned to it."""
        nodes = [each for each in tree.walk(self.function.body) if isinstance(each, tree.Assign | tree.For)]
        for node in nodes:
            if isinstance(node, tree.For):
                self.locals[node.variable] = "int"
        changed = True
        while changed:
            changed = False
            for node in nodes:
                if isinstance(node, tree.Assign) and isinstance(node.target, tree.Local):
                    name, before = node.target.name, self.locals.get(node.target.name, "bool")
                    after = _join(before, self.kind(node.value))
                    if after != before or name not in self.locals:
                        self.locals[name], changed = after, True

    def kind(self, node: tree.Expr) -> str:
        match node:
            case tree.Const(value):
                return "bool" if isinstance(value, bool) else "int" if isinstance(value, int) else "weak"
            case tree.Local(name):
                return self.locals.get(name, "bool")
            case tree.Scalar(name) | tree.Item(name) | tree.Span(name):
                return _kind(self.types.get(name))
            case tree.Unary(op, inner):
                return "bool" if op == "not" else _join("int", self.kind(inner))
            case tree.Binary(op, left, right):
                return self._binary_kind(op, left, right)
            case tree.Logic():
                return "bool"
            case tree.Choice(_, yes, no):
                return _join(self.kind(yes), self.kind(no))
            case tree.Call(name, parts):
                result = functions.TABLE[name].result
                found = _join(*map(self.kind, parts))
                if result == "same":
                    return _join("int", found) if name == "abs" else found
                return "half" if result == "float" and found == "half" and name != "float" else result
            case tree.Reduce(op, inner):
                return self.kind(inner) if op in ("min", "max") else _join("int", self.kind(inner))
        return "int"

    def _binary_kind(self, op: str, left: tree.Expr, right: tree.Expr) -> str:
        if op in ("==", "!=", "<", "<=", ">", ">="):
            return "bool"
        found = _join(self.kind(left), self.kind(right))
        if op in "&|^" and found == "bool":
            return "bool"
        if op == "/" and found in ("bool", "int"):
            return "float"
        return _join("int", found)

    # -- statements ---------------------------------------------------------------------------------------------

    def body(self, body: tree.Body, indent: str) -> str:
        return "".join(self.statement(each, indent) for each in body)

    def statement(self, node: tree.Stmt, indent: str) -> str:
        match node:
            case tree.Assign():
                return self._assign(node, indent)
            case tree.If(_, test, yes, no):
                text = f"{indent}if ({self.truth(test)}) {{\n{self.body(yes, indent + '  ')}{indent}}}"
                return f"{text} else {{\n{self.body(no, indent + '  ')}{indent}}}\n" if no else f"{text}\n"
            case tree.While(_, test, body):
                return f"{indent}while ({self.truth(test)}) {{\n{self.body(body, indent + '  ')}{indent}}}\n"
            case tree.Leave(_, how, value):
                return f"{indent}{f'return {self.truth(value)}' if how == 'return' else how};\n"
            case tree.For():
                return self._for(node, indent)

    def _for(self, node: tree.For, indent: str) -> str:
        self.numbers += 1
        i, end, step = (f"{part}_{self.numbers}" for part in ("i", "end", "step"))
        known = node.step.value if isinstance(node.step, tree.Const) else None
        test = (
            f"{i} < {end}"
            if known is not None and known > 0
            else f"{i} > {end}"
            if known is not None
            else f"{step} > 0 ? {i} < {end} : {i} > {end}"
        )
        return (
            f"{indent}for (long long {i} = {self.whole(node.start)}, {end} = {self.whole(node.stop)}, "
            f"{step} = {self.whole(node.step)}; {test}; {i} += {step}) {{\n{indent}  v_{node.variable} = {i};\n"
            f"{self.body(node.body, indent + '  ')}{indent}}}\n"
        )

    def _assign(self, node: tree.Assign, indent: str) -> str:
        target = node.target
        if isinstance(target, tree.Span):
            return self._assign_span(node, target, indent)
        kind = self.kind(target)
        value = self.cast(self.expression(node.value), self.kind(node.value), kind)
        if isinstance(target, tree.Local):
            return f"{indent}v_{target.name} = {value};\n"
        return f"{indent}{self.place(target)} = {self._stored(value, target.field)};\n"

    def _stored(self, value: str, name: str) -> str:
        type_ = self.types.get(name)
        return (
            f"static_cast<{type_.c_name}>({value})" if type_ is not None and _kind(type_) == "int" else value
        )

    def _assign_span(self, node: tree.Assign, target: tree.Span, indent: str) -> str:
        """All values are computed before the first is written, as NumPy does."""
        self.numbers += 1
        number = self.numbers
        cut, values, k = f"cut_{number}", f"values_{number}", f"k_{number}"
        stored = self._stored(f"{values}[{k}]", target.field)
        kind = _CPP[self.kind(target)]
        outside, self.index = self.index, f"k_{number}"
        value = self.cast(self.expression(node.value), self.kind(node.value), self.kind(target))
        widths = "".join(
            f'{indent}  tremula_python::sameWidth({cut}.count, {self.cut(each)}.count, "{target.field}");\n'
            for each in _spans(node.value)
        )
        self.index = outside
        return (
            f"{indent}{{\n{indent}  const auto {cut} = {self.cut(target)};\n{widths}"
            f"{indent}  tremula_python::Values<{kind}> {values}({cut}.count);\n"
            f"{indent}  for (long long {k} = 0; {k} < {cut}.count; ++{k}) {values}[{k}] = {value};\n"
            f"{indent}  for (long long {k} = 0; {k} < {cut}.count; ++{k}) "
            f"{self.vector(target.field, target.row)}[{cut}.at({k})] = {stored};\n"
            f"{indent}}}\n"
        )

    # -- places -------------------------------------------------------------------------------------------------

    def vector(self, name: str, row: tree.Expr | None) -> str:
        if row is None:
            return f"{PREFIX}{name}"
        return f'{PREFIX}{name}[tremula_python::at({self.whole(row)}, {PREFIX}{name}.size(), "{name}")]'

    def place(self, node: tree.Scalar | tree.Item) -> str:
        if isinstance(node, tree.Scalar):
            return (
                f"(*{PREFIX}{node.field})"
                if self.fields[node.field].kind is Kind.SCALAR
                else f"{PREFIX}{node.field}"
            )
        vector = self.vector(node.field, node.row)
        if not self.fields[node.field].has_size:
            return f"{vector}[{self.whole(node.index)}]"
        return f'{vector}[tremula_python::at({self.whole(node.index)}, {vector}.size(), "{node.field}")]'

    def cut(self, node: tree.Span) -> str:
        size = f"{self.vector(node.field, node.row)}.size()"
        end = size if node.end is None else self.whole(node.end)
        return f"tremula_python::cut({self.whole(node.begin)}, {end}, {self.whole(node.step)}, {size})"

    # -- expressions --------------------------------------------------------------------------------------------

    def cast(self, text: str, kind: str, wanted: str) -> str:
        return text if kind == wanted else f"static_cast<{_CPP[wanted]}>({text})"

    def whole(self, node: tree.Expr) -> str:
        return self.cast(self.expression(node), self.kind(node), "int")

    def truth(self, node: tree.Expr) -> str:
        text, kind = self.expression(node), self.kind(node)
        return text if kind == "bool" else f"({text} != 0)"

    def expression(self, node: tree.Expr) -> str:
        match node:
            case tree.Const(value):
                return _literal(value)
            case tree.Local(name):
                return f"v_{name}"
            case tree.Scalar() | tree.Item():
                return self._loaded(self.place(node), node.field)
            case tree.Span():
                return self._loaded(
                    f"{self.vector(node.field, node.row)}[{self.cut(node)}.at({self.index})]", node.field
                )
            case tree.Size(name, row):
                return f"static_cast<long long>({self.vector(name, row)}.size())"
            case tree.Worker():
                return f"static_cast<long long>(v_{self.function.worker})"
            case tree.Workers():
                return "static_cast<long long>(CTXT_WORKERS)"
            case tree.Unary(op, inner):
                return (
                    f"(!{self.truth(inner)})"
                    if op == "not"
                    else f"({op}{self.cast(self.expression(inner), self.kind(inner), self.kind(node))})"
                )
            case tree.Binary():
                return self._binary(node)
            case tree.Logic(op, parts):
                return f"({(' && ' if op == 'and' else ' || ').join(map(self.truth, parts))})"
            case tree.Choice(test, yes, no):
                kind = self.kind(node)
                first, second = (
                    self.cast(self.expression(each), self.kind(each), kind) for each in (yes, no)
                )
                return f"({self.truth(test)} ? {first} : {second})"
            case tree.Call(name, parts):
                return self._call(node, name, parts)
            case tree.Reduce(op, inner):
                return self._reduce(node, op, inner)

    def _loaded(self, text: str, name: str) -> str:
        return f"static_cast<long long>({text})" if _kind(self.types.get(name)) == "int" else text

    def _binary(self, node: tree.Binary) -> str:
        op, left, right = node.op, node.left, node.right
        both = _join(self.kind(left), self.kind(right))
        if op in ("+", "-", "*", "//", "%", "<<", ">>", "**", "/"):
            both = _join(both, self.kind(node))
        a, b = (self.cast(self.expression(each), self.kind(each), both) for each in (left, right))
        named = {"//": "floorDivide", "%": "modulo", "**": "power"}.get(op)
        if named is not None:
            return f"tremula_python::{named}({a}, {b})"
        return f"({a} {op} {b})"

    def _call(self, node: tree.Call, name: str, parts: tuple[tree.Expr, ...]) -> str:
        function = functions.TABLE[name]
        kind = self.kind(node)
        if function.result == "same":
            given = [self.cast(self.expression(each), self.kind(each), kind) for each in parts]
            return f"{function.cpp}({', '.join(given)})"
        if name == "half":
            return self.cast(self.expression(parts[0]), self.kind(parts[0]), "half")
        if name == "bool":
            return self.truth(parts[0])
        given = [self.cast(self.expression(each), self.kind(each), "float") for each in parts]
        return self.cast(
            f"{function.cpp}({', '.join(given)})", "float" if function.result == "float" else kind, kind
        )

    def _reduce(self, node: tree.Reduce, op: str, inner: tree.Expr) -> str:
        self.numbers += 1
        outside, self.index = self.index, f"k_{self.numbers}"
        kind = self.kind(node)
        value = self.cast(self.expression(inner), self.kind(inner), kind)
        spans = _spans(inner)
        checks = "".join(
            f'tremula_python::sameWidth({self.cut(spans[0])}.count, {self.cut(each)}.count, "{each.field}"); '
            for each in spans[1:]
        )
        text = (
            f"[&]() -> {_CPP[kind]} {{ {checks}return tremula_python::{op}<{_CPP[kind]}>({self.cut(spans[0])}.count, "
            f"[&](long long {self.index}) -> {_CPP[kind]} {{ return {value}; }}); }}()"
        )
        self.index = outside
        return text


def _spans(node: tree.Expr) -> list[tree.Span]:
    """The spans of an expression, without those inside of reductions."""
    if isinstance(node, tree.Span):
        return [node]
    if isinstance(node, tree.Unary):
        return _spans(node.value)
    if isinstance(node, tree.Binary):
        return _spans(node.left) + _spans(node.right)
    if isinstance(node, tree.Choice):
        return _spans(node.test) + _spans(node.yes) + _spans(node.no)
    if isinstance(node, tree.Logic | tree.Call):
        return [each for part in node.parts for each in _spans(part)]
    return []


def _literal(value: bool | int | float) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"{value}LL"
    if value != value:
        return '__builtin_nanf("")'
    if value in (float("inf"), float("-inf")):
        return "(-__builtin_inff())" if value < 0 else "__builtin_inff()"
    return f"static_cast<float>({value!r})"
