"""`IPURunConfig` and `RunConfig`: the IPUs must be as many as replicas and shards need."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf
from tensorflow.python import ipu

IPURunConfig = ipu.ipu_run_config.IPURunConfig
RunConfig = ipu.ipu_run_config.RunConfig


def options(**kwargs: Any) -> Any:
    config = ipu.config.IPUConfig()
    for name, value in kwargs.items():
        setattr(config, name, value)
    return config


def test_defaults_are_one_ipu_and_one_iteration() -> None:
    config = RunConfig(tf_random_seed=4)
    assert config.ipu_run_config == (1, None, 1, 1, 0, None)
    assert config.tf_random_seed == 4
    assert isinstance(config, tf.estimator.RunConfig)


def test_master_is_that_of_the_cluster_unless_it_is_given() -> None:
    assert RunConfig().master == ""
    assert RunConfig(master="grpc://host:1").master == "grpc://host:1"


@pytest.mark.parametrize(
    ("ipus", "arguments"),
    [
        (4, {"num_replicas": 4}),
        (4, {"num_replicas": 2, "num_shards": 2}),
        ([2, 4], {"num_shards": 4, "ordinal": 1}),
    ],
)
def test_as_many_ipus_as_are_needed(ipus: Any, arguments: dict[str, int]) -> None:
    config = IPURunConfig(ipu_options=options(auto_select_ipus=ipus), **arguments)
    assert config.num_replicas * config.num_shards == 4
    assert config.device == f"/device:IPU:{config.ordinal}"


@pytest.mark.parametrize(
    ("ipus", "arguments", "needed", "configured"),
    [
        (3, {}, r"1 devices \(1 replicas times 1 shards\)", 3),
        (3, {"num_replicas": 4}, r"4 devices \(4 replicas times 1 shards\)", 3),
        ([4, 1], {"num_shards": 4, "ordinal": 1}, r"4 devices \(1 replicas times 4 shards\)", 1),
    ],
)
def test_more_or_fewer_are_refused(
    ipus: Any, arguments: dict[str, int], needed: str, configured: int
) -> None:
    text = f"`IPURunConfig` configured with {needed}, but `IpuOptions` configured with {configured} devices"
    with pytest.raises(ValueError, match=text):
        IPURunConfig(ipu_options=options(auto_select_ipus=ipus), **arguments)


@pytest.mark.parametrize("name", ["num_replicas", "num_shards"])
def test_several_ipus_need_options(name: str) -> None:
    with pytest.raises(ValueError, match="requires more than one device, but `ipu_options` is None"):
        IPURunConfig(**{name: 2})


def test_options_must_be_an_ipu_config() -> None:
    with pytest.raises(TypeError, match="ipu_options must be an IPUConfig instance, not dict"):
        IPURunConfig(ipu_options={})


@pytest.mark.parametrize("ordinal", [2, -1])
def test_the_device_must_exist(ordinal: int) -> None:
    with pytest.raises(ValueError, match=rf"no device with the ordinal {ordinal}.* has 2 device"):
        IPURunConfig(ipu_options=options(auto_select_ipus=[1, 1]), ordinal=ordinal)


@pytest.mark.parametrize("name", ["iterations_per_loop", "num_replicas", "num_shards"])
def test_numbers_are_at_least_one(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} must be at least 1, and it is 0"):
        IPURunConfig(**{name: 0})


def test_a_device_that_is_chosen_by_number_is_checked_when_it_is_configured(
    regression: Any, tmp_path: Any
) -> None:
    # device 0 is a single IPU
    wrong = IPURunConfig(ipu_options=options(select_ipus=0), num_shards=2)
    config = RunConfig(ipu_run_config=wrong, model_dir=str(tmp_path))
    with pytest.raises(ValueError, match=r"configured with 2 devices .* configured with 1 devices"):
        ipu.ipu_estimator.IPUEstimator(regression.model_fn(), config=config).train(
            regression.input_fn(), steps=1
        )


def test_a_depth_out_of_range_is_refused(regression: Any, tmp_path: Any) -> None:
    config = RunConfig(ipu_run_config=IPURunConfig(prefetch_depth=-1), model_dir=str(tmp_path))
    with pytest.raises(ValueError, match="prefetch_depth must be greater than zero"):
        ipu.ipu_estimator.IPUEstimator(regression.model_fn(), config=config).train(
            regression.input_fn(), steps=1
        )


def test_several_iterations_with_a_distribution_strategy_are_refused(regression: Any) -> None:
    strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
    config = RunConfig(ipu_run_config=IPURunConfig(iterations_per_loop=2), train_distribute=strategy)
    with pytest.raises(NotImplementedError, match=r"iterations_per_loop > 1 \(got 2\) not supported"):
        ipu.ipu_estimator.IPUEstimator(regression.model_fn(), config=config)
