"""A pytest plugin for the suites of TensorFlow for IPUs: what surrounds each of their tests.

The suites run each test in a process of its own, so the configuration is reset after each. Helpers of the tests, which
the original packages hold, are found in the suite. A file that turns off the behaviour of TensorFlow 2 when it is a
program gets that too, and data stands in place of downloads if it is given.
"""

from __future__ import annotations

import importlib.util
import os
import pathlib
import sys
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from typing import Any

import pytest


class _SuiteHelpers:
    """Finds modules such as `keras.ipu.optimizers.als_optimizer_test_utils` in the folder that holds the suite."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> Any:
        root = os.environ.get("SUITE_ROOT")
        if root is None or "test" not in name.rpartition(".")[2]:
            return None
        place = pathlib.Path(root, *name.split("."))
        if place.is_dir():
            spec = ModuleSpec(name, None, is_package=True)
            spec.submodule_search_locations = [str(place)]
            return spec
        file = place.with_suffix(".py")
        return importlib.util.spec_from_file_location(name, file) if file.is_file() else None


sys.meta_path.append(_SuiteHelpers)  # type: ignore[arg-type]

if os.environ.get("SUITE_IS_TENSORFLOW_1"):
    # what the file does if it is started as a program
    import tensorflow.compat.v1 as tf

    tf.disable_v2_behavior()
if os.environ.get("TREMULA_MNIST"):
    from keras_datasets import replace_downloads

    replace_downloads()


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Give each instance of a run under poprun a report of its own."""
    instance = int(os.environ.get("OMPI_COMM_WORLD_RANK", "0"))
    if instance and config.option.xmlpath:
        config.option.xmlpath = str(pathlib.Path(config.option.xmlpath).with_suffix(f".{instance}.xml"))


@pytest.fixture(autouse=True)
def nothing_configured() -> Iterator[None]:
    """Give IPUs back after each test."""
    yield
    configure = sys.modules.get("tremula.frontends.tensorflow.config.configure")
    if configure is not None:
        configure.reset_ipu_configuration()
