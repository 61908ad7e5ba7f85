"""Tests of the TensorFlow front end: they run where TensorFlow is installed, by `make test-tensorflow`.

Those of the rules need no TensorFlow: they build captured nodes by hand.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

if importlib.util.find_spec("tensorflow") is None:
    collect_ignore = [path.name for path in Path(__file__).parent.iterdir() if path.name != "rules"]
