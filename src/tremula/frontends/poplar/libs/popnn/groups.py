"""Norms over groups of channels: one statistic for each example of the batch and group.

Group `g` of `n` has the channels `g, g + n, g + 2 n ...`, or neighbouring ones where the option says so. A tensor is
turned so that its groups are the channels of `poplin.norms`; no element moves.
"""

from __future__ import annotations

from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.libs.calls import work_type
from tremula.frontends.poplar.libs.checks import call, need_rank, refuse
from tremula.frontends.poplar.libs.options import check, truth
from tremula.frontends.poplar.libs.poplin.options import Options
from tremula.frontends.poplar.program.programs import Program
from tremula.program.work import Elementwise

OPTION = "groupNormStridedChannelGrouping"


def strided(where: str, options: Options | None) -> bool:
    """Whether the channels of a group lie apart, which they do by default."""
    check(where, options or {}, (OPTION,))
    return truth(where, options or {}, OPTION, True)


def grouped(where: str, values: View, groups: int, apart: bool) -> View:
    """A tensor turned so that dimension 1 counts examples and groups."""
    if values.rank < 2:
        raise refuse(
            where, f"a tensor of shape {list(values.shape)} has no channels: two dimensions are needed"
        )
    batch, channels, *field = values.shape
    if groups < 1 or channels % groups:
        raise refuse(where, f"{channels} channels cannot be divided into {groups} groups")
    members = channels // groups
    if apart:
        split = values.reshape((batch, members, groups, *field))
        order = (1, 0, 2)
    else:
        split = values.reshape((batch, groups, members, *field))
        order = (2, 0, 1)
    turned = split.dim_shuffle((*order, *range(3, 3 + len(field))))
    return turned.reshape((members, batch * groups, *field))


def ungrouped(values: View, batch: int, apart: bool) -> View:
    """The same tensor turned back."""
    members, both, *field = values.shape
    groups = both // batch
    split = values.reshape((members, batch, groups, *field))
    order = (1, 0, 2) if apart else (1, 2, 0)
    turned = split.dim_shuffle((*order, *range(3, 3 + len(field))))
    return turned.reshape((batch, members * groups, *field))


def groups_of(where: str, values: View, statistic: View) -> int:
    """How many groups a tensor of statistics is for."""
    if not values.shape[0] or statistic.elements % values.shape[0]:
        raise refuse(
            where,
            f"{statistic.elements} statistics are not the same number for each of {values.shape[0]} examples",
        )
    return statistic.elements // values.shape[0]


def update(
    deltas: tuple[View, View], scale: float | View, values: tuple[View, View], prog: Program, debug: str
) -> None:
    """Add scaled gradients to `gamma` and `beta`."""
    for delta, value in zip(deltas, values, strict=True):
        need_rank("normParamUpdate", "parameter", value, 1)
        if delta.elements != value.elements:
            raise refuse(
                "normParamUpdate", f"{delta.elements} gradients do not fit {value.elements} parameters"
            )
        work = Elementwise("scaled_add", value.elements, work_type(value.type), operands=2, in_place=True)
        inputs = [delta.flatten(), value, *([scale] if isinstance(scale, View) else [])]
        plain = {} if isinstance(scale, View) else {"scale": float(scale)}
        call(
            prog,
            "poplin.convolutionBiasUpdate",
            [_row(inputs[0]), *inputs[1:]],
            [value],
            [work],
            debug,
            **plain,
        )


def _row(view: View) -> View:
    """A vector as the only example of a batch of channels."""
    return view.reshape((1, view.elements))
