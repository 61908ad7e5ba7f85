"""Tests of the TensorFlow front end: they run where TensorFlow is installed, by `make test-tensorflow`."""

from __future__ import annotations

import importlib.util
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

if importlib.util.find_spec("tensorflow") is None:
    collect_ignore_glob = ["*"]
