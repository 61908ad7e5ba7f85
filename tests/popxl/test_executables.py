"""Executables of PopXL programs: the cache finds the same program again, files give their variables back."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import popart
import popxl
from popxl import ops


def program(rows: int = 2, step: float = 1.0) -> tuple[popxl.Ir, dict[str, popxl.Tensor]]:
    """Variables of all kinds, each of which a run changes."""
    ir = popxl.Ir(replication=2)
    each = ir.replica_grouping(group_size=1)
    with ir.main_graph, popxl.in_sequence():
        shared = popxl.variable(np.ones((rows, 3), np.float32), name="shared")
        own = popxl.variable(np.zeros((2, rows), np.float16), replica_grouping=each, name="own")
        whole = popxl.variable(np.arange(4, dtype=np.uint32), retrieval_mode="all_replicas", name="whole")
        sharded, shard = popxl.replica_sharded_variable(np.zeros(5, np.float32), name="sharded")
        eight = popxl.variable(np.array([1.0, 2.0], np.float32), popxl.float8_143, name="eight")
        ops.add_(shared, popxl.constant(step, popxl.float32))
        ops.add_(own, popxl.constant(2.0, popxl.float16))
        ops.add_(whole, popxl.constant(3, popxl.uint32))
        ops.add_(shard, popxl.constant(4.0))
    return ir, {"shared": shared, "own": own, "whole": whole, "sharded": sharded, "eight": eight}


def session(ir: popxl.Ir, variables: bool = True) -> popxl.Session:
    ir._pb_ir.getSessionOptions().enableVariablesCaching = variables
    return popxl.Session(ir, "ipu_hw")


def test_the_cache_finds_the_same_program_again(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
) -> None:
    request.addfinalizer(lambda: popart.getLogger().setLevel("WARN"))
    popart.getLogger().setLevel("INFO")
    monkeypatch.setenv("POPXL_CACHE_DIR", str(tmp_path / "cache"))

    def hit(**change: float) -> bool:
        with session(program(**change)[0]) as made:
            made.run()
        text = capfd.readouterr().err
        found = "Loading serialized PopART executable" in text
        assert found != ("Starting compilation" in text)
        return found

    assert not hit()
    assert hit()
    assert not hit(rows=3)
    assert not hit(step=2.0)
    entries = sorted((tmp_path / "cache").iterdir())
    assert [each.suffix for each in entries] == [".popef"] * 3
    entries[0].write_bytes(entries[1].read_bytes())
    hits = [hit(), hit(rows=3), hit(step=2.0)]
    assert hits.count(False) == 1


def test_a_file_gives_a_program_its_variables(tmp_path: Path) -> None:
    ir, tensors = program()
    with session(ir) as trained:
        trained.run()
        trained._pb_session.saveExecutable(tmp_path)
        wanted = {name: trained.get_tensor_data(tensor) for name, tensor in tensors.items()}
    assert [each.name for each in tmp_path.iterdir()] == ["executable.popef"]
    again, tensors = program()
    loaded = session(again)
    with loaded:
        loaded._pb_session.loadExecutable(tmp_path)
        for name in ("shared", "own", "sharded", "eight"):
            np.testing.assert_array_equal(loaded.get_tensor_data(tensors[name]), wanted[name], err_msg=name)
        loaded.run()
        assert loaded.get_tensor_data(tensors["whole"]).tolist() == [[6, 7, 8, 9]] * 2
        assert loaded.get_tensor_data(tensors["shared"]).tolist() == [[3.0] * 3] * 2


def test_variables_are_left_out_unless_the_option_says_otherwise(tmp_path: Path) -> None:
    ir, tensors = program()
    with session(ir, variables=False) as trained:
        trained.run()
        trained._pb_session.compileAndExport(tmp_path / "without")
        trained._pb_session.saveVariables(tmp_path)
    other, tensors = program()
    loaded = session(other, variables=False)
    loaded._pb_session.loadExecutable(tmp_path / "without")
    assert loaded.get_tensor_data(tensors["shared"]).max() == 1.0
    (tmp_path / "without").rename(tmp_path / "executable.popef")
    loaded._pb_session.loadExecutable(tmp_path)
    assert loaded.get_tensor_data(tensors["shared"]).min() == 2.0


def test_files_of_other_programs_are_refused(tmp_path: Path) -> None:
    session(program()[0])._pb_session.saveExecutable(tmp_path / "file")
    with pytest.raises(
        popart.popart_exception, match="another program than this session's: they differ in the model"
    ):
        session(program(step=3.0)[0])._pb_session.loadExecutable(tmp_path / "file")
    with pytest.raises(popart.popart_exception, match="device type ipu-model cannot be saved"):
        popxl.Session(program()[0], "ipu_model")._pb_session.saveExecutable(tmp_path / "other")
    builder = popart.Builder()
    x = builder.addInputTensor("FLOAT", [2])
    found = builder.aiOnnx.relu([x])
    graph = popart.InferenceSession(
        builder.getModelProto(),
        popart.DataFlow(1, {found: popart.AnchorReturnType("All")}),
        popart.DeviceManager().createOfflineIPUDevice({}),
    )
    with pytest.raises(popart.popart_exception, match="of a program of the other kind"):
        graph.loadExecutable(tmp_path / "file")


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("saved") / "file"
    session(program()[0])._pb_session.saveExecutable(path)
    return path


@settings(max_examples=25)
@given(place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_damage_is_refused_or_without_effect(saved: Path, place: float, bit: int) -> None:
    data = bytearray(saved.read_bytes())
    data[int(place * len(data))] ^= 1 << bit
    damaged = saved.with_name("damaged")
    damaged.write_bytes(data)
    ir, tensors = program()
    made = session(ir)
    before = made.get_tensor_data(tensors["shared"])
    try:
        made._pb_session.loadExecutable(damaged)
    except popart.popart_exception:
        np.testing.assert_array_equal(made.get_tensor_data(tensors["shared"]), before)


def test_a_name_that_is_no_text_and_data_that_are_nested_too_deeply_are_refused(
    saved: Path, tmp_path: Path
) -> None:
    data = bytearray(saved.read_bytes())
    entry = data.index(b"PK\x01\x02")  # the list of entries at the end
    data[entry + 8 : entry + 10] = (0x800).to_bytes(2, "little")  # its name is UTF-8
    data[entry + 46] = 0x83
    names = tmp_path / "names"
    names.write_bytes(data)
    deep = tmp_path / "deep"
    with zipfile.ZipFile(saved) as sound, zipfile.ZipFile(deep, "w") as nested:
        for each in sound.namelist():
            text = b'{"a":' + b"[" * 900 + b"]" * 900 + b"}" if each == "request.json" else sound.read(each)
            nested.writestr(each, text)
    made = session(program()[0])
    for path in (names, deep):
        with pytest.raises(popart.popart_exception, match=f"{path} cannot be used: it"):
            made._pb_session.loadExecutable(path)
