"""A session has the threads that its configuration asks for, also when compiled programs were built before it."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import os
import tensorflow.compat.v1 as tf
from tensorflow.python import ipu

tf.disable_v2_behavior()

def threads():
    return len(os.listdir("/proc/self/task"))

with ipu.scopes.ipu_scope("/device:IPU:0"):
    run = ipu.ipu_compiler.compile(lambda: ipu.loops.repeat(2, lambda x: x + 1.0, [tf.constant(0.0)]))
before = threads()
with tf.Session(config=tf.ConfigProto(intra_op_parallelism_threads=37, inter_op_parallelism_threads=1)) as session:
    print(session.run(run), threads() - before)
"""


def test_a_session_gets_its_threads_after_a_program_was_compiled() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    result, more = done.stdout.split()[-2:]
    assert result == "[2.0]"
    assert int(more) >= 37
