"""Printed tensors look as programs and their tests expect them."""

from __future__ import annotations

import numpy as np
import pytest

from tremula.frontends.poplar.execute.printing import PrintFormat, format_of, text_of
from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.program.programs import PrintTensor, Sequence_
from tremula.frontends.poplar.types import FLOAT, INT

from ..conftest import placed, started


@pytest.mark.parametrize(
    ("array", "text"),
    [
        (np.array([1, 1.5], np.float32), "[1.0000000 1.5000000]"),
        (np.arange(3, dtype=np.int32), "[0 1 2]"),
        (np.array(2.5, np.float16), "2.5000000"),
        (np.arange(4, dtype=np.uint8).reshape(2, 2), "[\n  [0 1]\n  [2 3]\n]"),
        (np.arange(4, dtype=np.int32).reshape(2, 1, 2), "[\n  [\n    [0 1]\n  ]\n  [\n    [2 3]\n  ]\n]"),
        (np.zeros((0,), np.int32), "[]"),
        (np.array([True, False]), "[1 0]"),
    ],
)
def test_elements_stand_in_brackets(array: np.ndarray, text: str) -> None:
    assert text_of(array) == text


def test_a_format_changes_what_it_names() -> None:
    chosen = format_of({"digits": 2, "separator": ", ", "openBracket": "{", "closeBracket": "}"})
    assert text_of(np.array([1.0, 2.5]), chosen) == "{1.00, 2.50}"
    assert text_of(np.arange(10), PrintFormat(summarise_threshold=5, edge_items=2)) == "[0 1 ... 8 9]"
    assert text_of(np.array([1e10]), format_of({"floatFormat": "Scientific", "digits": 1})) == "[1.0e+10]"


def test_programs_print_to_stderr_or_where_the_user_wants(
    graph: Graph, capsys: pytest.CaptureFixture[str]
) -> None:
    numbers, matrix = placed(graph, INT, (3,)), placed(graph, FLOAT, (2, 1))
    graph.set_initial_value(numbers, [1, -2, 3])
    engine = started(graph, Sequence_(PrintTensor("numbers", numbers), PrintTensor("m", matrix)))
    engine.run()
    assert capsys.readouterr().err == "numbers: [1 -2 3]\nm: [\n  [0.0000000]\n  [0.0000000]\n]\n"
    said: list[str] = []
    engine.set_print_stream(said.append)
    engine.run()
    assert "".join(said).startswith("numbers: [1 -2 3]\n")


def test_long_rows_go_on_on_the_next_line() -> None:
    chosen = PrintFormat(max_line_width=9)
    assert text_of(np.arange(8), chosen) == "[0 1 2 3\n 4 5 6 7]"
    assert text_of(np.arange(4).reshape(2, 2) + 1000, chosen) == "[\n  [1000\n   1001]\n  [1002\n   1003]\n]"
