"""Exported models give what their steps give, on stock TensorFlow."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.ipu import serving

_SPEC = tf.TensorSpec([3], tf.float32)


def _loaded(folder: Path) -> Any:
    return tf.saved_model.load(str(folder)).signatures["serving_default"]


def test_a_step_is_exported_with_its_neighbours(tmp_path: Path) -> None:
    weight = tf.Variable(4.0)
    exported = serving.export_single_step(
        lambda x, y: (x * weight + y, x - y),
        str(tmp_path),
        8,
        [_SPEC, _SPEC],
        output_names=["sum", "product"],
        preprocessing_step=tf.function(lambda a, b: (a + 1, b * 2), input_signature=[_SPEC, _SPEC]),
        postprocessing_step=lambda p, q: (p + q, p * q),
        postprocessing_step_signature=[_SPEC, _SPEC],
    )
    weight.assign(0.0)
    a, b = np.arange(3, dtype=np.float32), np.ones(3, np.float32)
    p, q = (a + 1) * 4 + b * 2, (a + 1) - b * 2
    for found in (exported(a, b), _loaded(tmp_path)(a=tf.constant(a), b=tf.constant(b))):
        np.testing.assert_array_equal(found["sum"], p + q)
        np.testing.assert_array_equal(found["product"], p * q)


def test_results_without_names_are_numbered(tmp_path: Path) -> None:
    dataset = tf.data.Dataset.from_tensors(np.zeros(3, np.float32))
    serving.export_single_step(lambda x: (x, x + 1), str(tmp_path), 4, input_dataset=dataset)
    assert sorted(_loaded(tmp_path)(x=tf.ones(3))) == ["output_0", "output_1"]


def test_a_pipeline_is_exported(tmp_path: Path) -> None:
    def first(scale: Any, x: Any) -> Any:
        return scale * x

    serving.export_pipeline(
        [first, lambda y: (y + 1, y * 2)],
        str(tmp_path),
        iterations=4,
        inputs=[3.0],
        device_mapping=[0, 0],
        input_dataset=tf.data.Dataset.from_tensors(np.zeros(3, np.float32)),
    )
    found = _loaded(tmp_path)(x=tf.constant([1.0, 2.0, 3.0]))
    assert found["output_0"].numpy().tolist() == [4, 7, 10]
    assert found["output_1"].numpy().tolist() == [6, 12, 18]


def test_the_executable_is_beside_the_model(tmp_path: Path) -> None:
    from popef import Reader

    serving.export_single_step(lambda x: x, str(tmp_path), 4, [_SPEC])
    (name,) = os.listdir(tmp_path / "assets")
    reader = Reader()
    reader.parseFile(tmp_path / "assets" / name)
    (metadata,) = reader.metadata()
    assert [anchor.programs() for anchor in metadata.anchors()] == [[1], [1]]
    assert metadata.programsMap()[1] == "main_program"


def test_an_exported_model_runs_without_tremula(tmp_path: Path) -> None:
    weight = tf.Variable(3.0)
    serving.export_single_step(lambda x: x * weight, str(tmp_path), 4, [_SPEC], output_names="y")
    program = (
        "import sys, tensorflow as tf\n"
        f"f = tf.saved_model.load({str(tmp_path)!r}).signatures['serving_default']\n"
        "print(f(x=tf.ones(3))['y'].numpy().tolist())\n"
        "assert 'tremula.frontends.tensorflow.hooks' not in sys.modules\n"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[3.0, 3.0, 3.0]"


def test_a_folder_with_files_is_refused_or_emptied(tmp_path: Path) -> None:
    (tmp_path / "old").touch()
    with pytest.raises(ValueError, match="is not empty"):
        serving.export_single_step(lambda x: x, str(tmp_path), 4, [_SPEC])
    with pytest.raises(ValueError, match="must be not empty"):
        serving.export_single_step(lambda x: x, str(tmp_path), 4, [], purge_export_dir=True)
    assert (tmp_path / "old").exists()
    serving.export_single_step(lambda x: x, str(tmp_path), 4, [_SPEC], purge_export_dir=True)
    assert not (tmp_path / "old").exists()


@pytest.mark.parametrize(
    ("options", "problem", "text"),
    [
        ({}, ValueError, "plain function"),
        ({"predict_step_signature": _SPEC}, TypeError, "tuple or list"),
        ({"predict_step_signature": [3]}, TypeError, r"\[0\]` is not an instance of TensorSpec"),
        ({"predict_step_signature": [_SPEC, _SPEC]}, ValueError, "does not match the number"),
        ({"predict_step_signature": [_SPEC], "input_dataset": tf.data.Dataset.range(1)}, ValueError, "Both"),
        ({"input_dataset": 3}, TypeError, "tf.data.Dataset"),
        ({"predict_step_signature": [_SPEC], "output_names": ("a",)}, TypeError, "output_names"),
        (
            {"predict_step_signature": [_SPEC], "output_names": ["a", "b"]},
            ValueError,
            "Length of output_names",
        ),
        (
            {"predict_step_signature": [_SPEC], "preprocessing_step": lambda x: x},
            ValueError,
            "preprocessing_step",
        ),
        (
            {
                "predict_step_signature": [_SPEC],
                "preprocessing_step": lambda x: x[:2],
                "preprocessing_step_signature": [_SPEC],
            },
            ValueError,
            "Output 0 of `preprocessing_step`",
        ),
        (
            {
                "predict_step_signature": [_SPEC],
                "postprocessing_step": lambda x, y: x,
                "postprocessing_step_signature": [_SPEC, _SPEC],
            },
            ValueError,
            "number of the `predict_step` outputs",
        ),
    ],
)
def test_what_does_not_fit_is_refused(
    tmp_path: Path, options: dict[str, Any], problem: type[Exception], text: str
) -> None:
    with pytest.raises(problem, match=text):
        serving.export_single_step(lambda x: x, str(tmp_path), 4, **options)
    assert not os.listdir(tmp_path)


def test_a_model_of_stock_keras_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="IPU strategy"):
        serving.export_keras(object(), str(tmp_path))
