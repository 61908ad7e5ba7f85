"""Supersteps of plans get the public names of what would run on the tiles."""

from __future__ import annotations

import pytest

from tremula.hardware.catalogue import system
from tremula.plan.planner import Planner
from tremula.plan.vertex_types import ComputeSet, compute_sets
from tremula.program.work import (
    Cast,
    Convolution,
    Elementwise,
    Gather,
    MatMul,
    Norm,
    Pool,
    Random,
    Softmax,
    Unknown,
    Work,
)
from tremula.recording.shares import divided

_CHIP = system("pod16").chip
_PLANNER = Planner(_CHIP)


def _sets(*works: Work) -> list[ComputeSet]:
    found: list[ComputeSet] = []
    for work in works:
        found += compute_sets((work,), _PLANNER.plan(work), _CHIP.worker_contexts)
    return found


def _conv(kernel: int) -> Convolution:
    return Convolution(
        4, 64, 64, (56, 56), (kernel, kernel), (1, 1), ((kernel // 2, kernel // 2),) * 2, (1, 1), (1, 1),
        dtype="fp16", partials="fp16",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("work", "compute_set", "vertex"),
    [
        (MatMul(512, 1024, 1024, dtype="fp16"), "Conv_1/Convolve", "poplin::ConvPartial1x1Out<half,float"),
        (_conv(3), "Conv_3x3/Convolve", "poplin::ConvPartial"),
        (
            Elementwise("relu", 10_000, "fp16"),
            "Nonlinearity",
            "popnn::NonLinearity1D<half,popnn::NonLinearityType::RELU>",
        ),
        (Elementwise("add", 10_000), "Op/Add", "popops::BinaryOp1D<popops::expr::BinaryOpType::ADD,float>"),
        (Cast(10_000, "fp32", "fp16"), "Cast", "popops::Cast1DSingleWorker<float,half>"),
        (Gather(1_000, 64, 128, "fp16"), "multiSlice", "popops::MultiSlice<half>"),
        (Pool("max", 4, 64, (56, 56), (3, 3), (2, 2), "fp16"), "Pool", "popnn::MaxPooling<half>"),
        (Random("dropout", 10_000, "fp16"), "dropout", "poprand::Dropout<half>"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_what_does_the_work_has_its_public_name(work: Work, compute_set: str, vertex: str) -> None:
    found = {each.name: each for each in _sets(work)}
    assert compute_set in found
    assert any(each.type.startswith(vertex) for each in found[compute_set].vertices)
    assert all(
        0 < each.tiles <= _CHIP.tiles and each.count >= each.tiles for each in found[compute_set].vertices
    )


def test_operations_that_are_one_pass_have_a_vertex_each() -> None:
    (found,) = _sets(Elementwise("sqrt+add+div+scaled_add", 10_000, "fp16"))
    assert found.name == "AddTo"
    assert len(found.vertices) == 4
    assert found.count == sum(each.count for each in found.vertices)


def test_names_are_complete() -> None:
    works = (_conv(1), _conv(3), Softmax(64, 512, "fp16"), Norm("layer", 1024, 64, 1024, "fp16"))
    for each in _sets(*works):
        assert not any("{" in vertex.type or "no PopLibs name" in vertex.type for vertex in each.vertices)


def test_what_has_no_public_name_says_so() -> None:
    (found,) = _sets(Unknown("my_op", 1_000, 1_000))
    assert found.vertices[0].type == "(no PopLibs name) my_op<float>"


@pytest.mark.parametrize("weights", [[1.0], [0.0, 0.0], [1.0, 2.0, 3.0], [1e-9, 1e9, 0.0], []])
@pytest.mark.parametrize("total", [0, 1, 7, 10**12])
def test_parts_of_a_whole_sum_to_it(weights: list[float], total: int) -> None:
    parts = divided(total, weights)
    assert int(parts.sum()) == (total if weights else 0)
    assert all(part >= 0 for part in parts)
    assert len(parts) == len(weights)
