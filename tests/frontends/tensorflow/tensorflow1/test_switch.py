"""Programs for TensorFlow 1: TREMULA_TENSORFLOW=1 gives them the interface that they expect, and others a hint."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import numpy as np
import tensorflow as tf
import tensorflow.keras
from tensorflow.contrib import rnn
from tensorflow.contrib.compiler import xla
from tensorflow.contrib.framework.python.framework.checkpoint_utils import load_checkpoint
from tensorflow.python import ipu

assert tf.__version__ == "1.15.5" and not tf.executing_eagerly()
assert "_v1" in tensorflow.keras.__file__
assert np.float is float  # numpy of that time
assert rnn.LSTMCell is tf.nn.rnn_cell.LSTMCell

x = tf.placeholder(tf.float32, [2, 3])
assert x.shape[0].value == 2


def net(values):
    with tf.variable_scope("dense", use_resource=True):
        weight = tf.get_variable("weight", [3, 1], initializer=tf.contrib.layers.xavier_initializer(seed=1))
    return tf.matmul(values, weight)


with ipu.scopes.ipu_scope("/device:IPU:0"):
    (result,) = ipu.ipu_compiler.compile(net, [x])

options = ipu.utils.create_ipu_config()
options = ipu.utils.auto_select_ipus(options, 2)
ipu.utils.configure_ipu_system(options)
ipu.utils.move_variable_initialization_to_cpu()
saver = tf.train.Saver()
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    (weight,) = session.run(tf.trainable_variables())
    np.testing.assert_allclose(session.run(result, {x: np.ones((2, 3))}), np.ones((2, 3)) @ weight, rtol=1e-6)
    saver.save(session, "model")
assert load_checkpoint("model").has_tensor("dense/weight")
try:
    tf.contrib.layers.batch_norm
except AttributeError as problem:
    assert "tf.contrib.layers.batch_norm" in str(problem) and "xavier_initializer" in str(problem)
else:
    raise AssertionError
print("done")
"""


def run(
    program: str, folder: Path, *, switch: str = "2", words: tuple[str, ...] = ()
) -> tuple[int, str, str]:
    path = folder / "program.py"
    path.write_text(program)
    environment = {**os.environ, "TREMULA_TENSORFLOW": switch, "TF_CPP_MIN_LOG_LEVEL": "2"}
    ended = subprocess.run(
        [sys.executable, *words, str(path)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return ended.returncode, ended.stdout, ended.stderr


def test_a_program_for_tensorflow_1_runs_with_the_switch(tmp_path: Path) -> None:
    code, out, error = run(PROGRAM, tmp_path, switch="1")
    assert (code, out) == (0, "done\n"), error


def test_tremula_run_sets_the_switch_and_passes_arguments_on(tmp_path: Path) -> None:
    program = "import sys, tensorflow as tf; print(tf.__version__, sys.argv[1:])"
    path = tmp_path / "program.py"
    path.write_text(program)
    command = [sys.executable, "-m", "tremula.cli", "run", "--tf1", str(path), "--epochs", "3", "--tf1"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 2  # `--tf1` behind the program's own arguments may be meant for either
    command.insert(command.index(str(path)), "--")
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert ended.stdout == "1.15.5 ['--epochs', '3', '--tf1']\n"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            "import tensorflow as tf; from tensorflow.python import ipu; tf.placeholder(tf.float32)",
            "tf.placeholder",
        ),
        (
            "import tensorflow as tf; from tensorflow.python import ipu; tf.train.AdamOptimizer()",
            "tf.train.AdamOptimizer",
        ),
        (
            "import tensorflow.compat.v1 as tf; from tensorflow.python import ipu; tf.placeholder(tf.float32)",
            "tf.disable_v2_behavior()",
        ),
        ("import tensorflow.contrib", "tensorflow.contrib"),
    ],
)
def test_a_program_that_needs_the_switch_is_told_so(line: str, words: str, tmp_path: Path) -> None:
    code, _, error = run(line, tmp_path)
    assert code == 1
    last = error.splitlines()[-1]
    assert "TREMULA_TENSORFLOW=1" in last
    assert "tremula run --tf1" in last
    assert words in last


def test_other_errors_get_no_hint(tmp_path: Path) -> None:
    program = "import tensorflow as tf; from tensorflow.python import ipu; tf.no_such_name"
    assert "TREMULA_TENSORFLOW" not in run(program, tmp_path)[2]


def test_without_the_switch_tensorflow_is_as_it_is(tmp_path: Path) -> None:
    program = (
        "import tensorflow as tf; from tensorflow.python import ipu\n"
        "assert tf.executing_eagerly() and not hasattr(tf, 'placeholder')\n"
    )
    assert run(program, tmp_path)[0] == 0


def test_exports_for_serving_need_eager_execution(tmp_path: Path) -> None:
    program = (
        "import tensorflow as tf; from tensorflow.python import ipu\n"
        "ipu.serving.export_single_step(lambda x: x, 'model', 1)\n"
    )
    code, _, error = run(program, tmp_path, switch="1")
    assert code == 1
    assert (
        "NotImplementedError: Models are exported for serving in programs with eager execution only" in error
    )
    assert not (tmp_path / "model").exists()


def test_a_compiled_program_that_no_session_ran_is_reported(tmp_path: Path) -> None:
    program = (
        "import tensorflow as tf; from tensorflow.python import ipu\n"
        "def my_net(x): return x + 1\n"
        "with ipu.scopes.ipu_scope('/device:IPU:0'):\n"
        "    out = ipu.ipu_compiler.compile(my_net, [tf.constant(1.0)])\n"
    )
    environment = os.environ.pop("TREMULA_SUMMARY", None)
    try:
        _, _, error = run(program, tmp_path, switch="1")
    finally:
        if environment is not None:
            os.environ["TREMULA_SUMMARY"] = environment
    assert "my_net was compiled for an IPU but no session ran it" in error


@pytest.mark.parametrize(("switch", "kind"), [("1", "list"), ("2", "ndarray")])
def test_the_only_output_of_a_pipeline_is_as_in_the_package_that_was_chosen(
    switch: str, kind: str, tmp_path: Path
) -> None:
    program = (
        "import tensorflow.compat.v1 as tf; from tensorflow.python import ipu\n"
        "tf.disable_v2_behavior()\n"
        "outfeed = ipu.ipu_outfeed_queue.IPUOutfeedQueue()\n"
        "stages = [lambda x: x + 1, lambda x: x * 2]\n"
        "def net(x): return ipu.pipelining_ops.pipeline(stages, 4, inputs=[x], outfeed_queue=outfeed)\n"
        "with ipu.scopes.ipu_scope('/device:IPU:0'):\n"
        "    run = ipu.ipu_compiler.compile(net, [tf.constant(1.0)])\n"
        "results = outfeed.dequeue()\n"
        "config = ipu.config.IPUConfig(); config.auto_select_ipus = 2; config.configure_ipu_system()\n"
        "with tf.Session() as session:\n"
        "    session.run(run); print(type(session.run(results)).__name__)\n"
    )
    code, out, error = run(program, tmp_path, switch=switch)
    assert (code, out) == (0, f"{kind}\n"), error
