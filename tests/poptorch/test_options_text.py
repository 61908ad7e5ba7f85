"""Options from files and JSON: what they can say, and that they cannot run code."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from poptorch import enums
from poptorch.options import ConfigFileError, Options, ShardedExecution
from tremula.errors import Error


@pytest.fixture(autouse=True)
def quiet_environment(monkeypatch):
    monkeypatch.delenv("POPTORCH_CACHE_DIR", raising=False)
    monkeypatch.delenv("POPTORCH_DEFAULT_OPTIONS", raising=False)


@pytest.fixture
def load(tmp_path):
    def read(*lines: str) -> Options:
        path = tmp_path / "my.conf"
        path.write_text("\n".join(lines))
        return Options().loadFromFile(path)

    return read


def test_a_file_of_calls(load):
    options = load(
        "deviceIterations(2 * 8)",
        "  replicationFactor(replication_factor=2)   # two of them",
        "",
        "# nothing",
        "setExecutionStrategy(poptorch.ShardedExecution(poptorch.Stage('a', 'b').ipu(1)))",
        "outputMode(poptorch.OutputMode.EveryN, output_return_period=4)",
        "connectionType(poptorch.enums.ConnectionType.OnDemand)",
        "Training.gradientAccumulation(4).accumulationAndReplicationReductionType(poptorch.ReductionType.Sum)",
        "TensorLocations.setWeightLocation(poptorch.TensorLocationSettings().useOnChipStorage(False))",
        "setAvailableMemoryProportion({'IPU0': 0.5})",
        "Precision.setPartialsType(torch.half)",
        "_Popart.set('dotChecks', ['FINAL', \"ALL\"])",
        "_Popart.set('outlineThreshold', -1.0)",
    )
    assert options.device_iterations == 16
    assert options.replication_factor == 2
    assert isinstance(options._execution_strategy, ShardedExecution)
    assert options._execution_strategy.stage("b").blocks == ("a", "b")
    assert (options.output_mode, options.output_return_period) == (1, 4)
    assert options.connection_type == 1
    assert options.Training.gradient_accumulation == 4
    assert options.Training.accumulation_and_replication_reduction_type == enums.ReductionType.Sum
    assert options.TensorLocations.location_weight == {"onChip": 0}
    assert options.available_memory_proportion == {0: 0.5}
    assert options._Popart.options["partialsTypeMatMuls"] == "half"
    assert options._Popart.options["dotChecks"] == ["FINAL", "ALL"]
    assert options._Popart.options["outlineThreshold"] == -1.0


def test_a_later_file_changes_only_what_it_says(load, tmp_path):
    options = load("deviceIterations(2)", "replicationFactor(2)")
    second = tmp_path / "second.conf"
    second.write_text("deviceIterations(1)")
    options.loadFromFile(str(second))
    assert (options.device_iterations, options.replication_factor) == (1, 2)


def test_a_syntax_error_is_located(load):
    with pytest.raises(ConfigFileError) as caught:
        load("deviceIterations(2)", "", "# comment", "outputMode(poptorch.OutputMode.All")
    where = "SyntaxError at line 2 of my.conf: unexpected EOF while parsing"
    assert where + "\n> options.outputMode(poptorch.OutputMode.All" in str(caught.value)
    assert "line 4" in str(caught.value)


def test_nothing_is_applied_when_a_line_cannot_be_read(tmp_path):
    path = tmp_path / "my.conf"
    path.write_text("deviceIterations(2)\nreplicationFactor(")
    options = Options()
    with pytest.raises(ConfigFileError):
        options.loadFromFile(path)
    assert options.device_iterations == 1


@pytest.mark.parametrize(
    "line",
    [
        "deviceIterations(__import__('os').getpid())",
        "deviceIterations(open('/etc/passwd'))",
        "deviceIterations(1); import os",
        "deviceIterations(1) or print(1)",
        "device_iterations = 4",
        "deviceIterations",
        "deviceIterations(*[1])",
        "deviceIterations(**{'device_iterations': 1})",
        "deviceIterations([x for x in (1,)][0])",
        "deviceIterations(lambda: 1)",
        "deviceIterations(2 ** 9999999)",
        "deviceIterations('a' * 1000000000)",
        "deviceIterations(True * 4)",
        "logDir(f'{1}')",
        "setExecutionStrategy(poptorch.trainingModel(1))",
        "setExecutionStrategy(poptorch._impl.x())",
        "setExecutionStrategy(poptorch.options.os.system('true'))",
        "Precision.setPartialsType(torch.load('x'))",
        "Precision.setPartialsType(torch.int8)",
        "logDir(poptorch.__name__)",
    ],
)
def test_what_a_file_may_not_say(line, load):
    with pytest.raises(ConfigFileError, match=r"line 1 of my\.conf"):
        load(line)


@pytest.mark.parametrize(
    "line",
    [
        "__class__.__init__.__globals__.get('os')",
        "_freeze()",
        "__init__()",
        "_popart.set('a', 1)",
        "noSuchOption(1)",
        "Training.__class__.mro()",
    ],
)
def test_members_that_are_out_of_reach(line, load):
    with pytest.raises(AttributeError, match="Invalid attribute") as caught:
        load("deviceIterations(1)", line)
    assert "my.conf, line 2" in caught.value.__notes__[0]


def test_errors_of_the_options_stay_what_they_are(load):
    with pytest.raises(AssertionError):
        load("deviceIterations('two')")
    with pytest.raises(FileNotFoundError):
        Options().loadFromFile("/no/such/file")


@given(st.text(max_size=60))
def test_no_text_does_anything_but_fail_or_set_options(text):
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "any.conf")
        path.write_text(text, encoding="utf-8")
        # lines as a file has them: str.splitlines would also cut at form feeds
        said = [line.strip() for line in path.read_text(encoding="utf-8").split("\n")]
        try:
            Options().loadFromFile(path)
        except (ConfigFileError, AttributeError, ValueError):
            return
        assert all(not line or line.startswith("#") for line in said)


def test_json():
    options = Options().from_json(
        '{"deviceIterations": 2, "connectionType": "ConnectionType.OnDemand",'
        ' "Precision.enableFloatingPointExceptions": true,'
        ' "_Popart.set": ["saveInitializersToFile", "my_file.onnx"],'
        ' "outputMode": ["OutputMode.EveryN", 3]}'
    )
    assert options.device_iterations == 2
    assert options.connection_type == enums.ConnectionType.OnDemand
    assert options._Popart.options["enableFloatingPointChecks"] is True
    assert options._Popart.options["saveInitializersToFile"] == "my_file.onnx"
    assert options.output_return_period == 3


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("{", ValueError),
        ("[1]", Error),
        ('{"noSuch": 1}', AttributeError),
        ('{"__init__.__globals__.clear": []}', AttributeError),
        ('{"_freeze": []}', AttributeError),
        ('{"connectionType": "ConnectionType.Sometimes"}', AssertionError),
    ],
)
def test_json_that_is_refused(text, error):
    with pytest.raises(error):
        Options().from_json(text)


def test_default_options_of_the_environment(monkeypatch):
    reference = Options().deviceIterations(2).enableSyntheticData(True)
    monkeypatch.setenv("POPTORCH_DEFAULT_OPTIONS", '{"deviceIterations": 2, "enableSyntheticData": true}')
    assert repr(Options()) == repr(reference)
    monkeypatch.setenv("POPTORCH_DEFAULT_OPTIONS", "deviceIterations=2")
    with pytest.raises(Error, match="POPTORCH_DEFAULT_OPTIONS"):
        Options()


def test_torch_is_not_needed_to_be_imported_by_the_file(load):
    assert load("Precision.setPartialsType(torch.float32)")._Popart.options["partialsTypeMatMuls"] == "float"
    assert torch.float32 is torch.float
