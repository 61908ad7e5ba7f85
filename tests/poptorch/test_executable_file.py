"""`save`, `compileAndExport`, `loadExecutable` and `poptorch.load`, end to end."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import zipfile
from collections import namedtuple
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.poptorch.saved_model import Net, X, Y, edit_manifest, quiet_options

import poptorch

Pair = namedtuple("Pair", ["left", "right"])


class Blocks(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.one = poptorch.BeginBlock(torch.nn.Linear(3, 3), "first", ipu_id=0)
        self.two = poptorch.BeginBlock(torch.nn.Linear(3, 3), "second", ipu_id=1)

    def forward(self, x: torch.Tensor) -> Any:
        hidden = self.one(x)
        return Pair(hidden, [self.two(hidden), {"x": hidden.mean()}])


class Adder(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: Any = 2, *, scale: float = 1.0) -> Any:
        return (x["a"] + y) * scale


class Doubled(torch.nn.Module):
    """Calls Python on the host, which no file can hold."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = torch.nn.Linear(2, 2)

    def forward(self, x: torch.Tensor) -> Any:
        return _DOUBLE(self.fc(x))


# kept alive here: the compiled program calls it by its number
_DOUBLE = poptorch.CPU(lambda x: x * 2, "double")


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "model.poptorch")


def _optimizers() -> list[Any]:
    return [
        lambda p: poptorch.optim.SGD(p, lr=0.1, momentum=0.9),
        lambda p: poptorch.optim.AdamW(p, lr=0.1, accum_type=torch.float32),
        lambda p: poptorch.optim.LAMB(p, lr=0.1),
        lambda p: torch.optim.Adam(p, lr=0.1),
        lambda p: torch.optim.SGD([{"params": q, "lr": 0.01 * (i + 1)} for i, q in enumerate(p)], 0.1, 0.9),
    ]


@pytest.mark.parametrize("make", _optimizers())
def test_training_goes_on_where_it_was_saved(path: str, make: Any) -> None:
    model = Net()
    options = quiet_options().randomSeed(5)
    options.Training.gradientAccumulation(2)
    training = poptorch.trainingModel(model, options, make(model.parameters()))
    for _ in range(2):
        training(X, Y)
    training.save(path)
    loaded = poptorch.load(path)
    assert torch.equal(loaded.model.fc.weight, training.model.fc.weight)
    for _ in range(3):
        expected, found = training(X, Y), loaded(X, Y)
        assert torch.equal(expected[0], found[0])
        assert torch.equal(expected[1], found[1])
    for (name, one), (_, two) in zip(
        training.model.state_dict().items(), loaded.model.state_dict().items(), strict=True
    ):
        assert torch.equal(one, two), name
    assert loaded.getTensorNames() == training.getTensorNames()


def test_a_learning_rate_can_still_change_after_loading(path: str) -> None:
    model = Net()
    training = poptorch.trainingModel(model, quiet_options(), poptorch.optim.SGD(model.parameters(), lr=0.1))
    training(X, Y)
    training.save(path)
    loaded = poptorch.load(path)
    before = loaded.model.fc.weight.clone()
    optimizer = poptorch.optim.SGD(loaded.model.parameters(), lr=0.0)
    loaded.setOptimizer(optimizer)
    loaded(X, Y)
    assert torch.equal(loaded.model.fc.weight, before)


def test_the_restored_model_is_the_users_and_can_be_compiled_again(path: str) -> None:
    poptorch.trainingModel(Net(), quiet_options()).compileAndExport(path, X, Y)
    loaded = poptorch.load(path)
    assert isinstance(loaded.model, Net)
    loaded.model.eval()
    validation = poptorch.inferenceModel(loaded, quiet_options())
    assert torch.allclose(validation(X[:2]), loaded.model(X[:2]), atol=1e-6)


def test_offline_compilation_is_for_a_device_when_it_is_loaded(path: str) -> None:
    options = quiet_options().useOfflineIpuTarget().deviceIterations(2)
    offline = poptorch.inferenceModel(Net().eval(), options)
    offline.compileAndExport(path, X)
    seen = []

    def edit(options: poptorch.Options) -> None:
        seen.append(options.connection_type)
        options.connectionType(poptorch.ConnectionType.OnDemand).modelName("edited")

    loaded = poptorch.load(path, edit_opts_fn=edit)
    assert seen == [poptorch.ConnectionType.Always]
    assert loaded.options.model_name == "edited"
    assert loaded.options.device_iterations == 2
    assert not loaded.options.exists("ipu_version")
    assert torch.allclose(loaded(X), loaded.model(X), atol=1e-6)


def test_options_come_back(path: str) -> None:
    options = quiet_options().anchorTensor("a", "fc/MatMul:0") or quiet_options()
    options.anchorTensor("weights", "UpdatedVar___fc.weight")
    options.setExecutionStrategy(poptorch.ShardedExecution(poptorch.AutoStage.AutoIncrement))
    options.Precision.setPartialsType(torch.half)
    options.Training.accumulationAndReplicationReductionType(poptorch.ReductionType.Sum)
    options.TensorLocations.setOptimizerLocation(poptorch.TensorLocationSettings().useOnChipStorage(False))
    options.appendToLocationExcludes("elsewhere")
    training = poptorch.trainingModel(Net(), options)
    training.compileAndExport(path, X, Y)
    loaded = poptorch.load(path)
    expected, found = training.options.toDict(), loaded.options.toDict()
    assert {k: str(v) for k, v in found.items()} == {k: str(v) for k, v in expected.items()}
    assert type(loaded.options._execution_strategy) is poptorch.ShardedExecution
    assert loaded.options._source_location_excludes == training.options._source_location_excludes
    loaded(X, Y)
    assert torch.equal(loaded.getAnchoredTensor("weights"), loaded.model.fc.weight)


def test_a_file_does_not_choose_where_files_are_written(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    poptorch.inferenceModel(Net().eval(), quiet_options()).compileAndExport(path, X)
    outside = tmp_path / "outside"
    with zipfile.ZipFile(path) as container:
        options = json.loads(container.read("manifest.json"))["options"]
    engine = {"autoReport.all": "true", "autoReport.directory": str(outside), "debug.traceFile": str(outside)}
    texts = {"cachePath": str(outside), "customCodelets": [str(outside)], "logDir": str(outside)}
    planted = {
        **texts,
        "enableEngineCaching": True,
        "engineOptions": {"dict": list(map(list, engine.items()))},
    }
    options["popart"]["dict"] += [[name, value] for name, value in planted.items()]
    options["values"] |= {"log_dir": str(outside), "model_name": "../../outside"}
    edit_manifest(path, options=options)
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    loaded = poptorch.load(path)
    loaded(X)
    assert sorted(tmp_path.rglob("*")) == before
    held = loaded.options._Popart.options
    assert not {*texts, "enableEngineCaching"} & held.keys()
    assert held.get("engineOptions", {}) == {}
    assert loaded.options.log_dir == "."
    assert not loaded.options.exists("model_name")
    assert "are not loaded from a file" in caplog.text
    for name in (*texts, "autoReport.directory", "debug.traceFile", "log_dir", "model_name"):
        assert name in caplog.text


def test_the_folder_of_a_cache_is_that_of_the_process_that_loads(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREMULA_EXECUTION", "quick")
    options = quiet_options().enableExecutableCaching(str(tmp_path / "first"))
    poptorch.inferenceModel(Net().eval(), options).compileAndExport(path, X)
    assert "cachePath" not in poptorch.load(path).options._Popart.options
    monkeypatch.setenv("POPTORCH_CACHE_DIR", str(tmp_path / "second"))
    assert poptorch.load(path).options._Popart.options["cachePath"] == str(tmp_path / "second")


def test_blocks_stages_and_named_tuples_come_back(path: str) -> None:
    options = quiet_options().deviceIterations(2)
    options.setExecutionStrategy(poptorch.PipelinedExecution(poptorch.Stage("first").ipu(0), "second"))
    model = poptorch.inferenceModel(Blocks(), options)
    x = torch.randn(4, 3)
    expected = model(x)
    model.save(path)
    loaded = poptorch.load(path)
    found = loaded(x)
    assert type(found) is Pair
    assert torch.equal(found.left, expected.left)
    assert torch.equal(found.right[1]["x"], expected.right[1]["x"])
    assert loaded._session.stages() == model._session.stages()
    assert "BeginBlock(user_id=second, ipu_id=1)" in repr(loaded)
    assert loaded.options._execution_strategy.stage("first")._ipu == 0


def test_arguments_are_checked_like_those_of_the_compilation(path: str) -> None:
    poptorch.inferenceModel(Adder(), quiet_options()).compileAndExport(
        path, {"a": torch.ones(2)}, (3), scale=0.5
    )
    loaded = poptorch.load(path)
    assert torch.equal(loaded({"a": torch.ones(2)}, 3, scale=0.5), torch.full((2,), 2.0))
    for args in (({"a": torch.ones(3)}, 3), ({"a": torch.ones(2)}, 4), ({"b": torch.ones(2)}, 3)):
        with pytest.raises(
            poptorch.Error, match=r"mismatch[^\0]*compiled for the inputs in .*model\.poptorch"
        ):
            loaded(*args, scale=0.5)


def test_the_program_alone_takes_the_weights_of_the_model_that_loads_it(path: str) -> None:
    poptorch.inferenceModel(Net().eval(), quiet_options()).compileAndExport(path, X, export_model=False)
    with pytest.raises(AssertionError, match="export_model=False"):
        poptorch.load(path)
    with zipfile.ZipFile(path) as container:
        assert sorted(container.namelist()) == ["manifest.json", "program.json", "program.safetensors"]
    other = Net().eval()
    executor = poptorch.inferenceModel(other, quiet_options())
    executor.loadExecutable(path)
    assert executor.isCompiled()
    assert executor.isAttachedToDevice()
    assert torch.allclose(executor(X), other(X), atol=1e-6)
    with pytest.raises(poptorch.Error, match="already compiled"):
        executor.loadExecutable(path)


def test_loading_offline_does_not_attach(path: str) -> None:
    poptorch.inferenceModel(Net().eval(), quiet_options()).compileAndExport(path, X)
    executor = poptorch.inferenceModel(Net().eval(), quiet_options().useOfflineIpuTarget())
    executor.loadExecutable(path)
    assert executor.isCompiled()
    assert not executor.isAttachedToDevice()


def test_a_program_for_another_model_is_refused_with_the_differences(path: str) -> None:
    poptorch.inferenceModel(Net().eval(), quiet_options()).compileAndExport(path, X)
    other = Net().eval()
    other.fc = torch.nn.Linear(4, 4, bias=False)
    executor = poptorch.inferenceModel(other, quiet_options())
    with pytest.raises(
        poptorch.Error, match=r"(?s)model\.poptorch.*the parameter fc\.bias is not in the model"
    ):
        executor.loadExecutable(path)
    assert not executor.isCompiled()


def test_only_a_compiled_model_can_be_saved(path: str) -> None:
    with pytest.raises(poptorch.Error, match="not been compiled"):
        poptorch.inferenceModel(Net(), quiet_options()).save(path)


def test_folders_are_made_and_a_folder_gets_the_default_name(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    executor = poptorch.inferenceModel(Net().eval(), quiet_options())
    executor.compile(X)
    executor.save(str(tmp_path / "a" / "b" / "net"))
    assert (tmp_path / "a" / "b" / "net").is_file()
    with caplog.at_level(logging.WARNING):
        executor.save(str(tmp_path / "a"))
    assert (tmp_path / "a" / "model.poptorch").is_file()


def test_the_random_state_is_only_saved_when_asked_for(path: str) -> None:
    training = poptorch.trainingModel(Net(), quiet_options().randomSeed(1))
    training(X, Y)
    training.save(path, save_rng_state=False)
    first = training(X, Y)[0]
    assert not torch.equal(poptorch.load(path)(X, Y)[0], first)


def test_a_pickle_is_not_opened(path: str) -> None:
    torch.save({"x": 1}, path)
    with pytest.raises(poptorch.Error, match="cannot be used"):
        poptorch.load(path)


def test_a_program_with_python_code_is_compiled_again(path: str) -> None:
    model = Doubled()
    executor = poptorch.inferenceModel(model, quiet_options())
    x = torch.randn(1, 2)
    expected = executor(x)
    executor.save(path)
    with zipfile.ZipFile(path) as container:
        assert "program.json" not in container.namelist()
    assert torch.equal(poptorch.load(path)(x), expected)
    fresh = poptorch.inferenceModel(model, quiet_options())
    fresh.loadExecutable(path)
    assert torch.equal(fresh(x), expected)


def test_a_model_that_cannot_be_restored_runs_and_trains_but_is_not_compiled_again(path: str) -> None:
    class Local(Net):
        pass

    training = poptorch.trainingModel(Local(), quiet_options().randomSeed(2))
    training(X, Y)
    training.save(path)
    loaded = poptorch.load(path)
    assert type(loaded.model).__name__.endswith("ExportedModel")
    for _ in range(2):
        assert torch.equal(loaded(x=X, target=Y)[1], training(X, Y)[1])
    assert torch.equal(loaded.model.state_dict()["fc.weight"], training.model.state_dict()["fc.weight"])
    model = loaded.model
    loaded.destroy()
    validation = poptorch.inferenceModel(model, quiet_options())
    with pytest.raises(poptorch.Error, match="Local is defined inside a function"):
        validation(X)


def test_a_process_that_lacks_the_class_can_still_run_the_file(path: str) -> None:
    poptorch.inferenceModel(Net().eval(), quiet_options()).compileAndExport(path, X)
    program = (
        "import sys, torch, poptorch\n"
        "m = poptorch.load(sys.argv[1])\n"
        "print(type(m.model).__name__, tuple(m(torch.zeros(4, 4)).shape))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, path], capture_output=True, text=True, timeout=100, check=False
    )
    assert done.stdout.strip() == "ExportedModel (4, 4)", done.stderr
    assert "is not imported in this process" in done.stderr
