"""Mistakes of C++ programs are thrown as the documented classes, with what is wrong and where."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.timeout(600)


@pytest.mark.parametrize(
    ("mistake", "kind", "words"),
    [
        ("slice", "tensor_creation_error", "[2, 9)"),
        ("tile", "invalid_tile_mapping", "tile 4 does not exist: the graph has 4 tiles (errors.cpp:"),
        ("vertex type", "unknown_vertex_type", "'Thrice'"),
        ("field", "unknown_field", "(errors.cpp:"),
        ("element type", "graph_connection_error", "holds float, the tensor int (errors.cpp:"),
        ("copy", "control_program_error", "the numbers of elements differ (errors.cpp:"),
        ("option", "invalid_option", "no.such.option"),
        ("unmapped", "invalid_tile_mapping", "numbers"),
        ("codelet", "graph_program_compilation_error", "y"),
        ("concat", "type_error", "of type int"),
        ("stream twice", "stream_connection_error", "(addHostToDeviceFIFO)"),
        ("not loaded", "poplar_error", "load"),
        ("not connected", "stream_connection_error", "'in'"),
        ("small ring", "stream_connection_error", "16 bytes"),
        ("handle", "unknown_stream", "'nothing'"),
        ("size", "tensor_io_state_error", "16 bytes"),
        ("abort", "application_runtime_error", "stop here"),
        ("nothing", None, ""),
    ],
)
def test_each_mistake_has_its_class(kit: Any, mistake: str, kind: str | None, words: str) -> None:
    done = kit.run(kit.program("errors"), mistake)
    assert done.returncode == 0, done.stderr
    first, _, rest = done.stdout.partition("\n")
    assert first == (kind or "no error")
    assert words in rest
