"""Weights in a file beside the model: written there, trained, and written back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

import popart

VALUES = np.arange(6, dtype=np.float32).reshape(2, 3)


def trained(model: bytes | str, loss: str) -> popart.TrainingSession:
    """A session after one step."""
    session = popart.TrainingSession(
        model,
        popart.DataFlow(1, []),
        loss,
        popart.SGD({"defaultLearningRate": (0.5, True), "defaultMomentum": (0.5, True)}),
        popart.DeviceManager().createCpuDevice(),
    )
    session.prepareDevice()
    session.weightsFromHost()
    session.run(popart.PyStepIO({}, session.initAnchorArrays()))
    return session


def product() -> tuple[popart.Builder, str, str]:
    builder = popart.Builder()
    weight = builder.addInitializedInputTensor(VALUES, "weight")
    return builder, weight, builder.aiGraphcore.identityloss([builder.aiOnnx.mul([weight, weight])])


def numbers(path: Path) -> list[float]:
    found: list[float] = np.fromfile(path, dtype=np.float32).tolist()
    return found


def test_trained_weights_and_their_state_go_back_to_the_file(tmp_path: Path) -> None:
    builder, weight, loss = product()
    data, model = tmp_path / "weights.bin", tmp_path / "model.onnx"
    builder.saveInitializersExternally([weight], str(data))
    session = trained(builder.getModelProto(), loss)
    session.modelToHost(str(model))
    found = {name: np.empty(VALUES.shape, np.float32) for name in (weight, f"Accl___{weight}")}
    session.readWeights(popart.PyWeightsIO(found))
    assert not np.array_equal(found[weight], VALUES)
    assert numbers(data) == [*found[weight].ravel(), *found[f"Accl___{weight}"].ravel()]
    stored = onnx.load(str(model), load_external_data=False).graph.initializer
    assert all(each.data_location == each.EXTERNAL for each in stored if each.name in found)
    session.modelToHost(str(model))
    assert len(numbers(data)) == 2 * VALUES.size
    # a session of the written model goes on where the first one stands
    session.run(popart.PyStepIO({}, session.initAnchorArrays()))
    results = []
    for each in (session, trained(str(model), loss)):
        each.weightsToHost()
        each.readWeights(popart.PyWeightsIO(found))
        results.append(found[weight].tolist())
    assert results[0] == results[1]


def test_a_checkpoint_goes_to_another_file(tmp_path: Path) -> None:
    builder, weight, loss = product()
    first, second = tmp_path / "first.bin", tmp_path / "second.bin"
    builder.saveInitializersExternally([weight], str(first))
    session = trained(builder.getModelProto(), loss)
    session.updateExternallySavedTensorLocations(str(first), str(second))
    session.modelToHost(str(tmp_path / "model.onnx"))
    assert numbers(first) == VALUES.ravel().tolist()
    assert numbers(second)[: VALUES.size] != VALUES.ravel().tolist()
    with pytest.raises(popart.popart_exception, match="No ONNX model initializers have external location"):
        session.updateExternallySavedTensorLocations(str(first), str(second))
    with pytest.raises(popart.popart_exception, match="does not exist"):
        session.updateExternallySavedTensorLocations(str(tmp_path / "nothing"), str(second))


def test_files_of_other_programs_are_left_alone(tmp_path: Path) -> None:
    builder, weight, loss = product()
    model, data = tmp_path / "theirs.onnx", tmp_path / "theirs.bin"
    message = onnx.load_from_string(builder.getModelProto())
    message.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(VALUES, weight))
    onnx.save_model(
        message,
        str(model),
        save_as_external_data=True,
        location=data.name,
        size_threshold=0,
        all_tensors_to_one_file=True,
    )
    before = data.read_bytes()
    result = tmp_path / "folder" / "trained.onnx"
    result.parent.mkdir()
    trained(str(model), loss).modelToHost(str(result))
    assert data.read_bytes() == before
    stored = {each.name: each for each in onnx.load(str(result)).graph.initializer}
    assert not np.array_equal(onnx.numpy_helper.to_array(stored[weight]), VALUES)


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    builder, weight, _loss = product()
    with pytest.raises(popart.popart_exception, match="parent directory does not exist"):
        builder.saveInitializersExternally([weight], str(tmp_path / "no" / "weights.bin"))


def test_a_file_with_a_relative_name_is_out_of_reach_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    builder, weight, loss = product()
    monkeypatch.chdir(tmp_path)
    builder.saveInitializersExternally([weight], "weights.bin")
    session = trained(builder.getModelProto(), loss)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    with pytest.raises(popart.popart_exception, match=r"Unrecognised file name 'weights\.bin'"):
        session.modelToHost("model.onnx")
    assert not Path("weights.bin").exists()
