"""Tests of the ONNX front end need onnx, which `make test` installs; without it one test says so."""

from __future__ import annotations

import importlib.util
from pathlib import Path

_THERE = importlib.util.find_spec("onnx") is not None
_TESTS = [path.name for path in Path(__file__).parent.glob("test_*.py")]

collect_ignore = [] if _THERE else [name for name in _TESTS if name != "test_installed.py"]
