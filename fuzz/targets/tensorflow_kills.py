"""SIGKILL of one of two instances that train one TensorFlow model, at a random moment from its start on.

The run ends within seconds and says which instance ended; no process is left, the IPUs are free, and the newest
checkpoint is whole. It needs TensorFlow, so it is not among the targets that run by default:
`make fuzz-tensorflow CASES=200`.
"""

from __future__ import annotations

import os
import random
import secrets
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fuzz import processes
from fuzz.target import Events, LeftBehindError
from fuzz.targets.kills import instance_process, start_run, take_all

#: from the start of an instance to its end at the latest
_TRAINING_SECONDS = 10.0
#: a run has to be over so long after one of its instances was killed
_END_SECONDS = 5.0

_PROGRAM = """
import os, pathlib, sys
place = pathlib.Path(sys.argv[1])
mine = place / os.environ["RANK"]
mine.with_suffix(".part").write_text(str(os.getpid()))
mine.with_suffix(".part").rename(mine)
import numpy as np
import popdist, popdist.tensorflow
import tensorflow.compat.v1 as tf
from tensorflow.python import ipu
tf.disable_v2_behavior()
popdist.init()
config = ipu.config.IPUConfig()
popdist.tensorflow.set_ipu_config(config, ipus_per_replica=1)
config.configure_ipu_system()
data = np.random.default_rng(popdist.getInstanceIndex()).random((64, 16), np.float32)
infeed = ipu.ipu_infeed_queue.IPUInfeedQueue(tf.data.Dataset.from_tensor_slices(data).repeat().batch(8, True))

def body(x):
    with tf.variable_scope("model", use_resource=True):
        weight = tf.get_variable("weight", [16, 256], initializer=tf.ones_initializer())
    loss = tf.reduce_mean(tf.square(tf.matmul(x, weight) - 1.0))
    return ipu.optimizers.CrossReplicaOptimizer(tf.train.AdamOptimizer(0.01)).minimize(loss)

with ipu.scopes.ipu_scope("/device:IPU:0"):
    run = ipu.ipu_compiler.compile(lambda: ipu.loops.repeat(5, body, [], infeed))
saver = tf.train.Saver(max_to_keep=3)
with tf.Session() as session:
    session.run([infeed.initializer, tf.global_variables_initializer()])
    for step in range(1_000_000):
        session.run(run)
        if popdist.getInstanceIndex() == 0:
            saver.save(session, str(place / "model"), global_step=step, write_meta_graph=False)
"""


def make(folder: Path) -> None:
    """The program of the instances."""
    (folder / "train.py").write_text(_PROGRAM)


def begin(folder: Path) -> Callable[[int, random.Random], str]:
    """Cases run one after the other in this process, which has imported TensorFlow to read checkpoints."""
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow as tf

    place = folder / "killed"

    def attempt(number: int, rng: random.Random) -> str:
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(mode=0o700)
        return kill_instance(folder / "valid" / "train.py", place, rng, tf)

    return attempt


def kill_instance(program: Path, place: Path, rng: random.Random, tf: Any) -> str:
    """Kill one of two instances."""
    mark = f"fuzz-{secrets.token_hex(8)}"
    run = start_run(program, place, mark)
    number = rng.randrange(2)
    victim = instance_process(place / str(number), run)
    time.sleep(rng.uniform(0, _TRAINING_SECONDS))
    os.kill(victim, signal.SIGKILL)
    killed = time.monotonic()
    try:
        code = run.wait(4 * _END_SECONDS)
    except subprocess.TimeoutExpired:
        run.kill()
        raise LeftBehindError(f"the run went on after instance {number} was killed") from None
    seconds = time.monotonic() - killed
    left = processes.left(mark, _END_SECONDS)
    if left:
        raise LeftBehindError(f"instance {number} killed: {'; '.join(left)}")
    said = (place / "output").read_text(errors="replace")
    assert code == 128 + signal.SIGKILL, f"poprun ended with {code}: {said[-300:]}"
    assert seconds <= _END_SECONDS, f"the run ended {seconds:.1f} s after instance {number} was killed"
    assert f"Instance {number} " in said, f"the reason is not told: {said[-300:]}"
    take_all()
    return f"with a checkpoint: {_check_newest(place, tf)}"


def _check_newest(place: Path, tf: Any) -> bool:
    """Read the newest checkpoint, if there is one."""
    newest = tf.train.latest_checkpoint(str(place))
    if newest is None:
        return False
    reader = tf.train.load_checkpoint(newest)
    for name in reader.get_variable_to_shape_map():
        values = reader.get_tensor(name)
        assert (values == values).all(), f"{newest}: {name} is damaged"
    return True


TENSORFLOW_KILLS = Events("tensorflow_kills", make, begin, batch=4)
