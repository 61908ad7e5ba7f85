"""Marks for overlapped transfers: where they may be."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tremula.errors import Error
from tremula.frontends.torch.capture.context import annotated
from tremula.frontends.torch.ops.overlap import INPUT_KIND, OUTPUT_KIND, check_settings, overlap_modes

LOOP = "overlap_accumulation_loop"


def mark_in(x: torch.Tensor) -> torch.Tensor:
    return annotated(x, kind=INPUT_KIND, mode=LOOP)


def mark_out(x: torch.Tensor) -> torch.Tensor:
    return annotated(x, kind=OUTPUT_KIND, mode=LOOP)


def modes(record: Any, function: Any, outputs: int) -> tuple[dict[str, str], dict[int, str]]:
    graph = record(lambda w, x: function(x), torch.ones(1)).graph.graph
    placeholders = [node.name for node in graph.nodes if node.op == "placeholder"]
    return overlap_modes(graph, placeholders[1:], outputs)


def test_input_and_output(record: Any) -> None:
    def both(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = mark_in(x) + 1
        return y, mark_out(y * 2)

    inputs, outputs = modes(record, both, 2)
    assert list(inputs.values()) == [LOOP]
    assert outputs == {1: LOOP}


def test_a_marked_output_may_be_used_elsewhere(record: Any) -> None:
    def before_and_after(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = x + 1
        marked = mark_out(y)
        return marked, y + 1, marked + 1

    assert modes(record, before_and_after, 3)[1] == {0: LOOP}


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: (x + 1, mark_in(x)), "input 0 is marked .* and also used without the mark"),
        (lambda x: mark_in(x + 1), "set_overlap_for_input applied on a node which is not a tensor input"),
        (
            lambda x: mark_out(x + 1) + 1,
            "set_overlap_for_output applied on a node which is not a tensor output",
        ),
    ],
)
def test_misplaced_marks(record: Any, function: Any, message: str) -> None:
    with pytest.raises(Error, match=message):
        modes(record, function, 2)


def test_a_marked_output_is_returned_once(record: Any) -> None:
    def twice(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = x + 1
        return y, mark_out(y)

    with pytest.raises(Error, match="returned more than once"):
        modes(record, twice, 2)


def test_settings() -> None:
    check_settings(["no_overlap"], pipelined=True, io_tiles=0, all_or_sum=False)
    check_settings([LOOP], pipelined=False, io_tiles=32, all_or_sum=True)
    with pytest.raises(Error, match=r"not supported with poptorch\.PipelinedExecution"):
        check_settings([LOOP], pipelined=True, io_tiles=32, all_or_sum=True)
    with pytest.raises(Error, match="No IO tiles allocated"):
        check_settings([LOOP], pipelined=False, io_tiles=0, all_or_sum=True)
    with pytest.raises(Error, match="Unsupported output mode for overlapped IO"):
        check_settings([LOOP], pipelined=False, io_tiles=32, all_or_sum=False)
