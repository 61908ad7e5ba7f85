"""Tests of the ONNX front end need onnx, which `make test` installs."""

from __future__ import annotations

import importlib.util

collect_ignore_glob = [] if importlib.util.find_spec("onnx") else ["test_*.py"]
