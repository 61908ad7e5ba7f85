"""Data in files, and the speed of datasets, in eager and in graph mode."""

from __future__ import annotations

import json

import numpy as np
import pytest
import tensorflow as tf

from tremula.frontends.tensorflow import data_files, dataset_export, live_weights
from tremula.frontends.tensorflow.buffered_dataset import BufferDataset
from tremula.frontends.tensorflow.dataset_speed import dataset_benchmark
from tremula.frontends.tensorflow.testing.datasets import create_dual_increasing_dataset
from tremula.frontends.tensorflow.variable_placement import move_variable_initialization_to_cpu


def both_modes(act):
    """Run `act` eagerly and in a graph."""
    act()
    with tf.Graph().as_default():
        act()


def test_elements_of_a_dataset_are_written_in_order(tmp_path):
    file = tmp_path / "deep" / "data.bin"

    def act():
        dataset = create_dual_increasing_dataset(5, [2], [1])
        dataset_export.export_dataset_to_file(dataset, str(file), 7, "feed")
        found = data_files.read([file])
        assert sorted(found) == ["feed.0", "feed.1"]
        np.testing.assert_array_equal(found["feed.1"][:, 0], [0, 1, 2, 3, 4, 0, 1])
        file.unlink()

    both_modes(act)


def test_too_few_elements_are_an_error(tmp_path):
    with pytest.raises(tf.errors.InvalidArgumentError, match="has 3 elements, but"):
        dataset_export.export_dataset_to_file(tf.data.Dataset.range(3), str(tmp_path / "x"), 4)
    with pytest.raises(TypeError):
        dataset_export.export_dataset_to_file([1, 2], str(tmp_path / "x"), 1)
    assert not list(tmp_path.iterdir())


def test_values_of_placeholders_are_written(tmp_path):
    file = tmp_path / "inputs.bin"
    with tf.Graph().as_default():
        a = tf.compat.v1.placeholder(tf.float32, [2], name="scope/a")
        dataset_export.export_inputs_to_file([a], str(file), {a: [1.0, 2.0]})
    np.testing.assert_array_equal(data_files.read([file])["scope/a:0"], [1.0, 2.0])


def test_weights_of_a_model_survive_a_file(tmp_path):
    file = str(tmp_path / "weights.bin")
    first, second = (tf.Module() for _ in range(2))
    first.a, first.b = tf.Variable([1.0, 2.0], name="a"), tf.Variable(3, name="b")
    second.a, second.b = tf.Variable([0.0, 0.0], name="a"), tf.Variable(0, name="b")
    live_weights.export_variables_from_live_model(first, file)
    live_weights.import_data_in_live_model(second, [file])
    assert second.a.numpy().tolist() == [1.0, 2.0]
    assert second.b.numpy() == 3
    second.a = tf.Variable([0.0, 0.0, 0.0], name="a")
    with pytest.raises(ValueError, match=r"as float32 of shape \(2,\)"):
        live_weights.import_data_in_live_model(second, [file])


def test_weights_of_a_session_survive_a_file(tmp_path):
    file = str(tmp_path / "weights.bin")
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        variable = tf.compat.v1.get_variable("v", initializer=[1.0, 2.0], use_resource=True)
        session.run(variable.initializer)
        live_weights.export_variables_from_live_session(session, file)
        session.run(variable.assign([0.0, 0.0]))
        live_weights.import_data_in_live_session(session, [file])
        assert session.run(variable).tolist() == [1.0, 2.0]


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04nothing", b"\x80\x04."])
def test_a_file_that_is_not_ours_is_refused(tmp_path, damage):
    file = tmp_path / "bad.bin"
    file.write_bytes(damage)
    with pytest.raises(ValueError, match="is not a file of exported arrays"):
        data_files.read([file])


def test_the_speed_of_a_dataset_is_told_for_each_epoch():
    def act():
        told = dataset_benchmark(create_dual_increasing_dataset(10, [4], [1]), 3, 20)
        if not tf.executing_eagerly():
            with tf.compat.v1.Session() as session:
                told = session.run(told)
        epochs = json.loads(bytes(np.asarray(told)[0]))["epochs"]
        assert len(epochs) == 3
        for epoch in epochs:
            assert epoch["elements_processed"] == 20
            assert epoch["total_bytes_processed"] == 20 * 20
            assert epoch["elements_per_second"] == pytest.approx(20 / epoch["time_elapsed"])
            assert epoch["bandwidth"] == pytest.approx(400 / epoch["time_elapsed"] / 1e9)

    both_modes(act)


def test_a_dataset_that_ends_too_early_has_no_speed():
    with pytest.raises(tf.errors.InvalidArgumentError, match="repeat it"):
        dataset_benchmark(tf.data.Dataset.range(5), 1, 6)


@pytest.mark.parametrize(("elements", "size", "left"), [(10, 3, 9), (9, 3, 9), (2, 3, 0)])
def test_a_buffered_dataset_ends_with_a_whole_buffer(elements, size, left):
    buffered = BufferDataset(tf.data.Dataset.range(elements), size)
    assert [int(each) for each in buffered] == list(range(left))
    assert buffered.element_spec == tf.TensorSpec([], tf.int64)


def test_initial_values_are_computed_on_the_cpu():
    with tf.Graph().as_default() as graph:
        with tf.device("/device:IPU:0"):
            variable = tf.compat.v1.get_variable("v", [4], use_resource=True)
        move_variable_initialization_to_cpu()
        assert variable.initializer.inputs[1].op.device == "/device:CPU:0"
        assert "IPU:0" in variable.handle.op.device
        assert graph.get_operation_by_name("cpu") is not None
