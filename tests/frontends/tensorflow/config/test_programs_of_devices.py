"""What devices and the record of runs say of programs; the executable cache; synthetic inputs; seeds."""

from __future__ import annotations

import logging

import numpy as np
import pytest
import tensorflow as tf

from tremula.frontends.tensorflow import devices, executable_cache, random_seed, synthetic_data
from tremula.frontends.tensorflow.config.ipu_config import IPUConfig
from tremula.frontends.tensorflow.device_queries import (
    get_num_of_ipus_in_device,
    reset_ipu_seed,
    use_synthetic_data_for,
)
from tremula.machine.occupancy import current_occupancy
from tremula.telemetry.run_record import Entry, Run, parsed
from tremula.telemetry.run_summary import summary


def run_of(*entries: Entry) -> Run:
    return Run("train.py", 1, 0.0, 1.0, models=list(entries))


def test_a_model_that_never_ran_is_reported_in_the_words_of_tensorflow():
    entry = devices.wrapped("Sequential")
    [(level, text)] = summary(run_of(entry))
    assert level == logging.WARNING
    assert text.startswith("Sequential was made in an IPUStrategy scope but never ran")
    assert "PyTorch" not in text
    assert parsed(run_of(entry).as_line().encode()).models[0].never_ran == entry.never_ran


def test_a_model_that_ran_is_counted_with_its_ipus():
    config = IPUConfig()
    config.auto_select_ipus = 4
    config.configure_ipu_system()
    entry = devices.wrapped("Sequential")
    devices.name_program("Sequential")
    devices.ran(entry, seconds=0.5, samples=32)
    [(level, text)] = summary(run_of(entry))
    assert level == logging.INFO
    assert "1 call (32 samples) on 4 virtual IPUs" in text
    assert "form" not in text
    usage = current_occupancy().usage(0)
    assert (usage.model, usage.calls, usage.samples) == ("Sequential", 1, 32)


def traced(factor: float):
    return tf.function(lambda x: x * factor, autograph=False).get_concrete_function(tf.TensorSpec([2]))


def test_the_cache_finds_a_program_again_and_tells_others_apart(tmp_path, monkeypatch):
    tmp_path.chmod(0o700)
    folder = tmp_path / "cache"
    monkeypatch.setenv("TF_POPLAR_FLAGS", f"--executable_cache_path={folder}")
    assert executable_cache.program_ready(traced(2.0)) == "not in the cache"
    assert executable_cache.program_ready(traced(2.0)) == "hit"
    assert executable_cache.program_ready(traced(3.0)) == "not in the cache"
    assert executable_cache.program_ready(traced(2.0), replicas=2) == "not in the cache"
    config = IPUConfig()
    config.matmuls.poplar_options = {"partialsType": "half"}
    config.configure_ipu_system()
    assert executable_cache.program_ready(traced(2.0)) == "not in the cache"
    assert len(list(folder.glob("*.popef"))) == 4


def test_a_damaged_entry_is_written_again(tmp_path, monkeypatch):
    tmp_path.chmod(0o700)
    folder = tmp_path / "cache"
    monkeypatch.setenv("TF_POPLAR_FLAGS", f"--executable_cache_path={folder}")
    executable_cache.program_ready(traced(2.0))
    [entry] = folder.glob("*.popef")
    entry.write_bytes(entry.read_bytes()[:-1])
    assert executable_cache.program_ready(traced(2.0)) not in ("hit", "")
    assert executable_cache.program_ready(traced(2.0)) == "hit"


def test_without_the_flag_nothing_is_cached(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert executable_cache.program_ready(traced(2.0)) == ""
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("initializer", "low", "high"), [("", 0, 0), ("=3", 3, 3), ("=uniform", 0, 1), ("=normal", -6, 6)]
)
def test_synthetic_inputs(monkeypatch, initializer, low, high):
    flag = f"--synthetic_data_initializer{initializer}" if initializer else ""
    monkeypatch.setenv("TF_POPLAR_FLAGS", f"--use_synthetic_data {flag}")
    spec = {"a": tf.TensorSpec([100], tf.float16), "b": (tf.TensorSpec([], tf.int32),)}
    made = synthetic_data.like(spec)
    assert made["a"].dtype == tf.float16
    assert made["b"][0].dtype == tf.int32
    assert np.all((made["a"].numpy() >= low) & (made["a"].numpy() <= high))
    assert use_synthetic_data_for(0)


def test_a_seed_is_kept_for_each_device():
    before = random_seed.generation()
    reset_ipu_seed(7, "/device:IPU:1")
    assert random_seed.seed(1) == 7
    assert random_seed.seed(0) is None
    assert not random_seed.identical_replicas(1)
    reset_ipu_seed(7, "/device:IPU:1", experimental_identical_replicas=True)
    assert random_seed.identical_replicas(1)
    assert random_seed.generation() == before + 2


def test_the_ipus_of_a_device_are_told():
    config = IPUConfig()
    config.auto_select_ipus = [1, 2]
    config.configure_ipu_system()
    assert get_num_of_ipus_in_device("/device:IPU:1") == 2
