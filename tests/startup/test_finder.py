"""The import finder: what the interpreter does at its start so that programs find Tremula's IPU modules."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import pytest

TENSORFLOW = importlib.util.find_spec("tensorflow") is not None


def run(program: str, *options: str) -> str:
    """The output of a program in a new interpreter."""
    done = subprocess.run(
        [sys.executable, *options, "-c", program], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_every_interpreter_asks_the_finder_last() -> None:
    assert run("import sys; print(sys.meta_path[-1].__name__)") == "IpuFinder"


def test_starting_an_interpreter_imports_nothing_else_of_ours_and_nothing_of_tensorflow() -> None:
    loaded = run(
        "import sys; print([m for m in sys.modules if m.split('.')[0] in ('tremula', 'tensorflow', 'keras')])"
    )
    assert loaded == "[]"


def test_other_modules_are_none_of_its_business() -> None:
    from tremula_startup import IpuFinder

    assert IpuFinder.find_spec("json.nothing") is None
    assert IpuFinder.find_spec("tensorflow_hub") is None


def test_installing_twice_installs_once() -> None:
    import tremula_startup

    tremula_startup.install()
    assert sum(finder is tremula_startup.IpuFinder for finder in sys.meta_path) == 1


def test_a_missing_tensorflow_is_said_to_be_missing() -> None:
    program = (
        "import sys; sys.modules['tensorflow'] = None\n"
        "from tremula.frontends.tensorflow import versions\n"
        "print(versions.Versions('', '', '').problem)"
    )
    assert "pip install 'tremula[tensorflow]'" in run(program)


@pytest.mark.parametrize(
    ("tensorflow", "tf_keras", "tier"),
    [
        ("2.15.1", "", 1),
        ("2.14.0", "", 0),
        ("2.16.1", "", 0),
        ("2.18.0", "", 0),
        ("2.21.0", "2.21.0", 2),
        ("", "", 0),
    ],
)
def test_versions_are_told_apart(tensorflow: str, tf_keras: str, tier: int) -> None:
    from tremula.frontends.tensorflow.versions import Versions

    found = Versions(tensorflow, "", tf_keras)
    assert found.tier == tier
    assert bool(found.problem) == (tier == 0)


@pytest.mark.skipif(not TENSORFLOW, reason="TensorFlow is not installed")
class TestWithTensorFlow:
    """In the environment of the TensorFlow front end."""

    def test_stock_tensorflow_is_untouched_until_ipu_is_imported(self) -> None:
        program = (
            "import tensorflow as tf\n"
            "from tensorflow.python.client import session\n"
            "from tensorflow.python.data.ops import dataset_ops\n"
            "before = session.BaseSession.__init__, dataset_ops.DatasetV2.__iter__, tf.keras.Model.__init__\n"
            "from tremula.frontends.tensorflow import hooks\n"
            "print(hooks.applied(), all('tremula' not in f.__code__.co_filename for f in before))\n"
            "from tensorflow.python import ipu\n"
            "print(hooks.applied(), session.BaseSession.__init__ is before[0])"
        )
        assert run(program).splitlines() == ["False True", "True False"]

    def test_all_names_of_keras_ipu_are_one_package(self) -> None:
        program = (
            "import tensorflow as tf, keras\n"
            "from tensorflow.python import ipu\n"
            "from tensorflow.keras import ipu as first\n"
            "from keras import ipu as second\n"
            "print(first.PipelineStage is second.PipelineStage is tf.keras.ipu.PipelineStage)"
        )
        assert run(program) == "True"

    def test_modules_that_were_moved_are_given_once(self) -> None:
        program = (
            "from keras.engine import training\n"
            "import keras.engine.training as again\n"
            "from keras.src.engine import training as now\n"
            "print(training is again is now)"
        )
        assert run(program) == "True"

    def test_a_module_that_never_was_is_still_missing(self) -> None:
        program = (
            "try:\n    import tensorflow.python.ipu.nothing\n"
            "except ModuleNotFoundError as error:\n    print(error.name)"
        )
        assert run(program) == "tensorflow.python.ipu.nothing"
