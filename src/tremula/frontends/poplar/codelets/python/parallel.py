"""Which loops of a compute function may run for all their iterations at once, and which functions for all vertices.

A loop is parallel if each iteration touches elements of its own and nothing else that another iteration writes, except
sums and the like, which are recognised. A function runs for all vertices at once if how often its loops run, and which
parts of fields it uses, does not depend on the data, so that vertices of equal size do the same steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from tremula.frontends.poplar.codelets.codelet import Field, Kind
from tremula.frontends.poplar.codelets.python import tree
from tremula.frontends.poplar.codelets.python.tree import Body, Expr, Stmt

#: operations whose results may be collected over iterations
ACCUMULATED = ("+", "-", "*", "&", "|", "^", "min", "max")


@dataclass(frozen=True)
class LoopPlan:
    """How a loop runs: all iterations at once, with these accumulators (by target), or one after the other."""

    parallel: bool
    accumulators: Mapping[tree.Local | tree.Scalar, str] = field(default_factory=dict)
    reason: str = ""


@dataclass(frozen=True)
class Plan:
    """How a function runs for all vertices at once."""

    loops: Mapping[int, LoopPlan]  #: by the identity of the loop
    #: plain members and scalar inputs on which the steps depend: vertices are grouped by them
    keys: frozenset[str]
    refusal: str = ""  #: why it cannot run so, or empty

    @property
    def sequential(self) -> bool:
        """Whether a loop runs its iterations one after the other."""
        return any(not each.parallel for each in self.loops.values())


def plan(
    function: tree.Function, fields: Mapping[str, Field], same: Callable[[str], str] = lambda name: name
) -> Plan:
    """The plan of a function. `same` gives one name to fields that lie on the same elements."""
    nodes = list(tree.walk(function.body))
    for node in nodes:
        if isinstance(node, tree.While):
            return Plan({}, frozenset(), f"a while loop depends on data ({function.file}:{node.line})")
    body = _without_last_return(function.body)
    for node in tree.walk(body):
        if isinstance(node, tree.Leave):
            return Plan({}, frozenset(), f"`{node.how}` depends on data ({function.file}:{node.line})")
    last = function.body[-1] if function.body else None
    if isinstance(last, tree.Leave) and last.value != tree.Const(True):
        return Plan({}, frozenset(), f"it returns a value ({function.file}:{last.line})")
    keys, refusal = _steps(function, fields)
    loops = {id(node): _loop(node, same) for node in nodes if isinstance(node, tree.For)}
    return Plan(loops, keys, refusal)


def rounds_alike(function: tree.Function) -> bool:
    """Whether NumPy and compiled code give the same bits: all operations round to the nearest number."""
    exact = {
        "abs",
        "min",
        "max",
        "int",
        "bool",
        "float",
        "sqrt",
        "floor",
        "ceil",
        "trunc",
        "floor_int",
        "ceil_int",
    }
    for node in tree.walk(function.body):
        if isinstance(node, tree.Call) and node.name not in exact:
            return False
        if isinstance(node, tree.Binary) and node.op in ("**", "%", "//"):
            return False
    return True


def _without_last_return(body: Body) -> Body:
    return body[:-1] if body and isinstance(body[-1], tree.Leave) and body[-1].how == "return" else body


def _bounds(body: Body) -> Iterator[Expr]:
    """What says how often loops run and which parts of fields are used."""
    for node in tree.walk(body):
        if isinstance(node, tree.For):
            yield from (node.start, node.stop, node.step)
        elif isinstance(node, tree.Span):
            yield from (each for each in (node.begin, node.end, node.step, node.row) if each is not None)
        elif isinstance(node, tree.Item | tree.Size) and node.row is not None:
            yield node.row


def _steps(function: tree.Function, fields: Mapping[str, Field]) -> tuple[frozenset[str], str]:
    loops = {node.variable for node in tree.walk(function.body) if isinstance(node, tree.For)}
    written = {
        node.target.field
        for node in tree.walk(function.body)
        if isinstance(node, tree.Assign) and isinstance(node.target, tree.Scalar)
    }
    conditional = {
        node.target.name
        for branch in tree.walk(function.body) if isinstance(branch, tree.If)
        for node in tree.walk((*branch.yes, *branch.no))
        if isinstance(node, tree.Assign) and isinstance(node.target, tree.Local)
    }  # fmt: skip
    assigned: dict[str, list[Expr]] = {}
    for node in tree.walk(function.body):
        if isinstance(node, tree.Assign) and isinstance(node.target, tree.Local):
            assigned.setdefault(node.target.name, []).append(node.value)
    keys: set[str] = set()
    waiting, done = list(_bounds(function.body)), set[str]()
    while waiting:
        for node in tree.walk(waiting.pop()):
            if isinstance(node, tree.Item | tree.Reduce):
                return frozenset(), "how often a loop runs depends on the elements of a field"
            if isinstance(node, tree.Scalar):
                if node.field in written:
                    return frozenset(), f"how often a loop runs depends on {node.field!r}, which is written"
                keys.add(node.field)
            if isinstance(node, tree.Local) and node.name not in done:
                if node.name in conditional:
                    return frozenset(), f"how often a loop runs depends on {node.name!r}, which a branch sets"
                done.add(node.name)
                waiting += assigned.get(node.name, [])
                if node.name not in assigned and node.name not in loops:
                    return frozenset(), f"{node.name!r} is used before it is set"
    for name in keys:
        if fields[name].kind is Kind.SCALAR and fields[name].direction.writes:
            return frozenset(), f"how often a loop runs depends on {name!r}, which is an output"
    return frozenset(keys), ""


# -- single loops -------------------------------------------------------------------------------------------------


def _loop(loop: tree.For, same: Callable[[str], str]) -> LoopPlan:
    inner = list(tree.walk(loop.body))
    if any(isinstance(node, tree.For | tree.While | tree.Leave | tree.Span | tree.Reduce) for node in inner):
        return LoopPlan(False, reason="it has loops or spans in it")
    accumulators = _accumulators(loop)
    assigned = {
        node.target
        for node in inner
        if isinstance(node, tree.Assign) and isinstance(node.target, tree.Local | tree.Scalar)
    }
    plain = {each for each in assigned if each not in accumulators}
    if any(isinstance(each, tree.Scalar) for each in plain):
        return LoopPlan(False, reason="it sets a field of one element")
    if tree.Local(loop.variable) in assigned:
        return LoopPlan(False, reason="it sets its own variable")
    names = {each.name for each in plain if isinstance(each, tree.Local)}
    if _carried(loop.body, names, set()) is None:
        return LoopPlan(False, reason="an iteration uses what the one before it computed")
    if not _own_elements(loop, inner, names, same):
        return LoopPlan(False, reason="an iteration may use elements that another one writes")
    return LoopPlan(True, accumulators)


def accumulation(node: Stmt) -> tuple[tree.Local | tree.Scalar, str, Expr] | None:
    """Target, operation and value of a statement `target = target op value`."""
    if not isinstance(node, tree.Assign) or not isinstance(node.target, tree.Local | tree.Scalar):
        return None
    target, value = node.target, node.value
    if isinstance(value, tree.Binary) and value.op in ACCUMULATED:
        if value.left == target:
            return target, value.op, value.right
        if value.right == target and value.op != "-":
            return target, value.op, value.left
    if isinstance(value, tree.Call) and value.name in ("min", "max") and target in value.parts:
        left, right = value.parts
        return target, value.name, right if left == target else left
    return None


def _accumulators(loop: tree.For) -> dict[tree.Local | tree.Scalar, str]:
    found: dict[tree.Local | tree.Scalar, str] = {}
    uses: dict[tree.Local | tree.Scalar, int] = {}
    own: dict[tree.Local | tree.Scalar, int] = {}
    for node in tree.walk(loop.body):
        if isinstance(node, tree.Local | tree.Scalar):
            uses[node] = uses.get(node, 0) + 1
        accumulated = accumulation(node) if isinstance(node, tree.Assign) else None
        if accumulated is not None:
            target, op, value = accumulated
            if found.setdefault(target, op) != op or target in tree.walk(value):
                own[target] = -(1 << 30)
            own[target] = own.get(target, 0) + 2  # as target and as operand
    return {target: op for target, op in found.items() if uses[target] == own[target]}


def _carried(body: Body, names: set[str], defined: set[str]) -> set[str] | None:
    """The names defined after the body, or None where one is read before the same iteration set it."""
    defined = set(defined)
    for node in body:
        if isinstance(node, tree.Assign):
            if _reads(node.value, names - defined) or (
                isinstance(node.target, tree.Item) and _reads(node.target, names - defined)
            ):
                return None
            if isinstance(node.target, tree.Local):
                defined.add(node.target.name)
        elif isinstance(node, tree.If):
            yes, no = _carried(node.yes, names, defined), _carried(node.no, names, defined)
            if _reads(node.test, names - defined) or yes is None or no is None:
                return None
            defined |= yes & no
    return defined


def _reads(node: Expr, names: set[str]) -> bool:
    return any(isinstance(each, tree.Local) and each.name in names for each in tree.walk(node))


def _own_elements(
    loop: tree.For, inner: list[tree.Node], varying: set[str], same: Callable[[str], str]
) -> bool:
    """Whether each written field is used by each iteration at one element of its own."""
    places: dict[str, set[tuple[Expr, Expr | None]]] = {}
    written: set[str] = set()
    for node in inner:
        if isinstance(node, tree.Item):
            places.setdefault(same(node.field), set()).add((node.index, node.row))
        if isinstance(node, tree.Assign) and isinstance(node.target, tree.Item):
            written.add(same(node.target.field))
    for name in written:
        if len(places[name]) != 1:
            return False
        ((index, row),) = places[name]
        if row is not None and _varies(row, loop.variable, varying):
            return False
        if not _injective(index, loop.variable, varying):
            return False
    return True


def _varies(node: Expr, variable: str, varying: set[str]) -> bool:
    return _reads(node, {variable, *varying}) or any(isinstance(each, tree.Item) for each in tree.walk(node))


def _injective(index: Expr, variable: str, varying: set[str]) -> bool:
    """Whether the index is a multiple of the variable, other than 0, plus what does not change in the loop."""
    factor = _factor(index, variable, varying)
    return factor is not None and factor != 0


def _factor(node: Expr, variable: str, varying: set[str]) -> int | None:
    if isinstance(node, tree.Local) and node.name == variable:
        return 1
    if not _varies(node, variable, varying):
        return 0
    if isinstance(node, tree.Unary) and node.op in "+-":
        inner = _factor(node.value, variable, varying)
        return None if inner is None else inner if node.op == "+" else -inner
    if isinstance(node, tree.Binary) and node.op in "+-":
        left, right = _factor(node.left, variable, varying), _factor(node.right, variable, varying)
        if left is None or right is None:
            return None
        return left + right if node.op == "+" else left - right
    if isinstance(node, tree.Binary) and node.op == "*":
        for constant, other in ((node.left, node.right), (node.right, node.left)):
            if isinstance(constant, tree.Const) and isinstance(constant.value, int):
                inner = _factor(other, variable, varying)
                return None if inner is None else inner * constant.value
    return None
