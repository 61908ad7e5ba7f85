"""What the chip model says beside a Keras program that runs: figures, memory, profile, cycles; never in its way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python import ipu

from tremula import log
from tremula.errors import Error
from tremula.frontends.tensorflow.capture import reader
from tremula.profile import Profile
from tremula.telemetry import ledger


@pytest.fixture(autouse=True)
def configured(monkeypatch: pytest.MonkeyPatch) -> Any:
    for name in ("TREMULA_CHIP_MODEL", "TREMULA_OUT_OF_MEMORY", "POPLAR_ENGINE_OPTIONS"):
        monkeypatch.delenv(name, raising=False)
    log.forget_once()
    config = ipu.config.IPUConfig()
    config.auto_select_ipus = 1
    config.configure_ipu_system()
    yield config
    ipu.config.reset_ipu_configuration()


def fitted(width: int = 8, accumulation: int = 1, steps: int = 4) -> Any:
    with ipu.ipu_strategy.IPUStrategy().scope():
        inputs = tf.keras.Input((width,))
        hidden = tf.keras.layers.Dense(width, activation="relu", name="hidden")(inputs)
        model = tf.keras.Model(inputs, tf.keras.layers.Dense(1, name="last")(hidden))
        model.compile("sgd", "mse", steps_per_execution=steps)
        if accumulation > 1:
            model.set_gradient_accumulation_options(gradient_accumulation_steps_per_replica=accumulation)
        samples = 2 * steps
        model.fit(np.ones((samples, width), np.float32), np.ones((samples, 1), np.float32), 2, verbose=0)
    return model


def modelled(model: Any) -> Any:
    (found,) = model._modelled.values()
    return found.estimate


def test_a_program_is_looked_at_with_its_own_loops() -> None:
    found = modelled(fitted(accumulation=2, steps=8))
    assert (found.loops.device_iterations, found.loops.gradient_accumulation, found.loops.replicas) == (
        4,
        2,
        1,
    )
    assert found.samples == 2
    assert found.training


def test_replicas_are_those_that_are_configured(configured: Any) -> None:
    configured.auto_select_ipus = 2
    configured.configure_ipu_system()
    assert modelled(fitted()).loops.replicas == 2


def test_what_does_not_fit_is_said_with_the_layer(capfd: pytest.CaptureFixture[str]) -> None:
    fitted(width=10_000, steps=1)
    said = capfd.readouterr().err
    assert "Out of memory" in said
    assert "hidden" in said
    assert "modelled" in said


def test_what_does_not_fit_can_be_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREMULA_OUT_OF_MEMORY", "error")
    with pytest.raises(Error, match="Out of memory"):
        fitted(width=10_000, steps=1)


def test_the_chip_model_can_be_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREMULA_CHIP_MODEL", "off")
    assert list(fitted()._modelled.values()) == [None]


def test_engine_options_ask_for_a_profile(tmp_path: Path, configured: Any) -> None:
    configured.compilation_poplar_options = {"autoReport.all": "true", "autoReport.directory": str(tmp_path)}
    configured.configure_ipu_system()
    fitted()
    (path,) = tmp_path.glob("tf_report_*_training/profile.pop")
    with Profile(path) as found:
        assert any("hidden" in each.name for each in found.ops)


def test_the_older_configuration_asks_for_a_profile(tmp_path: Path) -> None:
    older = ipu.utils.create_ipu_config(profiling=True, report_directory=str(tmp_path))
    ipu.utils.configure_ipu_system(ipu.utils.auto_select_ipus(older, 1))
    fitted()
    assert list(tmp_path.glob("tf_report_*_training/profile.pop"))


def test_a_flag_asks_for_the_cycles_of_each_run(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TF_POPLAR_FLAGS", "--log_cycle_count=0")
    log.set_level("tremula", "INFO")
    try:
        model = fitted()
    finally:
        log.set_level("tremula", "WARN")
    (run,) = model._modelled.values()
    assert f"Modelled cycles of this run: {run.cycles_per_call()}" in capfd.readouterr().err


def test_a_fault_of_the_capture_stops_nothing(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: Any) -> None:
        raise ZeroDivisionError("of this test")

    monkeypatch.setattr(reader.Reader, "read", fail)
    monkeypatch.setenv("TREMULA_TEST_FAULTS", "expected")
    assert fitted().history.history["loss"]
    assert "ZeroDivisionError: of this test" in capfd.readouterr().err


def test_the_end_of_the_run_has_the_modelled_figures() -> None:
    model = fitted()
    run = ledger.current()
    assert run is not None
    entry = next(each for each in run.models if each is model._ledger_entry)
    assert "modelled for" in entry.modelled
