"""What a run does when its instances train alone, when one is killed, and when one raises."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tremula.machine.reservation import reserve

TRAIN = """
configure()
with ipu.ipu_strategy.IPUStrategy().scope():
    weights = tf.Variable(tf.zeros([4]))

    @tf.function
    def train(steps):
        for _ in tf.range(steps):
            weights.assign_add(ipu.cross_replica_ops.cross_replica_sum(tf.ones([4])))
        return weights.read_value()

    strategy = tf.distribute.get_strategy()
    strategy.run(train, args=[1])
    open(f"pid{instance}.part", "w").write(str(os.getpid()))
    os.rename(f"pid{instance}.part", f"pid{instance}")
"""


def free_again() -> bool:
    reservation = reserve(4)
    if reservation is None:
        return False
    reservation.release()
    return True


def test_a_killed_instance_stops_all(start: Callable[..., Any], tmp_path: Path) -> None:
    run = start(TRAIN + "    while True:\n        strategy.run(train, args=[100])\n")
    places = [tmp_path / f"pid{number}" for number in range(2)]
    deadline = time.monotonic() + 60
    while not all(place.exists() for place in places) and time.monotonic() < deadline:
        time.sleep(0.05)
    os.kill(int(places[1].read_text()), signal.SIGKILL)
    killed = time.monotonic()
    done = run.finish(20)
    assert time.monotonic() - killed < 5
    assert done.code == 128 + signal.SIGKILL
    assert "nstance 1" in done.err
    assert run.left() == []
    assert free_again()


def test_an_instance_that_raises_stops_all(start: Callable[..., Any]) -> None:
    wrong = (
        "    if instance == 1:\n        raise ValueError('wrong data')\n    strategy.run(train, args=[1])\n"
    )
    done = start(TRAIN + wrong).finish()
    assert done.code == 1
    assert "ValueError: wrong data" in done.err
    assert free_again()


def test_programs_that_differ_say_where(start: Callable[..., Any]) -> None:
    done = start(
        TRAIN.replace("tf.zeros([4])", "tf.zeros([4 + instance])").replace("tf.ones([4])", "weights")
    ).finish()
    assert done.code == 1
    assert "float32 (4,)" in done.err
    assert "float32 (5,)" in done.err


def test_independent_trainings_are_told(poprun: Callable[..., Any]) -> None:
    alone = """
config = ipu.config.IPUConfig()
config.auto_select_ipus = 1
config.configure_ipu_system()
with ipu.ipu_strategy.IPUStrategy().scope():
    weights = tf.Variable(tf.zeros([4]))
    tf.distribute.get_strategy().run(tf.function(lambda: weights.assign_add(tf.ones([4]))))
"""
    done = poprun(alone)
    assert done.err.count("2 INDEPENDENT models") == 1
    assert "configured for one process" in done.err
    assert "popdist.tensorflow.set_ipu_config(config)" in done.err
