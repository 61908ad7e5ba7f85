"""All vertices of convolutions by name, and that none is faster than its own peak."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tremula.hardware.catalogue import chip
from tremula.plan.vertices.amp import amp_kinds
from tremula.plan.vertices.arrays import array, slowest_worker
from tremula.plan.vertices.hmac import hmac_kinds
from tremula.plan.vertices.kind import Loops, Points, VertexKind
from tremula.plan.vertices.outer_product import outer_product_kinds
from tremula.plan.vertices.registry import VERTICES, register, vertex_cycles
from tremula.plan.vertices.slic import WINDOW, Slic, slic_kinds
from tremula.plan.vertices.vmac import Vmac, vmac_kinds


def all_kinds() -> list[VertexKind]:
    kinds: list[VertexKind] = []
    for name, dtype, partials in (
        ("mk2", "fp16", "fp16"),
        ("mk2", "fp16", "fp32"),
        ("mk1", "fp16", "fp16"),
        ("mk2", "fp32", "fp32"),
        ("c600", "fp8", "fp16"),
    ):
        here = chip(name)
        kinds += amp_kinds(here, dtype, partials)
        kinds += slic_kinds(here, dtype, partials)
        if dtype != "fp8":
            kinds += hmac_kinds(here, dtype, partials, 24, may_be_1x1=True)
            kinds += vmac_kinds(here, dtype, partials)
            kinds += outer_product_kinds(here, dtype, partials, 1, 1)
    return kinds


@given(
    st.sampled_from(all_kinds()), st.integers(1, 40), st.integers(1, 60), st.integers(1, 4), st.integers(1, 6),
    st.integers(1, 3), st.integers(1, 3), st.integers(1, 3),
)  # fmt: skip
def test_no_vertex_is_faster_than_its_peak(
    kind: VertexKind, rows: int, width: int, high: int, wide: int, groups: int, ins: int, outs: int
) -> None:
    if isinstance(kind, (Slic, Vmac)):
        ins = outs = 1
    if kind.name == "outer product":
        high = wide = ins = 1
    points = Points(array(rows), array(width), array(rows * width), wide, 1)
    inner = 1.0 if isinstance(kind, Vmac) else float(wide)
    loops = Loops(array(high), array(inner), array(groups), array(ins), array(outs))
    cycles = float(kind.cycles(kind.field(points), loops)[0])
    positions = high * (-(-wide // WINDOW) * WINDOW if isinstance(kind, Slic) else wide)
    macs = (
        rows
        * width
        * positions
        * groups
        * kind.conv_groups
        * ins
        * kind.in_channels
        * outs
        * kind.out_channels
    )
    assert cycles >= macs / kind.macs_per_cycle


@given(st.integers(1, 30), st.integers(1, 30))
def test_workers_together_walk_all_points(rows: int, width: int) -> None:
    most, least = slowest_worker(rows, width, 6, lambda length: length, 0.0)
    assert -(-rows * width // 6) <= most[0] + 1
    assert most[0] == -(-rows * width // 6)
    assert least[0] == rows * width // 6


def test_vertices_are_found_by_name() -> None:
    assert {"amp_1x1", "amp_nx1", "slic", "hmac", "vmac", "outer_product", "reduce"} <= set(VERTICES)
    cycles = vertex_cycles("amp_1x1", chip("bow"), points=2048, in_channels=16, out_channels=16)
    assert cycles == 8521


def test_a_wrong_name_or_parameter_is_named() -> None:
    with pytest.raises(KeyError, match=r"no vertex is called 'amp'; there are .*amp_1x1"):
        vertex_cycles("amp", chip("bow"))
    with pytest.raises(TypeError, match=r"'reduce'.*depth.*it takes"):
        vertex_cycles("reduce", chip("bow"), outputs=4, depths=2)
    with pytest.raises(ValueError, match="registered already"):
        register("reduce", lambda chip: 0.0)
