"""Executables of sessions: files that only the same program takes back, and entries of the engine cache."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import popart

CPU = popart.DeviceManager().createCpuDevice
DATA = np.random.default_rng(5).standard_normal((2, 3)).astype(np.float32)


def offline() -> popart.DeviceInfo:
    return popart.DeviceManager().createOfflineIPUDevice({})


def net(square: bool = False, scale: float = 1.0) -> tuple[bytes, str, str, str]:
    """A model with its input, weight and loss."""
    builder = popart.Builder()
    data = builder.addInputTensor(popart.TensorInfo("FLOAT", [2, 3]))
    values = scale * np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)
    weight = builder.addInitializedInputTensor(values)
    out = builder.aiOnnx.matmul([data, weight])
    out = builder.aiOnnx.mul([out, out]) if square else builder.aiOnnx.tanh([out])
    loss = builder.aiGraphcore.l1loss([out], 0.5)
    return builder.getModelProto(), data, weight, loss


def training(
    device: popart.DeviceInfo | None = None,
    options: popart.SessionOptions | None = None,
    *,
    momentum: float = 0.9,
    batches: int = 1,
    square: bool = False,
    scale: float = 1.0,
) -> popart.TrainingSession:
    model, _data, weight, loss = net(square, scale)
    optimizer = popart.SGD({"defaultLearningRate": (0.1, False), "defaultMomentum": (momentum, True)})
    flow = popart.DataFlow(batches, [loss, weight])
    return popart.TrainingSession(model, flow, loss, optimizer, device or CPU(), userOptions=options)


def weights_after(session: popart.TrainingSession, steps: int) -> np.ndarray:
    """The weight after some steps."""
    data, weight = net()[1:3]
    anchors = session.initAnchorArrays()
    for _ in range(steps):
        session.run(popart.PyStepIO({data: DATA}, anchors))
    return anchors[weight].copy()


def ready(session: popart.TrainingSession) -> popart.TrainingSession:
    session.prepareDevice()
    session.weightsFromHost()
    return session


def caching(folder: Path) -> popart.SessionOptions:
    options = popart.SessionOptions()
    options.enableEngineCaching = True
    options.cachePath = str(folder)
    return options


@pytest.mark.parametrize("apart", [False, True])
def test_training_goes_on_from_a_file_where_it_stopped(tmp_path: Path, apart: bool) -> None:
    first = ready(training())
    weights_after(first, 2)
    first.saveExecutable(tmp_path, saveVariables=not apart)
    if apart:
        first.saveVariables(tmp_path)
    names = {"executable.popef", "variables.popef"} if apart else {"executable.popef"}
    assert {each.name for each in tmp_path.iterdir()} == names
    expected = weights_after(first, 2)

    # other values to begin with: those of the file take their place, the momentum's too
    second = training(scale=3.0)
    second.loadExecutable(tmp_path)
    np.testing.assert_array_equal(weights_after(ready(second), 2), expected)


def test_a_file_without_variables_leaves_those_of_the_session(tmp_path: Path) -> None:
    options = popart.SessionOptions()
    options.enableVariablesCaching = False
    path = tmp_path / "sub" / "net.popart"
    training(options=options).compileAndExport(path)
    loaded = training(scale=3.0)
    loaded.loadExecutable(path)
    np.testing.assert_array_equal(
        weights_after(ready(loaded), 1), weights_after(ready(training(scale=3.0)), 1)
    )


@pytest.mark.parametrize(
    ("other", "difference"),
    [
        (lambda: training(square=True), "the model"),
        (lambda: training(batches=2), "turns"),
        (lambda: training(momentum=0.5), "optimizer"),
    ],
)
def test_an_executable_of_another_program_is_refused(
    tmp_path: Path, other: Callable[[], popart.TrainingSession], difference: str
) -> None:
    training().compileAndExport(tmp_path)
    with pytest.raises(popart.popart_exception, match=f"another program .* differ in {difference}"):
        other().loadExecutable(tmp_path)


def test_options_that_change_the_program_are_part_of_it(tmp_path: Path) -> None:
    training().compileAndExport(tmp_path)
    options = popart.SessionOptions()
    options.enableGradientAccumulation = True
    options.accumulationFactor = 2
    with pytest.raises(popart.popart_exception, match="option accumulationFactor"):
        training(options=options).loadExecutable(tmp_path)


def test_files_that_are_none_are_refused(tmp_path: Path) -> None:
    session = ready(training())
    with pytest.raises(popart.popart_exception, match="There is no file"):
        session.loadExecutable(tmp_path / "nothing")
    session.saveExecutable(tmp_path / "bare", savePopartMetadata=False)
    with pytest.raises(popart.popart_exception, match="without PopART's metadata"):
        session.loadExecutable(tmp_path / "bare")
    (tmp_path / "text").write_text("no executable")
    with pytest.raises(popart.popart_exception, match="no session executable at all"):
        session.loadExecutable(tmp_path / "text")


def test_what_must_be_compiled_first_says_so(tmp_path: Path) -> None:
    with pytest.raises(popart.popart_exception, match=r"call prepareDevice\(\) first"):
        training().saveExecutable(tmp_path)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)
@given(place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7), cut=st.booleans())
def test_damage_is_refused_or_without_effect(tmp_path: Path, place: float, bit: int, cut: bool) -> None:
    path = tmp_path / "net.popart"
    if not path.exists():
        training().compileAndExport(path)
    whole = path.read_bytes()
    index = int(place * len(whole))
    damaged = whole[:index] if cut else whole[:index] + bytes([whole[index] ^ 1 << bit]) + whole[index + 1 :]
    broken = tmp_path / "damaged.popart"
    broken.write_bytes(damaged)
    session = training(scale=3.0)
    own, weight = np.empty((3, 4), np.float32), net()[2]
    try:
        session.loadExecutable(broken)
    except popart.popart_exception:
        expected = 3 * np.linspace(-1, 1, 12, dtype=np.float32)
    else:
        assert not cut
        expected = np.linspace(-1, 1, 12, dtype=np.float32)
    session.readWeights(popart.PyWeightsIO({weight: own}))
    np.testing.assert_array_equal(own.reshape(-1), expected)


def test_a_model_of_ipus_has_no_executable(tmp_path: Path) -> None:
    session = training(popart.DeviceManager().createIpuModelDevice({"numIPUs": 1}))
    for call in (session.compileAndExport, session.loadExecutable, session.saveExecutable):
        with pytest.raises(popart.popart_exception, match="device type ipu-model cannot be saved"):
            call(tmp_path)
    assert not list(tmp_path.iterdir())


def test_the_cache_finds_the_same_program_again(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], request: pytest.FixtureRequest
) -> None:
    request.addfinalizer(lambda: popart.getLogger().setLevel("WARN"))
    popart.getLogger().setLevel("INFO")

    def hit(**change: float) -> bool:
        training(offline(), caching(tmp_path / "cache"), **change).prepareDevice()
        text = capfd.readouterr().err
        found = "Loading serialized PopART executable" in text
        assert found != ("Starting compilation" in text)
        return found

    assert not hit()
    assert hit()
    assert hit(scale=2.0)  # weights are not part of the program
    assert not hit(momentum=0.5)
    (entry, _) = sorted((tmp_path / "cache").iterdir())
    assert entry.suffix == ".popef"


def test_a_damaged_entry_is_a_miss(tmp_path: Path) -> None:
    training(offline(), caching(tmp_path)).prepareDevice()
    (entry,) = tmp_path.iterdir()
    sound = entry.read_bytes()
    entry.write_bytes(sound[:-40])
    training(offline(), caching(tmp_path)).prepareDevice()
    assert len(entry.read_bytes()) == len(sound)


def test_a_session_from_the_cache_has_no_report(tmp_path: Path) -> None:
    training(offline(), caching(tmp_path)).prepareDevice()
    again = training(offline(), caching(tmp_path))
    again.prepareDevice()
    with pytest.raises(popart.popart_exception, match="Unable to get reports when using a cached executable"):
        again.getReport()


def test_the_cache_has_the_profile_without_runs(tmp_path: Path) -> None:
    import pva

    options = caching(tmp_path / "cache")
    options.engineOptions["autoReport.directory"] = str(tmp_path / "reports")
    options.engineOptions["autoReport.all"] = "true"
    training(offline(), options).prepareDevice()
    kept, written = (tmp_path / folder / "training" / "profile.pop" for folder in ("cache", "reports"))
    assert pva.openReport(str(kept)).execution.totalCycles.total == 0
    assert pva.openReport(str(written)).execution.totalCycles.total > 0


def test_devices_other_than_ipus_keep_nothing(tmp_path: Path) -> None:
    training(options=caching(tmp_path / "cache")).prepareDevice()
    assert not (tmp_path / "cache").exists()


def replicated(scale: float) -> tuple[popart.TrainingSession, str]:
    """A session of two replicas, each with a weight of its own, and its input."""
    builder = popart.Builder()
    data = builder.addInputTensor(popart.TensorInfo("FLOAT", [2, 3]))
    own = popart.VariableSettings(
        popart.CommGroup(popart.CommGroupType.Consecutive, 1), popart.VariableRetrievalMode.OnePerGroup
    )
    values = scale * np.linspace(-1, 1, 24, dtype=np.float32).reshape(2, 3, 4)
    weight = builder.addInitializedInputTensor(values, own)
    loss = builder.aiGraphcore.l1loss([builder.aiOnnx.matmul([data, weight])], 0.5)
    options = popart.SessionOptions()
    options.enableReplicatedGraphs, options.replicatedGraphCount = True, 2
    session = popart.TrainingSession(
        builder.getModelProto(), popart.DataFlow(1, [loss]), loss, popart.Adam({}),
        popart.DeviceManager().createSimDevice({"numIPUs": 2}), userOptions=options,
    )  # fmt: skip
    return session, data


def test_every_group_of_replicas_has_its_weights_and_state_back(tmp_path: Path) -> None:
    def losses(session: popart.TrainingSession, data: str) -> np.ndarray:
        anchors = session.initAnchorArrays()
        for _ in range(2):
            session.run(popart.PyStepIO({data: np.stack([DATA, -2 * DATA])}, anchors))
        (found,) = anchors.values()
        return found.copy()

    first, data = replicated(1.0)
    losses(ready(first), data)
    first.saveExecutable(tmp_path)
    second, _ = replicated(3.0)
    second.loadExecutable(tmp_path)
    np.testing.assert_array_equal(losses(first, data), losses(ready(second), data))
