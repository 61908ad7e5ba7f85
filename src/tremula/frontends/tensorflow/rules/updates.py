"""Variables written: assignments, and the ops that update a variable by an optimizer's rule.

An update is the passes that the same rule costs when a program writes it as small ops, which `fusion` puts together:
one pass for each variable written, reading what it needs. The counts of operands are of tensors as large as the
variable; learning rates and decays are scalars, which a pass loads once.
"""

from __future__ import annotations

from typing import NamedTuple

from tremula.frontends.tensorflow.capture.nodes import Node
from tremula.frontends.tensorflow.rules.call import Call, Operand
from tremula.lowering.lookups import Rows
from tremula.lowering.rearrangement import rearranged
from tremula.program.lowered import Lowered
from tremula.program.work import Elementwise, Work

#: assignments: what is done with the value and the variable
ASSIGNMENTS = {
    "AssignVariableOp": (), "AssignAddVariableOp": ("add",), "AssignSubVariableOp": ("sub",),
    "Assign": (), "AssignAdd": ("add",), "AssignSub": ("sub",),
}  # fmt: skip


class _Pass(NamedTuple):
    """One pass over a variable."""

    operation: str
    operands: int


def _passes(text: str) -> tuple[_Pass, ...]:
    """`operation/operands` for each pass."""
    found = []
    for word in text.split():
        operation, _, operands = word.partition("/")
        found.append(_Pass(operation, int(operands)))
    return tuple(found)


#: first the passes over the state, then that over the variable
RULES = {
    name: _passes(text)
    for name, text in {
        "GradientDescent": "mul+sub/2",
        "ProximalGradientDescent": "mul+sub+abs+sub+max+sign+mul/2",
        "Momentum": "mul+add/2 mul+sub/2",
        "KerasMomentum": "mul+mul+sub/2 add/2",
        "Adam": "sub+mul+add/2 square+sub+mul+add/2 sqrt+add+div+mul+sub/3",
        "AdamWithAmsgrad": "sub+mul+add/2 square+sub+mul+add/2 max/2 sqrt+add+div+mul+sub/3",
        "AdaMax": "sub+mul+add/2 abs+mul+max/2 add+div+mul+sub/3",
        "Adagrad": "square+add/2 rsqrt+mul+mul+sub/3",
        "AdagradV2": "square+add/2 sqrt+add+div+mul+sub/3",
        "AdagradDA": "add/2 square+add/2 sign+abs+sub+max+mul+sqrt+div/3",
        "ProximalAdagrad": "square+add/2 rsqrt+mul+mul+sub+abs+sub+max+sign+mul/3",
        "Adadelta": "square+mul+mul+add/2 add+sqrt+add+rsqrt+mul+mul/3 square+mul+mul+add/2 mul+sub/2",
        "RMSProp": "square+sub+mul+add/2 mul+add+rsqrt+mul+mul+add/3 sub/2",
        "CenteredRMSProp": "square+sub+mul+add/2 sub+mul+add/2 mul+square+sub+add+rsqrt+mul+mul+add/4 sub/2",
        "Ftrl": "square+add/2 pow+pow+sub+div+mul+sub+add/4 sign+mul+sub+pow+div+add+div+abs+gt+select/2",
        "FtrlV2": "square+add/2 pow+pow+sub+div+mul+sub+add/4 sign+mul+sub+pow+div+add+div+abs+gt+select/2",
        "AddSign": "mul+mul+add/2 sign+sign+mul+mul+add+mul+mul+sub/3",
        "PowerSign": "mul+mul+add/2 sign+sign+mul+mul+exp+mul+mul+sub/3",
    }.items()
}

_NESTEROV = {
    "Momentum": _passes("mul+add/2 mul+mul+add+sub/3"),
    "KerasMomentum": _passes("mul+mul+sub/2 mul+mul+sub+add/3"),
}

_DENSE, _SPARSE = "ResourceApply", "ResourceSparseApply"

NAMES = frozenset(prefix + name for prefix in (_DENSE, _SPARSE, "Apply", "SparseApply") for name in RULES)


def rule_of(node: Node) -> tuple[_Pass, ...]:
    """The passes of an optimizer's op."""
    name = node.type.removeprefix("Resource").removeprefix("Sparse").removeprefix("Apply")
    if node.attribute("use_nesterov", False) and name in _NESTEROV:
        return _NESTEROV[name]
    return RULES[name]


def is_dense_update(node: Node) -> bool:
    """Whether an optimizer's op works on the whole variable."""
    return node.type in NAMES and "Sparse" not in node.type


def update(call: Call, first: tuple[str, ...] = ()) -> list[Work]:
    """The passes of ResourceApply*; `first` is done to the gradient on the way into the first pass."""
    variable = call.given(0)
    works: list[Work] = []
    for number, (operation, operands) in enumerate(rule_of(call.node)):
        names = (*first, operation) if number == 0 else (operation,)
        works.append(
            Elementwise("+".join(names), variable.elements, variable.dtype, operands=operands, in_place=True)
        )
    return works


def sparse_update(call: Call) -> Lowered:
    """ResourceSparseApply*: rows of variable and state are looked up, changed and written back."""
    variable = call.given(0)
    rows, indices = _rows_of(call, variable)
    works: list[Work] = []
    changed = {"Momentum": 2, "KerasMomentum": 2, "Adagrad": 2, "AdagradV2": 2}
    name = call.type.removeprefix("Resource").removeprefix("SparseApply")
    tensors = changed.get(name, len(rule_of(call.node)))
    works += [rows.gather(variable.dtype, call.proportion)] * tensors
    elements = rows.width * indices
    works += [
        Elementwise(operation, elements, variable.dtype, operands=operands, in_place=True)
        for operation, operands in rule_of(call.node)
    ]
    works += [rows.scatter(variable.dtype, "set", call.proportion)] * tensors
    return call.lowered(works)


def _rows_of(call: Call, variable: Operand) -> tuple[Rows, int]:
    whole = [o for o in call.inputs if o.dtype.startswith("int") or o.dtype.startswith("uint")]
    number = max((o.elements for o in whole), default=1)
    return Rows(variable.extent(0), variable.inner(0), number), number


def copied(call: Call) -> Lowered:
    """A value that no pass makes is copied into the variable."""
    variable, value = call.given(0), call.given(1)
    maker = call.node.inputs[1].node
    if maker is not None and maker.type.startswith("FusedBatchNorm"):
        return call.lowered((), "view", reads=())  # running statistics, which the norm changes in place
    if value.shape != variable.shape:
        return call.lowered((rearranged(value, value),), "copy", reads=(call.node.inputs[1].name,))
    return call.lowered((rearranged(value, variable),), "copy", reads=(call.node.inputs[1].name,))
