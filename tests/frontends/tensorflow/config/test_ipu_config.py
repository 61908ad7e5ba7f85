"""`IPUConfig` holds to what was declared, and survives being written and read."""

from __future__ import annotations

import copy
import json
import pickle
from enum import Enum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tensorflow.python.platform import tf_logging

from tremula.frontends.tensorflow.config import option_message
from tremula.frontends.tensorflow.config.enums import (
    DeviceConnectionType,
    SelectionOrder,
    StochasticRoundingBehaviour,
)
from tremula.frontends.tensorflow.config.ipu_config import IPUConfig, from_message
from tremula.frontends.tensorflow.config.option_table import CATEGORIES, OPTIONS

NAMES = [option.name for option in OPTIONS]


def put(config: IPUConfig, name: str, value: Any) -> None:
    *categories, own = name.split(".")
    node: Any = config
    for category in categories:
        node = getattr(node, category)
    setattr(node, own, value)


def fitting(option: Any) -> st.SearchStrategy[Any]:
    """Values that the type of an option allows, within what a message can hold."""
    kind = type(option.default)
    if option.name == "select_ipus":
        return st.just([])
    if option.name == "auto_select_ipus":
        return st.one_of(
            st.integers(1, 64), st.lists(st.integers(1, 64)), st.lists(st.integers(1, 9)).map(tuple)
        )
    if issubclass(kind, Enum):
        return st.sampled_from(kind)
    if option.name.endswith("version"):
        return st.sampled_from(["ipu1", "ipu2", "ipu21"])
    if option.name.endswith(("group_size", "process_index", "process_count")):
        return st.just(option.default)
    return {
        bool: st.booleans(),
        int: st.integers(1, 1 << 40),
        float: st.floats(0, 1),
        str: st.text(st.characters(codec="utf-8", exclude_characters="\0")),
        dict: st.dictionaries(st.text(st.characters(codec="utf-8")), st.text(st.characters(codec="utf-8"))),
    }[kind]


@st.composite
def configs(draw: st.DrawFn) -> IPUConfig:
    config = IPUConfig()
    for option in draw(st.lists(st.sampled_from(OPTIONS), unique_by=lambda option: option.name)):
        put(config, option.name, draw(fitting(option)))
    return config


def test_there_are_57_options_with_their_defaults():
    assert len(OPTIONS) == 57
    assert IPUConfig().to_dict() == {
        option.name: option.default.value if isinstance(option.default, Enum) else option.default
        for option in OPTIONS
    }


def test_options_of_one_object_are_not_those_of_another():
    first, second = IPUConfig(), IPUConfig()
    first.matmuls.poplar_options["partialsType"] = "half"
    first.optimizations.math.fast = True
    assert second.matmuls.poplar_options == {}
    assert IPUConfig().get_attribute_metadata("matmuls.poplar_options").default == {}
    assert not second.optimizations.math.fast


@given(configs())
def test_what_is_written_as_json_is_read_back(config):
    other = IPUConfig()
    other.from_json(config.to_json())
    assert json.loads(other.to_json()) == json.loads(config.to_json())
    assert str(copy.deepcopy(config)) == str(config)
    assert str(pickle.loads(pickle.dumps(config))) == str(config)  # noqa: S301


@given(configs())
def test_a_message_holds_everything_but_set_all(config):
    config.device_connection.version = "ipu2"
    config.io_tiles.num_io_tiles = 0
    config.io_tiles.place_ops_on_io_tiles = False
    config.floating_point_behaviour.set_all = False
    back = from_message(config._create_protobuf())
    expected = config.to_dict()
    expected["auto_select_ipus"] = option_message.listed(config.auto_select_ipus)
    expected["select_ipus"] = []
    assert back.to_dict() == expected
    assert back._create_protobuf() == config._create_protobuf()


def wrong(option: Any) -> list[Any]:
    """Values of other types, near ones first."""
    kind = type(option.default)
    values: list[Any] = [
        None,
        object(),
        (),
        {1: 2},
        {},
        b"1",
        "1",
        1,
        1.0,
        True,
        [1.0],
        [True],
        [],
        {1},
        SelectionOrder.AUTO,
    ]
    if option.hint is not None:
        return [value for value in values if value not in (1, [], ()) or type(value) in (bool, float)]
    return [value for value in values if type(value) is not kind]


@given(st.sampled_from(OPTIONS).flatmap(lambda each: st.tuples(st.just(each), st.sampled_from(wrong(each)))))
def test_a_value_of_another_type_is_refused_and_changes_nothing(case):
    option, value = case
    config = IPUConfig()
    before = str(config)
    with pytest.raises(TypeError, match=f"Trying to set {option.name} to .*, but it must be of type"):
        put(config, option.name, value)
    assert str(config) == before


@given(st.dictionaries(st.sampled_from(NAMES), st.sampled_from([None, "x", -1, 2.5, [True]]), min_size=1))
def test_a_dict_with_a_wrong_value_is_not_taken_over_in_part(values):
    config = IPUConfig()
    config.auto_select_ipus = 3
    before = config.to_dict()
    try:
        config.from_dict({**IPUConfig().to_dict(), **values})
    except (TypeError, ValueError):
        assert config.to_dict() == before
    else:
        assert config.to_dict() == {**IPUConfig().to_dict(), **values}


BAD = {
    "contradicting devices": {"auto_select_ipus": 1, "select_ipus": 1},
    "no ipus": {"auto_select_ipus": 0},
    "a device without ipus": {"auto_select_ipus": [2, 0]},
    "negative ipus": {"auto_select_ipus": -1},
    "the same device twice": {"select_ipus": [1, 1]},
    "a negative id": {"select_ipus": [-1]},
    "never without a version": {"device_connection.type": DeviceConnectionType.NEVER},
    "pre-compiled without a version": {"device_connection.type": DeviceConnectionType.PRE_COMPILE},
    "an unknown chip": {"device_connection.version": "ipu3"},
    "an unknown modelled chip": {"ipu_model.version": "bow"},
    "ops on no tiles": {"io_tiles.place_ops_on_io_tiles": True},
    "a negative number of tiles": {"io_tiles.num_io_tiles": -4},
    "too much memory": {"io_tiles.available_memory_proportion": 1.1},
    "memory that is not a number": {"io_tiles.available_memory_proportion": float("nan")},
    "no replica group": {"norms.experimental.distributed_batch_norm_replica_group_size": 0},
    "groups with tiles": {
        "norms.experimental.distributed_batch_norm_replica_group_size": 2,
        "io_tiles.num_io_tiles": 8,
    },
    "a process too many": {
        "experimental.multi_replica_distribution.process_count": 2,
        "experimental.multi_replica_distribution.process_index": 2,
    },
    "a negative process": {
        "experimental.multi_replica_distribution.process_count": 2,
        "experimental.multi_replica_distribution.process_index": -1,
    },
    "negative processes": {"experimental.multi_replica_distribution.process_count": -1},
    "poplar options that are numbers": {"matmuls.poplar_options": {"availableMemoryProportion": 0.1}},
    "poplar options that are flags": {"compilation_poplar_options": {"debug.allowOutOfMemory": True}},
    "poplar options without a name": {"convolutions.poplar_options": {1: "a"}},
    "a negative buffer": {"optimizations.maximum_cross_replica_sum_buffer_size": -1},
    "a size beyond 64 bits": {"optimizations.maximum_all_gather_buffer_size": 1 << 63},
}


@pytest.mark.parametrize("changes", BAD.values(), ids=BAD)
def test_options_that_cannot_hold_together_are_refused_when_the_system_is_configured(changes):
    config = IPUConfig()
    for name, value in changes.items():
        put(config, name, value)
    before = str(config)
    with pytest.raises((TypeError, ValueError)) as caught:
        config.configure_ipu_system()
    assert len(str(caught.value)) > 30
    assert str(config) == before


@given(st.sampled_from(list(BAD.values())), configs())
def test_they_are_refused_whatever_else_is_set(changes, config):
    config.io_tiles.num_io_tiles = 0
    config.device_connection.version = ""
    config.select_ipus = []
    for name, value in changes.items():
        put(config, name, value)
    before = str(config)
    with pytest.raises((TypeError, ValueError)):
        config._create_protobuf()
    assert str(config) == before


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("auto_select_ipu", "Did you mean 'auto_select_ipus'?"),
        ("convolutions.poplar_option", "Did you mean 'convolutions.poplar_options'?"),
        ("device_connections", "Did you mean 'device_connection'?"),
        ("xyzzy", "'xyzzy' is not a valid attribute"),
        ("_private", "'_private' is not a valid attribute"),
    ],
)
def test_a_misspelt_name_is_refused_with_the_nearest(path, said):
    config = IPUConfig()
    for act in (lambda: put(config, path, 1), lambda: config.get_attribute_metadata(path)):
        with pytest.raises(ValueError, match=r"not a valid attribute") as caught:
            act()
        assert said in str(caught.value)


@pytest.mark.parametrize("name", CATEGORIES)
def test_a_category_cannot_be_assigned(name):
    with pytest.raises(TypeError, match=f"{name} is a category and cannot be assigned to"):
        put(IPUConfig(), name, 1)


def test_an_option_that_goes_warns_and_works(monkeypatch):
    said = []
    monkeypatch.setattr(tf_logging, "warn", said.append)
    config = IPUConfig()
    config.optimizations.enable_fast_math = True
    assert config._create_protobuf().enable_fast_math
    assert "optimizations.enable_fast_math has been deprecated" in said[0]


def test_metadata_tell_name_type_default_effect_and_meaning():
    for option in OPTIONS:
        metadata = IPUConfig().get_attribute_metadata(option.name)
        assert metadata.name == option.name
        assert metadata.default == option.default
        assert metadata.effect in ("honoured", "recorded") or metadata.effect.startswith("no effect: ")
        assert metadata.__doc__.endswith(".")
        metadata.check_type(option.default)
        assert f".. _{option.name}:" in IPUConfig.__doc__


def test_set_all_turns_everything_on():
    config = IPUConfig()
    config.floating_point_behaviour.set_all = True
    behaviour = from_message(config._create_protobuf()).floating_point_behaviour
    assert all(getattr(behaviour, name) is True for name in ("inv", "div0", "oflo", "nanoo"))
    assert behaviour.esr is StochasticRoundingBehaviour.ON
