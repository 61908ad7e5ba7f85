"""The framework of a factory is told without importing another."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path
from types import ModuleType
from typing import Any

from tremula.ask.frameworks import is_keras, names_only_keras


def in_module(source: str) -> Any:
    """The function `make` of a module; packages that are not installed are empty modules."""
    lines = source.splitlines()
    packages = [name for name in ("tensorflow", "torch", "keras") if f"import {name}" in lines]
    module: dict[str, Any] = {name: ModuleType(name) for name in packages}
    code = "\n".join(line for line in lines if not line.startswith("import"))
    exec(code, module)  # noqa: S102 - a function with these globals
    return module["make"]


def test_what_a_module_imports_tells_its_framework() -> None:
    body = "def make():\n    return 1"
    assert names_only_keras(in_module(f"import tensorflow\n{body}"))
    assert names_only_keras(in_module(f"import keras\n{body}"))
    assert not names_only_keras(in_module(f"import torch\n{body}"))
    assert not names_only_keras(in_module(f"import torch\nimport tensorflow\n{body}"))
    assert not names_only_keras(in_module(body))


def test_an_import_inside_the_function_tells_it_too() -> None:
    assert names_only_keras(in_module("def make():\n    import tensorflow\n    return tensorflow"))
    assert not names_only_keras(in_module("def make():\n    import torch\n    return torch"))


def test_a_keras_model_is_known_by_the_classes_that_it_comes_from() -> None:
    model = type("Model", (), {"__module__": "keras.src.engine.training"})
    own = type("Own", (model,), {"__module__": "somewhere"})
    assert is_keras(own())
    assert is_keras((own(), 1))
    assert not is_keras(type("Model", (), {"__module__": "somewhere"})())
    assert not is_keras(())
    assert not is_keras(None)


def test_a_factory_of_torch_loads_no_tensorflow(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(
        "import torch\ndef make():\n    return torch.nn.Linear(2, 2), torch.zeros(1, 2)\n"
    )
    script = """
        import sys
        from tremula import ask
        print(ask.factory("net.py:make").parameters, "tensorflow" in sys.modules)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.split() == ["6", "False"]
