"""The commands of the chip model on TensorFlow programs, as a user starts them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import numpy as np
import tensorflow as tf
from tensorflow.python import ipu

config = ipu.config.IPUConfig()
config.auto_select_ipus = 1
config.configure_ipu_system()
with ipu.ipu_strategy.IPUStrategy().scope():
    model = tf.keras.Sequential([
        tf.keras.Input((16,)),
        tf.keras.layers.Dense(32, activation="relu", name="hidden"),
        tf.keras.layers.Dense(4, name="classes"),
    ])
    model.compile("adam", "mse", steps_per_execution=4)
    model.fit(np.zeros((32, 16), np.float32), np.zeros((32, 4), np.float32), batch_size=4, verbose=0)
print("trained")
"""
FACTORY = """
import tensorflow as tf


def network():
    inputs = x = tf.keras.Input((16,), batch_size=8)
    for number in range(6):
        x = tf.keras.layers.Dense(64, activation="relu", name=f"layer{number}")(x)
    model = tf.keras.Model(inputs, tf.keras.layers.Dense(4, name="last")(x))
    model.compile("sgd", "mse")
    return model
"""
SESSION = """
import numpy as np
import tensorflow as tf
from tensorflow.python import ipu

data = tf.data.Dataset.from_tensors(np.ones((4, 8), np.float32)).repeat()
infeed = ipu.ipu_infeed_queue.IPUInfeedQueue(data)


def step(x):
    with tf.variable_scope("net", use_resource=True):
        loss = tf.reduce_mean(tf.square(tf.layers.dense(x, 3, name="small")))
    return tf.train.GradientDescentOptimizer(0.1).minimize(loss)


with ipu.scopes.ipu_scope("/device:IPU:0"):
    run = ipu.ipu_compiler.compile(lambda: ipu.loops.repeat(10, step, [], infeed))
with tf.Session() as session:
    session.run([infeed.initializer, tf.global_variables_initializer()])
    session.run(run)
    print("ran")
"""


def tremula(*words: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tremula.cli", *words],
        cwd=cwd,
        env={**os.environ, "TREMULA_SUMMARY": "0", **environment},
        capture_output=True,
        text=True,
        timeout=240,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text(PROGRAM)
    (tmp_path / "nets.py").write_text(FACTORY)
    (tmp_path / "session.py").write_text(SESSION)
    return tmp_path


def test_estimate_run_answers_for_an_unchanged_program_and_ends_it(folder: Path) -> None:
    done = tremula("estimate", "run", "train.py", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "trained" not in done.stdout
    found = json.loads(done.stdout)
    (answer,) = found["answers"]
    assert (answer["setting"]["device_iterations"], answer["setting"]["micro_batch"]) == (4, 4)
    assert "steps_per_execution" in json.dumps(found["advice"])


def test_estimate_run_answers_for_a_session(folder: Path) -> None:
    done = tremula("estimate", "run", "session.py", "--json", cwd=folder, TREMULA_TENSORFLOW="1")
    assert done.returncode == 0, done.stderr
    (answer,) = json.loads(done.stdout)["answers"]
    assert (answer["setting"]["device_iterations"], answer["setting"]["micro_batch"]) == (10, 4)
    assert answer["training"]


def test_a_function_that_returns_a_keras_model_is_asked_about(folder: Path) -> None:
    done = tremula("estimate", "nets.py:network", "--ipus", "2", "--replicas", "1", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "PipelineStage" in done.stdout
    assert "set_pipeline_stage_assignment" in done.stdout


def test_a_saved_program_is_asked_about_without_tensorflow(folder: Path) -> None:
    done = tremula("estimate", "nets.py:network", "--save-program", "net.program", "--no-advice", cwd=folder)
    assert done.returncode == 0, done.stderr
    (folder / "tensorflow.py").write_text("raise ImportError('not here')")
    again = tremula(
        "estimate",
        "net.program",
        "--no-advice",
        cwd=folder,
        PYTHONPATH=f"{folder}{os.pathsep}" + os.environ.get("PYTHONPATH", ""),
    )
    assert again.returncode == 0, again.stderr
    figures = [
        [line for line in each.stdout.splitlines() if line.startswith(("bow", "mk2"))]
        for each in (done, again)
    ]
    assert figures[0] == figures[1] != []


def test_two_settings_are_compared_layer_by_layer(folder: Path) -> None:
    done = tremula("compare", "nets.py:network", "nets.py:network --precision fp16", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "layer3" in done.stdout
    assert "layer3_1" not in done.stdout


def test_profile_runs_a_program_and_writes_what_the_chip_would_do(folder: Path) -> None:
    done = tremula("profile", "-o", "out", "train.py", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "trained" in done.stdout
    assert list((folder / "out").rglob("profile.pop"))


def test_scale_says_how_a_program_grows_and_trains_it_in_two_processes(folder: Path) -> None:
    done = tremula("scale", "run", "train.py", cwd=folder)
    assert done.returncode == 0, done.stderr
    (study,) = folder.rglob("scale.json")
    runs = {run["instances"]: run for run in json.loads(study.read_text())["study"]["measured"]["runs"]}
    assert runs[2]["equivalent"]
    assert runs[2]["spread"] == 0.0
    assert runs[2]["deviation"] < 1e-4
    assert list(folder.rglob("scale.html"))
