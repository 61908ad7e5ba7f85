"""Stages of the layers of Keras models: reading, setting, checking, printing, saving."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python import ipu

from keras.ipu import PipelineStage  # isort: skip


@pytest.fixture(autouse=True)
def scope() -> Iterator[None]:
    with ipu.ipu_strategy.IPUStrategy().scope():
        yield


@pytest.fixture
def two_ipus() -> Iterator[None]:
    config = ipu.config.IPUConfig()
    config.auto_select_ipus = 2
    config.configure_ipu_system()
    yield
    ipu.config.reset_ipu_configuration()


def functional() -> Any:
    inputs = [keras.Input(4, name="left"), keras.Input(4, name="right")]
    shared = keras.layers.Dense(4, name="shared")
    both = keras.layers.Add(name="add")([shared(inputs[0]), shared(inputs[1])])
    return keras.Model(inputs, keras.layers.Dense(2, name="last")(both))


def sequential(size: int = 4) -> Any:
    return keras.Sequential([keras.layers.Dense(4, name=f"dense{n}") for n in range(size)])


class Subclassed(keras.Model):  # type: ignore[misc]
    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.first = keras.layers.Dense(4, name="first")
        self.second = keras.layers.Dense(2, name="second")

    def call(self, inputs: Any) -> Any:
        return tf.nn.relu(self.second(self.first(self.first(inputs))))


def subclassed() -> Any:
    model = Subclassed()
    model.build((None, 4))
    return model


def number(assignments: list[Any], start: int = 0) -> int:
    """Give each call a stage of its own."""
    for one in assignments:
        if one.is_nested_model:
            start = number(one.pipeline_stage_assignments, start)
        else:
            one.pipeline_stage = start
            start += 1
    return start


def stages(assignments: list[Any]) -> list[Any]:
    return [
        stages(one.pipeline_stage_assignments) if one.is_nested_model else one.pipeline_stage
        for one in assignments
    ]


def pipelined(model: Any) -> Any:
    assignments = model.get_pipeline_stage_assignment()
    number(assignments)
    model.set_pipeline_stage_assignment(assignments)
    return model


@pytest.mark.parametrize(("make", "calls"), [(functional, 4), (sequential, 4), (subclassed, 4)])
def test_at_first_no_call_has_a_stage(make: Any, calls: int) -> None:
    model = make()
    assert stages(model.get_pipeline_stage_assignment()) == [None] * calls
    assert not model._is_pipelined()


@pytest.mark.parametrize("make", [functional, sequential, subclassed])
def test_stages_are_what_was_set_until_they_are_reset(make: Any) -> None:
    model = pipelined(make())
    assert stages(model.get_pipeline_stage_assignment()) == [0, 1, 2, 3]
    assert model._is_pipelined()
    model.reset_pipeline_stage_assignment()
    assert stages(model.get_pipeline_stage_assignment()) == [None] * 4
    assert not model._is_pipelined()


@pytest.mark.parametrize("make", [functional, sequential, subclassed])
def test_changing_what_was_read_changes_nothing(make: Any) -> None:
    model = pipelined(make())
    for one in model.get_pipeline_stage_assignment():
        one.pipeline_stage = 7
    assert stages(model.get_pipeline_stage_assignment()) == [0, 1, 2, 3]


def test_calls_are_listed_in_the_order_of_execution_with_their_inputs() -> None:
    found = [
        (one.layer.name, one.node_index, [source.name for source in one.inbound_layers])
        for one in functional().get_pipeline_stage_assignment()
    ]
    assert found == [
        ("shared", 0, ["left"]),
        ("shared", 1, ["right"]),
        ("add", 0, ["shared", "shared"]),
        ("last", 0, ["add"]),
    ]


def test_sequential_takes_integers() -> None:
    model = sequential()
    model.set_pipeline_stage_assignment([0, 0, 1, 1])
    assert stages(model.get_pipeline_stage_assignment()) == [0, 0, 1, 1]


def test_a_sequential_model_that_changed_has_to_be_assigned_again() -> None:
    model = sequential()
    model.set_pipeline_stage_assignment([0, 0, 1, 1])
    model.add(keras.layers.Dense(1))
    assert not model._pipeline_stage_assignment_valid
    model.set_pipeline_stage_assignment([0, 0, 1, 1, 1])
    assert model._pipeline_stage_assignment_valid
    model.pop()
    assert not model._pipeline_stage_assignment_valid


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ([0, 1, 2], r"length .*\(3\) does not match .*\(4\)"),
        ([1, 1, 2, 2], "needs to be assigned to the 0th"),
        ([0, 2, 2, 2], "dense1 has been assigned to pipeline stage 2, however"),
        ([0, 1, 0, 1], "dense2 has been assigned to pipeline stage 0, however"),
        ([0.0] * 4, "All elements of"),
        ((0, 0, 1, 1), "needs to be a list"),
    ],
)
def test_wrong_stages_of_a_sequential_model_are_refused(wrong: Any, message: str) -> None:
    model = sequential()
    with pytest.raises(ValueError, match=message):
        model.set_pipeline_stage_assignment(wrong)
    assert not model._is_pipelined()


@pytest.mark.parametrize("make", [functional, subclassed])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a: a.pop(), r"length .*\(3\) does not match .*\(4\)"),
        (
            lambda a: a.__setitem__(0, None),
            "must be an instance of .*LayerPipelineStageAssignment`. It is None",
        ),
        (lambda a: a.reverse(), "does not match the post-order"),
        (lambda a: setattr(a[1], "pipeline_stage", None), "node_index 1 has not been assigned"),
        (lambda a: setattr(a[0], "pipeline_stage", -1), "not a pipeline stage"),
        (lambda a: setattr(a[0], "pipeline_stage", 5), "has a dependency from a pipeline stage"),
    ],
)
def test_wrong_assignments_are_refused(make: Any, change: Any, message: str) -> None:
    model = make()
    assignments = model.get_pipeline_stage_assignment()
    number(assignments)
    change(assignments)
    with pytest.raises(ValueError, match=message):
        model.set_pipeline_stage_assignment(assignments)
    assert not model._is_pipelined()


def test_scopes_assign_a_functional_model() -> None:
    inputs = keras.Input(4)
    with PipelineStage(0):
        x = keras.layers.Dense(4)(inputs)
    with PipelineStage(1):
        x = keras.layers.Dense(4)(x)
    assert stages(keras.Model(inputs, x).get_pipeline_stage_assignment()) == [0, 1]


def test_scopes_assign_all_layers_or_none() -> None:
    inputs = keras.Input(4)
    with PipelineStage(0):
        x = keras.layers.Dense(4)(inputs)
    with pytest.raises(ValueError, match=r"However, forgotten has not been assigned"):
        keras.Model(inputs, keras.layers.Dense(4, name="forgotten")(x))


def test_scopes_in_call_assign_a_subclassed_model() -> None:
    class Scoped(Subclassed):
        def call(self, inputs: Any) -> Any:
            with PipelineStage(0):
                x = self.first(inputs)
            with PipelineStage(1):
                return self.second(x)

    model = Scoped()
    model.build((None, 4))
    assert stages(model.get_pipeline_stage_assignment()) == [0, 1]


def test_a_subclassed_model_is_built_first() -> None:
    with pytest.raises(RuntimeError, match="has not been built yet"):
        Subclassed().get_pipeline_stage_assignment()
    with pytest.raises(RuntimeError, match="has not been built yet"):
        Subclassed().set_pipeline_stage_assignment([])


def test_building_a_subclassed_model_again_keeps_the_stages() -> None:
    model = pipelined(subclassed())
    model.build((2, 4))
    assert stages(model.get_pipeline_stage_assignment()) == [0, 1, 2, 3]
    assert [one.node_index for one in model.get_pipeline_stage_assignment()] == [0, 1, 0, 0]


def _inner(kind: str) -> Any:
    if kind == "functional":
        x = keras.Input(4)
        return keras.Model(x, keras.layers.Dense(4)(keras.layers.Dense(4)(x)), name="inner")
    if kind == "sequential":
        return keras.Sequential([keras.Input(4), keras.layers.Dense(4), keras.layers.Dense(4)], name="inner")
    model = Subclassed(name="inner")
    model.second = keras.layers.Dense(4)
    model.build((None, 4))
    return model


class Around(keras.Model):  # type: ignore[misc]
    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.inner = inner
        self.last = keras.layers.Dense(2)

    def call(self, inputs: Any) -> Any:
        return self.last(self.inner(inputs))


def _outer(kind: str, inner: Any) -> Any:
    if kind == "functional":
        x = keras.Input(4)
        return keras.Model(x, keras.layers.Dense(2)(inner(x)))
    if kind == "sequential":
        return keras.Sequential([keras.Input(4), inner, keras.layers.Dense(2)])
    model = Around(inner)
    model.build((None, 4))
    return model


KINDS = ("functional", "sequential", "subclassed")


@pytest.mark.parametrize("outer", KINDS)
@pytest.mark.parametrize("inner", KINDS)
def test_layers_of_nested_models_have_stages_of_their_own(outer: str, inner: str) -> None:
    nested = _inner(inner)
    model = pipelined(_outer(outer, nested))
    calls = 4 if inner == "subclassed" else 2
    assert stages(model.get_pipeline_stage_assignment()) == [list(range(calls)), calls]
    # the nested model has none itself
    assert not nested._is_pipelined()


def test_a_nested_model_that_is_called_twice_has_two_sets_of_stages() -> None:
    inner, x = _inner("functional"), keras.Input(4)
    model = pipelined(keras.Model(x, inner(inner(x))))
    assert stages(model.get_pipeline_stage_assignment()) == [[0, 1], [2, 3]]


def test_the_summary_lists_calls_inputs_and_stages() -> None:
    model = pipelined(functional())
    lines: list[str] = []
    model.print_pipeline_stage_assignment_summary(line_length=60, print_fn=lines.append)
    assert all(len(line) == 60 for line in lines[1:])
    rows = [line.split() for line in lines if line[0] not in "_="]
    assert rows[2:] == [
        ["shared", "(Dense)", "(0)", "left", "0"],
        ["shared", "(Dense)", "(1)", "right", "1"],
        ["add", "(Add)", "(0)", "shared", "2"],
        ["shared"],
        ["last", "(Dense)", "(0)", "add", "3"],
    ]


def test_the_summary_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    sequential(1).print_pipeline_stage_assignment_summary()
    assert "dense0 (Dense)" in capsys.readouterr().out


@pytest.mark.parametrize("make", [functional, sequential, subclassed])
def test_an_assignment_says_what_it_is(make: Any) -> None:
    one = pipelined(make()).get_pipeline_stage_assignment()[0]
    assert one.layer.name in str(one)
    assert str(one).endswith("pipeline stage: 0")


# options


@pytest.mark.parametrize("make", [functional, sequential, subclassed])
def test_options_are_kept(make: Any) -> None:
    model = make()
    model.set_pipelining_options(
        gradient_accumulation_steps_per_replica=4,
        device_mapping=[0, 1, 1, 0],
        accumulate_outfeed=True,
        gradient_accumulation_reduction_method="mean",
        offload_activations=True,
    )
    assert model._pipelining_gradient_accumulation_steps_per_replica == 4
    assert model._pipelining_device_mapping == [0, 1, 1, 0]
    assert model._pipelining_accumulate_outfeed is True
    assert model._gradient_accumulation_reduction_method.name == "MEAN"
    assert model._pipelining_kwargs["offload_activations"] is True


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gradient_accumulation_steps_per_replica": 0}, "positive integer, but got 0"),
        ({"gradient_accumulation_steps_per_replica": 1.5}, "positive integer, but got 1.5"),
        ({"device_mapping": [0.0]}, "list of integers"),
        ({"device_mapping": (0, 1)}, "list of integers"),
        ({"gradient_accumulation_reduction_method": "max"}, "Cannot parse max"),
        ({"gradient_accumulation_count": 4}, "`gradient_accumulation_steps_per_replica` argument"),
        ({"repeat_count": 4}, "automatically set by Keras"),
        ({"outfeed_mask": [True]}, "not compatible with Keras"),
    ],
)
def test_wrong_options_are_refused_and_change_nothing(options: dict[str, Any], message: str) -> None:
    model = functional()
    model.set_pipelining_options(gradient_accumulation_steps_per_replica=4, device_mapping=[0])
    with pytest.raises(ValueError, match=message):
        model.set_pipelining_options(**options)
    assert model._pipelining_gradient_accumulation_steps_per_replica == 4
    assert model._pipelining_device_mapping == [0]


# configurations


def _same(model: Any, other: Any) -> None:
    assert stages(other.get_pipeline_stage_assignment()) == stages(model.get_pipeline_stage_assignment())
    assert other._is_pipelined()
    assert other._pipelining_gradient_accumulation_steps_per_replica == 6
    assert other._pipelining_device_mapping == [0, 0, 1, 1]
    assert other._pipelining_accumulate_outfeed is True
    assert other._gradient_accumulation_reduction_method.name == "MEAN"
    x = [tf.ones((2, 4))] * 2 if len(model.inputs or [0]) == 2 else tf.ones((2, 4))
    assert np.shape(other(x)) == np.shape(model(x))


def _configured(make: Any) -> Any:
    model = pipelined(make())
    model.set_pipelining_options(
        gradient_accumulation_steps_per_replica=6,
        device_mapping=[0, 0, 1, 1],
        accumulate_outfeed=True,
        gradient_accumulation_reduction_method="mean",
    )
    return model


def _built_sequential() -> Any:
    model = sequential()
    model.build((None, 4))
    return model


@pytest.mark.parametrize("make", [functional, sequential, subclassed])
def test_a_configuration_keeps_stages_and_options(make: Any) -> None:
    model = _configured(make)
    _same(model, type(model).from_config(model.get_config()))


@pytest.mark.parametrize("make", [functional, _built_sequential])
def test_json_keeps_stages_and_options(make: Any) -> None:
    model = _configured(make)
    _same(model, keras.models.model_from_json(model.to_json()))


@pytest.mark.filterwarnings("ignore:You are saving your model as an HDF5 file")
@pytest.mark.parametrize("make", [functional, _built_sequential])
@pytest.mark.parametrize("file", ["model.h5", "model.keras", "model"])
def test_files_keep_stages_and_options(make: Any, file: str, tmp_path: Path) -> None:
    model = _configured(make)
    model.save(tmp_path / file)
    _same(model, keras.models.load_model(tmp_path / file))


def test_a_saved_subclassed_model_keeps_stages_and_options(tmp_path: Path, two_ipus: None) -> None:
    model = _configured(subclassed)
    model.predict(np.ones((2, 4), np.float32), batch_size=2)
    model.save(tmp_path / "model")
    _same(model, keras.models.load_model(tmp_path / "model", custom_objects={"Subclassed": Subclassed}))


@pytest.mark.parametrize("make", [functional, _built_sequential])
def test_a_clone_has_the_same_stages_and_options(make: Any) -> None:
    model = _configured(make)
    _same(model, keras.models.clone_model(model))


def test_stages_of_nested_models_are_kept_too() -> None:
    model = pipelined(_outer("functional", _inner("sequential")))
    other = keras.Model.from_config(model.get_config())
    assert stages(other.get_pipeline_stage_assignment()) == [[0, 1], 2]
