"""The configuration: presets, overrides with their types, and refusals that name the nearest match."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from cosmictagger.config import Config, ConfigError, as_plain, as_yaml, load, preset_names
from cosmictagger.config.groups import DATA, MODES, NETWORK_MEANINGS, ComputeMode, Precision, Run
from cosmictagger.config.help import help_text
from cosmictagger.config.loading import all_keys, every_key
from cosmictagger.network.configurations import NetworkConfig
from hypothesis import given
from hypothesis import strategies as st


def refusal(*overrides: str) -> str:
    with pytest.raises(ConfigError) as caught:
        load("config", overrides)
    return str(caught.value)


@pytest.mark.parametrize("name", preset_names())
def test_each_preset_can_be_loaded_for_each_mode(name: str) -> None:
    for mode in MODES:
        assert load(name, [f"mode={mode}"]).mode.name == mode


def test_the_presets_of_the_original_are_there() -> None:
    assert {"config", "a21", "a21_ipu", "uresnet", "polaris", "a21_2024", "scc21", "demo"} <= set(
        preset_names()
    )


def test_overrides_win_over_the_preset_which_wins_over_defaults() -> None:
    config = load("demo", ["run.minibatch_size=7", "network.depth=3", "mode.optimizer.name=sgd"])
    assert config.run.minibatch_size == 7
    assert config.network.depth == 3
    assert config.mode.optimizer.name == "sgd"
    assert config.mode.optimizer.loss_balance_scheme == "light"  # the preset's
    assert config.mode.optimizer.momentum == 0.9  # the default


def test_the_command_line_of_the_published_runs_is_understood() -> None:
    config = load(
        "a21",
        [
            "mode=train",
            "run.id=bfloat16_2x10_16",
            "run.distributed=False",
            "data=real",
            "data.data_directory=/mnt/data/",
            "run.compute_mode=IPU",
            "run.iterations=500",
            "run.minibatch_size=2",
            "run.precision=3",
            "mode.no_summary_images=True",
        ],
    )
    assert config.run.compute_mode is ComputeMode.IPU
    assert config.run.precision is Precision.float16
    assert config.data.file == "cosmic_tagging_train.h5"
    assert config.data.downsample == 1
    assert config.network.name == "a21"


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("run.iteratons=3", "Did you mean run.iterations?"),
        ("mode.optimizer.learning_rte=1", "Did you mean mode.optimizer.learning_rate?"),
        ("learning_rate=1", "Did you mean mode.optimizer.learning_rate?"),
        ("network=a12", "Did you mean a21?"),
        ("mode=trian", "Did you mean train?"),
        ("network.connections=sun", "Did you mean sum?"),
        ("data.file=x.h5", "data=synthetic has no data.file"),
        ("mode.quantization_aware=True", "no quantised training"),
        ("network.weight_decay=0.1", "mode.optimizer.weight_decay is honoured"),
        ("framework=tensorflow", "only torch"),
        ("run.iterations=many", "whole number"),
        ("run.iterations=2.5", "whole number"),
        ("run.iterations=0", "1 or more"),
        ("mode.optimizer.learning_rate=nan", "must be a number"),
        ("run.resume=perhaps", "true or false"),
        ("run.id=../../etc", "letters, digits"),
        ("run.id=..", "letters, digits"),
        ("run.ipus=3", "1, 2 or 4"),
        ("run.ipus=2", "gradient_accumulation=3 or more"),
        ("run.precision=bfloat16", "does not exist on IPUs"),
        ("network.filter_size_deepest=4", "must be odd"),
        ("iterations", "not of the form key=value"),
    ],
)
def test_what_is_wrong_is_refused_with_the_reason(override: str, words: str) -> None:
    assert words in refusal(override)


@pytest.mark.parametrize(
    "override",
    [
        "run.replicas=2",
        "run.device_iterations=2",
        "run.recompute=all",
        "run.precision=float16",
        "run.profile=true",
        "data.loading=async",
        "run.stochastic_rounding=true",
    ],
)
def test_what_only_ipus_can_do_is_refused_on_the_cpu(override: str) -> None:
    assert "IPU" in refusal("run.compute_mode=CPU", override)


@given(st.integers(min_value=1, max_value=10**9))
def test_whole_numbers_come_back_as_given(number: int) -> None:
    assert load("config", [f"run.iterations={number}"]).run.iterations == number


@given(st.floats(min_value=1e-9, max_value=100, allow_nan=False))
def test_numbers_come_back_as_given(number: float) -> None:
    config = load("config", [f"mode.optimizer.learning_rate={number!r}"])
    assert config.mode.optimizer.learning_rate == number


@given(st.text(min_size=1, max_size=30))
def test_any_value_is_taken_or_refused_in_one_line(text: str) -> None:
    for key in ("run.iterations", "run.resume", "run.compute_mode", "mode.optimizer.learning_rate", "run.id"):
        refused = None
        try:
            load("config", [f"{key}={text}"])
        except ConfigError as error:
            refused = str(error)
        assert refused is None or (key in refused and "\n" not in refused)


@given(st.text(min_size=1, max_size=30).filter(lambda text: "=" not in text and text.strip(" +")))
def test_no_unknown_key_is_ever_swallowed(text: str) -> None:
    if text.strip().lstrip("+") not in every_key():
        with pytest.raises(ConfigError):
            load("config", [f"{text}=1"])


def test_what_is_written_can_be_loaded_and_is_the_same(tmp_path: Path) -> None:
    for name in preset_names():
        config = load(name, ["run.id=again"])
        path = tmp_path / f"{name}.yaml"
        path.write_text(as_yaml(config))
        assert as_plain(load(str(path))) == as_plain(config)
        assert yaml.safe_load(path.read_text())["run"]["id"] == "again"


@pytest.mark.parametrize(
    "text",
    [
        "- a\n- b\n",
        "run: [\n",
        "runn: {}\n",
        "run: {iterationz: 3}\n",
        "!!python/object/apply:os.system ['true']\n",
    ],
)
def test_a_bad_file_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError):
        load(str(path))


def test_an_unknown_preset_is_refused_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"Did you mean demo\?"):
        load("deno")


def test_help_lists_every_key_with_a_meaning() -> None:
    text = help_text()
    groups: dict[str, type] = {"run": Run}
    for group, kinds in (("mode", MODES), ("data", DATA)):
        for kind in kinds.values():
            for key, (_, declared) in all_keys({group: kind}).items():
                assert f"  {key}=" in text
                assert declared.metadata["meaning"]
    for key in all_keys(groups):
        assert f"  {key}=" in text
    for key in all_keys({"network": NetworkConfig}):
        assert f"  {key}=" in text
        assert NETWORK_MEANINGS[key.removeprefix("network.")]


def test_a_choice_on_the_command_line_keeps_what_the_preset_says_about_both() -> None:
    config: Config = load("demo", ["data=real"])
    assert config.data.name == "real"
    assert config.data.downsample == 3


@pytest.mark.parametrize("text", ["run: " + "[" * 5000, "run: &a {}\nmode: *a", "run: 2023-99-99"])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"mine\.yaml cannot be read as YAML"):
        load(str(path), [])
