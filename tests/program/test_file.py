"""Saved programs: what is written comes back, and no damaged or hostile file becomes a program or runs code."""

from __future__ import annotations

import contextlib
import io
import json
import pickle
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tremula.errors import Error
from tremula.program.control import Branch, Call, CopyTensor, Execute, Repeat, Sequence, While
from tremula.program.file import is_program_file, load_program, save_program
from tremula.program.loops import Loops
from tremula.program.op import Op, Phase, SourceLine
from tremula.program.program import Program
from tremula.program.tensor import Role, Tensor
from tremula.program.tiles import Edge, TileInterval, Vertex
from tremula.program.verify import verify
from tremula.program.work import Convolution, Elementwise, MatMul, Work

TEXTS = st.text(max_size=12)
WORKS: st.SearchStrategy[Work] = st.one_of(
    st.builds(MatMul, *[st.integers(1, 64)] * 3, proportion=st.floats(0, 1)),
    st.builds(Elementwise, TEXTS, st.integers(1, 10**9), broadcast_elements=st.none() | st.integers(1, 9)),
    st.just(Convolution(2, 3, 4, (8, 8), (3, 3), (1, 1), ((1, 1), (0, -1)), (1, 1), (1, 1))),
)


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """Programs of a few ops and tensors, with all that a program can say."""
    count = draw(st.integers(1, 5))
    shapes = st.lists(st.integers(0, 5), max_size=3).map(tuple)
    tensors = [
        Tensor(
            draw(TEXTS), draw(shapes), draw(st.sampled_from(["fp32", "fp16", "int32", "bool"])),
            draw(st.sampled_from(Role)), scope=tuple(draw(st.lists(TEXTS, max_size=2))), module=draw(TEXTS),
        )
        for _ in range(count)
    ]  # fmt: skip
    numbers = st.integers(0, count - 1)
    some = st.lists(numbers, max_size=3).map(tuple)
    lines = st.none() | st.builds(SourceLine, TEXTS, st.integers(0, 9999), TEXTS)
    attributes = st.dictionaries(TEXTS, st.booleans() | st.integers() | TEXTS, max_size=2)
    ops = [
        Op(
            draw(TEXTS), draw(TEXTS), draw(st.sampled_from(Phase)), tuple(draw(st.lists(WORKS, max_size=2))),
            draw(some), draw(some), draw(st.integers(0, 3)), draw(st.integers(0, 3)), 0, (draw(TEXTS),), draw(TEXTS),
            draw(lines), draw(st.booleans()), draw(st.booleans()), draw(st.booleans()),
            draw(st.integers(-1, count - 1)), draw(attributes),
        )
        for _ in range(draw(st.integers(0, 5)))
    ]  # fmt: skip
    return Program(
        ops,
        tensors,
        training=draw(st.booleans()),
        loops=Loops(draw(st.integers(1, 9)), replicas=draw(st.integers(1, 9))),
        inputs=draw(some),
        outputs=draw(some),
    )


@given(programs())
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_what_is_written_comes_back(tmp_path: Path, program: Program) -> None:
    path = tmp_path / "a.program"
    save_program(replace(program, payload=object()), path, {"name": "net"})
    assert is_program_file(path)
    loaded, about = load_program(path)
    assert loaded == program
    assert [list(op.attributes.items()) for op in loaded.ops] == [
        sorted(op.attributes.items()) for op in program.ops
    ]
    assert about == {"name": "net"}
    assert loaded.payload is None
    before = path.read_bytes()
    save_program(program, path, {"name": "net"})
    assert path.read_bytes() == before, "equal programs give equal files"


@pytest.fixture
def program(layered: Callable[..., Program]) -> Program:
    """Training of four layers, with a control tree, a tile mapping and a vertex."""
    plain = layered(4, training=True)
    body = Sequence((Execute(0), Repeat(3, Execute(1)), While(0, Execute(2), Call("more"), expected=5)))
    return replace(
        plain,
        control=Branch(0, (body, CopyTensor(1, 2))),
        functions={"more": Execute(3)},
        mappings={0: (TileInterval(0, 0, 512), TileInterval(7, 512, plain.tensors[0].elements))},
        vertices=(Vertex("Add<float>", 0, 7, (Edge("in", 0, 0, 10),), cycles=40),),
    )


@pytest.fixture
def saved(program: Program, tmp_path: Path) -> Path:
    """The program in a file."""
    path = tmp_path / "net.program"
    save_program(program, path)
    return path


def test_control_tiles_and_vertices_come_back(saved: Path, program: Program) -> None:
    assert load_program(saved)[0] == program


def changed(
    path: Path, document: Callable[[dict[str, Any]], object] | None = None, **entries: bytes | None
) -> None:
    """Write the file again with a changed document, or with entries changed, added or left out."""
    with zipfile.ZipFile(path) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    if document is not None:
        data = json.loads(content["program.json"])
        document(data)
        content["program.json"] = json.dumps(data).encode()
    for name, value in entries.items():
        content[name.replace("__", ".")] = value  # type: ignore[assignment]
    with zipfile.ZipFile(path, "w") as archive:
        for name, value in content.items():
            if value is not None:
                archive.writestr(name, value)


def npy(array: Any) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.asarray(array), allow_pickle=True)
    return buffer.getvalue()


class Bomb:
    """Something that would run when unpickled."""

    def __reduce__(self) -> Any:
        return (Path.touch, (Path("it-ran"),))


@pytest.mark.parametrize(
    ("document", "text"),
    [
        (lambda d: d.update(version=99), "reads version 1"),
        (lambda d: d.update(format="other"), "is not a saved program"),
        (lambda d: d["program"].update(samples="1"), "samples"),
        (lambda d: d["program"].update(more=1), "unknown fields"),
        (lambda d: d["program"].update(inputs=[10**6]), "does not exist"),
        (lambda d: d["tables"]["works"].append(["Path", {"x": 1}]), "not a kind of work"),
        (lambda d: d["tables"]["texts"].append(3), "texts"),
        (lambda d: d["tables"]["dtypes"].append("fp128"), "does not have"),
        (lambda d: d.update(control=["Execute", 10**6]), "does not exist"),
        (lambda d: d.update(control=["Eval", "1"]), "not a node"),
        (lambda d: d.update(functions={"more": ["Call", "more"]}), "call themselves"),
        (lambda d: d.update(control=["Repeat", -1, ["Execute", 0]]), "-1 times"),
        (lambda d: d["program"].update(mappings={"0": [{"tile": 0, "begin": 0, "end": 3}]}), "covers 3 of"),
        (lambda d: d.pop("tables"), "tables"),
        (lambda d: d.update(tables=[[]]), "texts is missing"),
        (lambda d: d.update(about=[]), "about"),
    ],
)
def test_a_changed_document_is_refused(saved: Path, document: Any, text: str) -> None:
    changed(saved, document)
    with pytest.raises(Error, match=text):
        load_program(saved)


@pytest.mark.parametrize(
    ("entries", "text"),
    [
        ({"op_kind__npy": None}, "op_kind"),
        ({"op_kind__npy": npy(np.zeros(3))}, "op_kind"),
        ({"op_kind__npy": npy(np.array([Bomb()] * 3, dtype=object))}, "damaged"),
        ({"op_kind__npy": pickle.dumps(Bomb())}, "damaged"),
        ({"op_inputs_values__npy": npy(np.full(50, -7))}, "damaged"),
        (
            {"op_kind__npy": npy(np.zeros(3, np.int32)).replace(b"(3,)", b"(3((")},
            "op_kind.npy is not an array",
        ),
        ({"op_kind__npy": npy(np.zeros(3, np.int32)).replace(b"(3,), }", b"(9**9,)}")}, "is not an array"),
        (
            {"op_kind__npy": npy(np.zeros(3, np.int32)).replace(b"(3,), }      ", b"(9999999999,)}")},
            "is not an array",
        ),
        ({"run__py": b"print()"}, "does not belong"),
        ({"program__json": b"{"}, "damaged"),
        ({"program__json": b"[" * 100_000}, "damaged"),
    ],
)
def test_changed_entries_are_refused_and_nothing_runs(
    saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entries: dict[str, Any], text: str
) -> None:
    monkeypatch.chdir(tmp_path)
    changed(saved, None, **entries)
    with pytest.raises(Error, match=text):
        load_program(saved)
    assert not Path("it-ran").exists()


@given(st.integers(0, 10**6), st.binary(min_size=1, max_size=4))
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_damage_anywhere_is_an_error_or_harmless(saved: Path, at: int, put: bytes) -> None:
    data = saved.read_bytes()
    at %= len(data)
    damaged = saved.with_name("damaged.program")
    damaged.write_bytes(data[:at] + put + data[at + len(put) :])
    with contextlib.suppress(Error):  # anything else is a fault
        verify(load_program(damaged)[0])


def test_what_is_no_program_is_said_to_be_none(tmp_path: Path) -> None:
    with pytest.raises(Error, match="does not exist"):
        load_program(tmp_path / "none.program")
    (tmp_path / "text").write_text("hello")
    assert not is_program_file(tmp_path / "text")
    with pytest.raises(Error, match="not a saved program"):
        load_program(tmp_path / "text")
    with pytest.raises(Error, match="cannot be written"):
        save_program(Program([], []), tmp_path / "text" / "below")


def test_a_program_is_read_without_any_framework(program: Program, tmp_path: Path) -> None:
    saved = tmp_path / "net.program"
    save_program(replace(program, mappings={}, vertices=()), saved)
    code = (
        "import sys\n"
        "from tremula.estimate import estimate\n"
        "from tremula.hardware.catalogue import system\n"
        "from tremula.program.file import load_program\n"
        "from tremula.schedule.deployment import Deployment\n"
        f"program, _ = load_program({str(saved)!r})\n"
        "print(estimate(program, Deployment(), system('pod16')).throughput > 0)\n"
        "print(sorted({'torch', 'tensorflow', 'onnx'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "[]"]
