"""The packages import, quietly, and the command line does so without torch."""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import tremula

#: imported by tests/frontends/tensorflow/test_imports.py, where TensorFlow is installed
TENSORFLOW = "tremula.frontends.tensorflow."


def modules(package: str) -> list[str]:
    root = importlib.import_module(package)
    found = pkgutil.walk_packages(root.__path__, prefix=f"{package}.")
    names = [package, *(each.name for each in found if not each.name.endswith("__main__"))]
    return [name for name in names if not name.startswith(TENSORFLOW)]


@pytest.mark.parametrize("name", modules("tremula"))
def test_every_module_of_the_engine_imports(name: str) -> None:
    module = importlib.import_module(name)
    assert module.__file__ is not None
    empty = Path(module.__file__).stat().st_size == 0
    assert module.__doc__ or empty, f"{name} does not say what it models"


def test_import_poptorch_prints_nothing() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", "import poptorch; print(poptorch.__file__)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip().endswith("__init__.py")
    assert done.stderr == ""


#: small packages that may come with the shim; whatever else it needs is imported where it is used
COMPANIONS = {"filelock", "platformdirs", "safetensors"}

LOADED = """
import sys, torch
before = set(sys.modules)
import poptorch
print(*sorted(set(sys.modules) - before))
"""


def test_import_poptorch_loads_little_beyond_torch() -> None:
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)
    loaded = [name for name in done.stdout.split() if name.split(".")[0] not in ("poptorch", "tremula")]
    # Compilers and tracers (torch._inductor, torch._dynamo, torch.fx.experimental) wait for the first model.
    assert [name for name in loaded if name.split(".")[0] == "torch"] == []
    others = {name.split(".")[0] for name in loaded} - set(sys.stdlib_module_names)
    assert others <= COMPANIONS
    # Of the standard library, nothing that takes long or starts something.
    heavy = {"asyncio", "unittest", "sqlite3", "xml", "http", "email", "concurrent", "distutils", "pydoc"}
    assert {name.split(".")[0] for name in loaded} & heavy == set()


def test_the_engine_does_not_load_the_shim() -> None:
    names = [name for name in modules("tremula") if not name.startswith("tremula.cli.programs")]
    script = f"import importlib, sys\nfor n in {names}: importlib.import_module(n)\n"
    shims = ("poptorch", "popdist", "popart", "gcipuinfo", "pva")
    script += f"assert not [n for n in sys.modules if n.split('.')[0] in {shims}]"
    subprocess.run([sys.executable, "-c", script], check=True)


#: the only packages that may import a framework; and the two ways to start processes, imported when a run begins
WITH_FRAMEWORK = (
    "tremula.frontends",
    "tremula.distributed",
    "tremula.custom_ops",
    "tremula.launch.local_run",
    "tremula.launch.mpi_run",
)


def test_only_front_ends_and_distributed_need_a_framework() -> None:
    names = [name for name in modules("tremula") if not name.startswith(WITH_FRAMEWORK)]
    script = "import importlib, sys\nfor n in ('torch', 'tensorflow', 'onnx'): sys.modules[n] = None\n"
    script += f"for n in {names}: importlib.import_module(n)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_command_line_starts_without_torch() -> None:
    script = "import sys, tremula.cli.main\nassert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_version() -> None:
    assert tremula.__version__.count(".") == 2
