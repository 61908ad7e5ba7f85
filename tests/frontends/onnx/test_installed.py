"""Whether the tests beside this one run."""

from __future__ import annotations

import pytest


def test_the_package_that_parses_models_is_installed() -> None:
    onnx = pytest.importorskip(
        "onnx", reason="pip install 'tremula[onnx]': no test of ONNX models runs without it"
    )
    assert onnx.ModelProto().ByteSize() == 0
