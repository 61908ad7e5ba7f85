"""The Python blocks of the pages on TensorFlow, in processes of their own: each is a whole program or a part of one."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[3] / "docs"
BLOCKS = [
    block
    for page in ("tensorflow.md", "start-keras.md")
    for block in re.findall(
        r"^```python\n(.*?)^```$", (DOCS / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
]
#: what a block takes for granted
_BEFORE = """
import numpy as np
import tensorflow as tf
x, y = np.random.rand(64, 8).astype(np.float32), np.random.rand(64, 1).astype(np.float32)
def make_model():
    return tf.keras.Sequential([tf.keras.Input((8,)), tf.keras.layers.Dense(1)])
"""


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_blocks_run(number: int, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    # a block that imports TensorFlow itself begins with it: the order of imports is part of what is tested
    given = "import tensorflow" in BLOCKS[number].split("\n\n")[0] and "make_model" not in BLOCKS[number]
    program.write_text(BLOCKS[number] if given else _BEFORE + BLOCKS[number])
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2"}
    ran = subprocess.run(
        [sys.executable, str(program)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
