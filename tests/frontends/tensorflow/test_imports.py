"""The modules of the TensorFlow front end and its shims import, quietly, and torch is none of their business."""

from __future__ import annotations

import importlib
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest
import tensorflow as tf
from tensorflow.python import ipu

import tremula

FRONT_END = "tremula.frontends.tensorflow"
SHIMS = ("tensorflow.python.ipu", "tensorflow.compiler.plugin", "keras.ipu", "ipu_tensorflow_addons")


def modules(package: str) -> list[str]:
    root = importlib.import_module(package)
    return [package, *(each.name for each in pkgutil.walk_packages(root.__path__, prefix=f"{package}."))]


@pytest.mark.parametrize("name", [name for package in (FRONT_END, *SHIMS) for name in modules(package)])
def test_every_module_imports_and_says_what_it_is(name: str) -> None:
    module = importlib.import_module(name)
    assert module.__file__ is not None
    assert module.__doc__ or Path(module.__file__).stat().st_size == 0


def test_every_attribute_of_the_package_can_be_read() -> None:
    assert [name for name in ipu.__all__ if getattr(ipu, name) is None] == []


def test_the_front_end_loads_neither_torch_nor_a_shim_of_another_framework() -> None:
    script = (
        "import sys, tensorflow, keras\n"
        "from tensorflow.python import ipu\n"
        "[getattr(ipu, name) for name in ipu.__all__]\n"
        "print(*[n for n in ('torch', 'poptorch', 'popart') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_stock_version_is_kept() -> None:
    assert tf.__version__.startswith("2.")


def test_what_is_not_there_yet_says_so_when_it_is_used() -> None:
    with pytest.raises(NotImplementedError, match="PopDistStrategy"):
        ipu.ipu_multi_worker_strategy.IPUMultiWorkerStrategy()


def test_the_front_end_never_takes_the_interface_that_a_program_chose() -> None:
    sources = Path(tremula.__file__).parents[1]
    folders = (
        "tremula/frontends/tensorflow",
        "tensorflow_ipu",
        "keras_ipu",
        "tensorflow_plugin",
        "ipu_tensorflow_addons",
    )
    found = [
        path
        for folder in folders
        for path in (sources / folder).rglob("*.py")
        if re.search(r"^\s*(import tensorflow as|from tensorflow import)", path.read_text(), re.MULTILINE)
    ]
    assert found == []
