"""torch.ops.poptorch.*: names that programs call directly."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import tremula.frontends.torch.ops.vendor_schemas  # noqa: F401 - defines the ops
from tremula.errors import Error
from tremula.frontends.torch.capture.context import Capture, capturing
from tremula.frontends.torch.capture.stages import AutoStages
from tremula.frontends.torch.graphs.program import record_of
from tremula.program.stages import Mode

OPS = torch.ops.poptorch
X = torch.arange(4.0)


def test_annotations_do_nothing_outside_a_capture() -> None:
    OPS.push_name_scope("a")
    OPS.pop_name_scope()
    OPS.begin_ipu_block(0, 0, 0)
    OPS.end_ipu_block()
    OPS.set_attribute("a", "k", "v")
    OPS.clear_attribute("a", "k")
    OPS.optimizer_group(0, [X])
    OPS.begin_multi_conv()
    OPS.end_multi_conv(None, None, None, None, None, None)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("nop", ()),
        ("recomputation_checkpoint", ()),
        ("set_available_memory", (0.3,)),
        ("set_matmul_serialization", ("none", 0, False)),
        ("set_overlap_for_input", ("no_overlap",)),
        ("set_overlap_for_output", ("no_overlap",)),
        ("ipu_print_tensor", ("t", 1, 1000, 3, 80, 4, 0, " ", "(", ")")),
    ],
)
def test_identities_pass_values_and_gradients(name: str, arguments: tuple[Any, ...]) -> None:
    x = X.clone().requires_grad_()
    result = getattr(OPS, name)(x, *arguments)
    assert torch.equal(result, x)
    (result * 3).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [3.0] * 4


def test_scopes_blocks_and_attributes_are_recorded(record: Any) -> None:
    def model(weight: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        OPS.push_name_scope("outer")
        OPS.begin_ipu_block(1, 0, 2)
        OPS.set_attribute("__outline", "layer", "one")
        x = OPS.nop(x)
        OPS.clear_attribute("__outline", "layer")
        OPS.pop_name_scope()
        return x * weight

    recorded = record(model, X, rule=AutoStages(Mode.PIPELINED, same_as_ipu=True))
    alias, mul = (
        record_of(node).annotation
        for node in recorded.graph.graph.nodes
        if any(name in node.name for name in ("alias", "mul"))
    )
    assert alias.scope == ("outer",)
    assert mul.scope == ()
    assert (alias.placement.ipu, alias.placement.stage) == (2, 1)
    assert alias.attributes == {"kind": "nop", "__outline.layer": "one"}
    assert mul.attributes == {}


def test_clearing_what_is_not_set_is_an_error(record: Any) -> None:
    def model(weight: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        OPS.clear_attribute("a", "k")
        return x

    with pytest.raises(Error, match="'k' of attribute 'a' is not set"):
        record(model, X)


def test_internal_cast(record: Any) -> None:
    assert OPS.internal_cast(X.int(), "FLOAT16").dtype == torch.float32
    assert OPS.internal_cast(X, "INT32").dtype == torch.float32
    assert record(lambda w, x: OPS.internal_cast(x, "FLOAT16"), X)(X)[0].dtype == torch.float16
    with pytest.raises(Error, match="unknown type BIGNUM"):
        OPS.internal_cast(X, "BIGNUM")


def test_identity_loss_marks_the_loss(record: Any) -> None:
    recorded = record(lambda w, x: OPS.identity_loss(x * w, 1), X, training=True)
    result, gradient = recorded(X)
    assert (result.item(), gradient.item()) == (3.0, 1.5)
    assert [OPS.identity_loss(X, kind).tolist() for kind in (0, 1, 2)] == [6.0, 1.5, X.tolist()]


def test_halves_of_pairs_are_refused_in_a_capture(record: Any) -> None:
    assert torch.equal(OPS.end_for_loop([X], [X], 3)[0], X)
    with pytest.raises(Error, match=r"call poptorch\.for_loop"):
        record(lambda w, x: OPS.end_for_loop([x], [x], 3)[0], X)


def test_computing_ops_agree_with_the_functions(record: Any) -> None:
    start = torch.tensor([1])
    assert OPS.dynamic_slice(X, 0, start, 2, 1).tolist() == [1.0, 2.0]
    assert OPS.dynamic_update(X, X[:1], 0, start, 1).tolist() == [0.0, 0.0, 2.0, 3.0]
    assert OPS.fps(X.reshape(4, 1), [0, 4], 0.5, False).tolist() == [0, 3]
    points = X.reshape(4, 1)
    assert OPS.nearest_batch_list(points, points.flip(0), [], []).tolist() == [3, 2, 1, 0]
    assert [
        t.shape for t in OPS.ctc_beam_search_decoder(torch.zeros(3, 1, 2), torch.tensor([3]), 0, 4, 2)
    ] == [
        (1, 2),
        (1, 2),
        (1, 2, 3),
    ]
    assert OPS.custom_operation([X], "A", "b", 1, 1, [X], "")[0].tolist() == [0.0] * 4


def test_work_under_inference_mode(record: Any) -> None:
    with torch.inference_mode():
        OPS.push_name_scope("a")
        assert torch.equal(OPS.nop(X), X)


def test_convolution_groups(record: Any) -> None:
    conv = torch.nn.functional.conv1d
    end = (None,) * 6

    def model(weight: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        OPS.begin_multi_conv()
        grouped = conv(x, x)
        OPS.end_multi_conv(*end)
        return grouped + conv(x, x)

    x = torch.ones(1, 1, 4)
    first, second = record(model, x).attributes("convolution")
    assert first["multi_conv"].keys() == {"group"}
    assert second == {}

    def left_open(weight: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        OPS.begin_multi_conv()
        OPS.begin_multi_conv()
        return x

    with pytest.raises(Error, match="Nested"):
        record(left_open, x)
    with pytest.raises(Error, match="Unexpected end_multi_conv"):
        record(lambda w, x: OPS.end_multi_conv(*end) or x, x)
    record(model, x)  # what a failed capture left open is gone


def test_settings_that_come_too_late_are_said_to_have_no_effect(capfd: pytest.CaptureFixture[str]) -> None:
    with capturing(Capture(training=False)):
        OPS.begin_multi_conv()
        OPS.end_multi_conv([0.5], None, None, None, None, None)
    assert "end_multi_conv with settings has no effect here" in capfd.readouterr().err
