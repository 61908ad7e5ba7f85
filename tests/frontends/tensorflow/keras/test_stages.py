"""`PipelineStage` scopes."""

from __future__ import annotations

from collections.abc import Iterator

import keras
import pytest
import tensorflow as tf
from tensorflow.python import ipu

from tremula.frontends.tensorflow.keras.stages import PipelineStage, stage_of


@pytest.fixture
def scope() -> Iterator[None]:
    with ipu.ipu_strategy.IPUStrategy().scope():
        yield


def _node(output: tf.Tensor) -> object:
    layer, index, _ = output._keras_history
    return layer._inbound_nodes[index]


def test_a_layer_made_in_the_scope_belongs_to_the_stage(scope: None) -> None:
    with PipelineStage(2):
        layer = keras.layers.Dense(1)
    assert stage_of(_node(layer(keras.Input(4)))) == 2


def test_the_stage_of_a_call_counts_before_that_of_its_layer(scope: None) -> None:
    with PipelineStage(2):
        layer = keras.layers.Dense(4)
    first = layer(keras.Input(4))
    with PipelineStage(3):
        second = layer(first)
    assert [stage_of(_node(first)), stage_of(_node(second))] == [2, 3]


def test_outside_of_scopes_there_is_no_stage(scope: None) -> None:
    with PipelineStage(0):
        pass
    assert stage_of(_node(keras.layers.Dense(1)(keras.Input(4)))) is None


def test_it_needs_the_strategy() -> None:
    with pytest.raises(RuntimeError, match="within an IPUStrategy context"), PipelineStage(0):
        pass


def test_it_is_not_nested(scope: None) -> None:
    with PipelineStage(0), pytest.raises(RuntimeError, match="must not be nested"), PipelineStage(1):
        pass


def test_the_number_is_not_negative(scope: None) -> None:
    with pytest.raises(ValueError, match="-1 is not a valid pipeline stage"), PipelineStage(-1):
        pass


def test_after_an_error_the_next_scope_opens(scope: None) -> None:
    with pytest.raises(KeyError), PipelineStage(0):
        raise KeyError
    with PipelineStage(1):
        layer = keras.layers.Dense(1)
    assert layer._pipeline_stage == 1


def test_constructors_still_show_their_arguments() -> None:
    class Own(keras.layers.Layer):
        pass

    assert Own(name="own").get_config()["name"] == "own"
