"""A compiled model whose file was changed: an error that names the file, and nothing else."""

from __future__ import annotations

import contextlib
import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.poptorch.saved_model import Net, X, Y, edit_manifest, quiet_options

import poptorch


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "model.poptorch")


def test_other_versions_are_refused(path: str) -> None:
    poptorch.inferenceModel(Net().eval(), quiet_options()).compileAndExport(path, X)
    assert (
        json.loads(poptorch.importPoptorchMetadataFromFile(path))["poptorch_version"] == poptorch.__version__
    )
    edit_manifest(path, poptorch_version="2.0.0")
    with pytest.raises(AssertionError, match=r"created with version 2\.0\.0"):
        poptorch.load(path)
    executor = poptorch.inferenceModel(Net().eval(), quiet_options())
    with pytest.raises(poptorch.Error, match=r"created with version 2\.0\.0"):
        executor.loadExecutable(path)


def test_options_that_do_not_fit_the_model_are_an_error_that_names_the_file(path: str) -> None:
    """One that the wrapping of a model finds, and keeps its class."""
    poptorch.inferenceModel(Net().eval(), quiet_options()).compileAndExport(path, X)
    with zipfile.ZipFile(path) as container:
        options = json.loads(container.read("manifest.json"))["options"]
    text = json.dumps(options["Training"])
    changed = text.replace('"gradient_accumulation", 1', '"gradient_accumulation", 2')
    assert changed != text, text
    edit_manifest(path, options={**options, "Training": json.loads(changed)})
    with pytest.raises(
        poptorch.Error, match=r"model\.poptorch: You must set .*gradientAccumulation"
    ) as refused:
        poptorch.load(path)
    assert refused.value.message in str(refused.value)


def test_an_option_of_the_layer_below_with_a_wrong_value_is_refused(path: str) -> None:
    poptorch.inferenceModel(Net().eval(), quiet_options()).compileAndExport(path, X)
    with zipfile.ZipFile(path) as container:
        entries = {name: container.read(name) for name in container.namelist()}
    manifest = json.loads(entries["manifest.json"])
    text = json.dumps(manifest["options"]["popart"])
    changed = text.replace(
        '"instrumentWithHardwareCycleCounter", false', '"instrumentWithHardwareCycleCounter", 7'
    )
    assert changed != text, text
    manifest["options"]["popart"] = json.loads(changed)
    edit_manifest(path, options=manifest["options"])
    with pytest.raises(poptorch.Error, match=r"model\.poptorch.*instrumentWithHardwareCycleCounter"):
        poptorch.load(path)


@pytest.mark.parametrize(
    "changes",
    [
        {"options": {}},
        {"inputs": {"args": [], "kwargs": {"dict": []}, "names": ["x"]}},
        {"random_words": ["x"]},
        {"training": True},
        {"exports_model": False},
        {"replica_groupings": []},
        {"surprise": 1},
    ],
)
def test_a_manifest_that_makes_no_sense_is_refused(path: str, changes: dict[str, Any]) -> None:
    poptorch.inferenceModel(Net().eval(), quiet_options()).compileAndExport(path, X)
    edit_manifest(path, **changes)
    with pytest.raises(poptorch.Error, match=r"model\.poptorch"):
        poptorch.load(path)


def _places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        yield from _places(value, (*path, key))


@pytest.fixture(scope="module")
def contents(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    path = str(tmp_path_factory.mktemp("file") / "model")
    training = poptorch.trainingModel(Net(), quiet_options())
    training(X, Y)
    training.save(path)
    with zipfile.ZipFile(path) as container:
        return {name: container.read(name) for name in container.namelist()}


_JUNK = (
    st.none() | st.booleans() | st.integers(-3, 100) | st.text() | st.just([]) | st.just({}) | st.just([[1]])
)


@settings(max_examples=60)
@given(data=st.data())
def test_no_change_of_a_file_leads_to_anything_but_an_error(
    contents: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    name = data.draw(st.sampled_from(["manifest.json", "model.json", "optimizer.json"]))
    document = json.loads(contents[name])
    place = data.draw(st.sampled_from(list(_places(document))[1:]))
    holder = document
    for key in place[:-1]:
        holder = holder[key]
    holder[place[-1]] = data.draw(_JUNK)
    path = str(tmp_path_factory.getbasetemp() / "changed")
    with zipfile.ZipFile(path, "w") as container:
        for entry, content in {**contents, name: json.dumps(document).encode()}.items():
            container.writestr(entry, content)
    with contextlib.suppress(poptorch.Error), _other_versions_suppressed():
        poptorch.load(path)


@contextlib.contextmanager
def _other_versions_suppressed() -> Iterator[None]:
    """PopTorch's own AssertionErrors: another version, or no model in the file."""
    try:
        yield
    except AssertionError as refused:
        if not re.search(r"version|export_model=False", str(refused)):
            raise


def test_an_assertion_on_the_way_is_an_error_that_names_the_file(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    poptorch.inferenceModel(Net().eval(), quiet_options()).compileAndExport(path, X)

    def fail(*_arguments: Any) -> None:
        raise AssertionError("no such thing")

    monkeypatch.setattr(poptorch.Options, "setExecutionStrategy", fail)
    with pytest.raises(poptorch.Error, match=r"model\.poptorch cannot be used: .*no such thing"):
        poptorch.load(path)


@pytest.mark.parametrize(
    ("shape", "words"),
    [([2**40, 2**40], "more than any program has"), ([2**40, 1], "more than this host has")],
)
def test_a_huge_input_is_refused_before_anything_is_allocated(
    path: str, shape: list[int], words: str
) -> None:
    poptorch.inferenceModel(Net().eval(), quiet_options()).compileAndExport(path, X)
    with zipfile.ZipFile(path) as container:
        inputs = json.loads(container.read("manifest.json"))["inputs"]
    inputs["args"][0]["like"][0] = shape
    edit_manifest(path, inputs=inputs)
    with pytest.raises(poptorch.Error, match=rf"model\.poptorch cannot be used: .*{words}"):
        poptorch.load(path)
