"""The Engine of the Python interface: arrays in and out, callbacks, options, executables, reports."""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poplar
import popops
from poplar.program import Copy, Execute, PrintTensor, Repeat, Sequence
from tremula import log


class Scale(poplar.Vertex):
    """y = k x"""

    x: poplar.Input[poplar.Vector[poplar.FLOAT]]
    y: poplar.Output[poplar.Vector[poplar.FLOAT]]
    k: poplar.FLOAT

    def compute(self):
        for i in range(len(self.y)):
            self.y[i] = self.k * self.x[i]


@pytest.fixture
def device() -> poplar.Device:
    return poplar.IPUModel().createDevice()


@pytest.fixture
def graph(device: poplar.Device) -> poplar.Graph:
    made = poplar.Graph(device)
    made.addCodelets(Scale)
    return made


def scaling(graph: poplar.Graph, k: float = 2.0) -> tuple[Any, Any, Any]:
    """Two tensors and the program that scales one to the other."""
    x, y = (graph.addVariable(poplar.FLOAT, [4], name) for name in "xy")
    made = graph.addComputeSet("scale")
    vertex = graph.addVertex(made, "Scale", {"x": x, "y": y, "k": k})
    for what in (x, y, vertex):
        graph.setTileMapping(what, 1)
    graph.createHostWrite("x", x)
    graph.createHostRead("y", y)
    return x, y, Execute(made)


def test_tensors_are_arrays(graph: poplar.Graph, device: poplar.Device) -> None:
    *_, program = scaling(graph)
    engine = poplar.Engine(graph, program)
    engine.load(device)
    engine.writeTensor("x", [1, 2, 3, 4])
    engine.run()
    assert engine.readTensor("y").tolist() == [2, 4, 6, 8]
    out = np.zeros(4, np.float32)
    assert engine.read_tensor("y", out) is out
    with pytest.raises(poplar.tensor_io_state_error, match="is of type float, the array of type complex128"):
        engine.writeTensor("x", np.zeros(4, complex))
    with pytest.raises(poplar.poplar_error, match="make it with dtype=float32"):
        engine.readTensor("y", np.zeros(4))
    with pytest.raises(poplar.poplar_error, match="the host's data have 12"):
        engine.writeTensor("x", np.zeros(3, np.float32))


def test_streams_need_arrays_of_their_type(graph: poplar.Graph, device: poplar.Device) -> None:
    x, y, program = scaling(graph)
    to, back = (
        graph.addHostToDeviceFIFO("to", poplar.FLOAT, 4),
        graph.addDeviceToHostFIFO("back", poplar.FLOAT, 4),
    )
    engine = poplar.Engine(graph, Repeat(2, Sequence(Copy(to, x), program, Copy(y, back))))
    engine.load(device)
    for wrong, text in (
        (np.zeros(4), "make it with dtype=float32"),
        ([1.0] * 4, "needs a NumPy array, not list"),
        (np.zeros((4, 2), np.float32)[:, 0], "side by side"),
    ):
        with pytest.raises(poplar.stream_connection_error, match=text):
            engine.connectStream("to", wrong)
    found = np.zeros((2, 4), np.float32)
    engine.connectStream("to", np.arange(8, dtype=np.float32))
    engine.connectStream("back", found)
    engine.run()
    assert found.tolist() == [[0, 2, 4, 6], [8, 10, 12, 14]]


def test_functions_and_callbacks_serve_streams(graph: poplar.Graph, device: poplar.Device) -> None:
    x, _, program = scaling(graph)
    engine = poplar.Engine(
        graph, Sequence(Copy(graph.addHostToDeviceFIFO("to", poplar.FLOAT, 4), x), program)
    )
    engine.load(device)
    said = []

    class Fill(poplar.LegacyStreamCallback):
        def fetch(self, buffer: np.ndarray) -> None:
            said.append(buffer.dtype)
            buffer[...] = 3

    for callback, expected in ((Fill(), 6), (lambda buffer: buffer.fill(5), 10)):
        engine.connectStreamToCallback("to", callback)
        engine.run()
        assert (engine.readTensor("y") == expected).all()
    assert said == [np.float32]

    class Wrong(Fill):
        def prefetch(self, buffer: np.ndarray) -> bool:
            return True

    engine.connectStreamToCallback("to", 0, Wrong())
    with pytest.raises(poplar.stream_connection_error, match=r"Wrong.prefetch returned True: return"):
        engine.run()
    with pytest.raises(poplar.stream_connection_error, match="needs a StreamCallback or a function, not int"):
        engine.connectStreamToCallback("to", 3)


def test_options_are_checked_and_named(
    graph: poplar.Graph, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    *_, program = scaling(graph)
    with pytest.raises(
        poplar.invalid_option, match=r"debug.retainDebugInfo.*Did you mean debug.retainDebugInformation"
    ):
        poplar.Engine(graph, program, {"debug.retainDebugInfo": "true"})
    with pytest.raises(poplar.invalid_option, match="takes bool"):
        poplar.Engine(graph, program, {"autoReport.all": "perhaps"})
    log.forget_once()
    warnings: list[str] = []
    monkeypatch.setattr(log, "no_effect", lambda option, reason: warnings.append(option) or True)
    monkeypatch.setenv("POPLAR_ENGINE_OPTIONS", '{"debug.outputAllSymbols": "true"}')
    engine = poplar.Engine(graph, program, {"debug.instrument": True})
    assert warnings == ["The engine option debug.outputAllSymbols"]
    assert engine.getRuntimeOptions() == {"debug.instrument": "true", "debug.outputAllSymbols": "true"}


def test_runs_need_a_device_and_a_program(graph: poplar.Graph, device: poplar.Device) -> None:
    *_, program = scaling(graph)
    engine = poplar.Engine(graph, [program, program])
    with pytest.raises(poplar.poplar_error, match="call load before run"):
        engine.run()
    with pytest.raises(poplar.poplar_error, match="load the engine first"):
        engine.readTensor("y")
    engine.loadAndRun(device, 1)
    with pytest.raises(
        poplar.control_program_error, match="the engine has 2 programs, so none with number 2"
    ):
        engine.run(2)
    other = poplar.Device.createCPUDevice()
    with pytest.raises(poplar.poplar_error, match="make the graph with the device's target"):
        engine.load(other)
    with pytest.raises(poplar.control_program_error, match="needs a program"):
        poplar.Engine(graph)
    with pytest.raises(poplar.poplar_error, match="is empty"):
        engine.load(poplar.Device())


def test_a_device_that_is_held_cannot_be_loaded() -> None:
    devices = poplar.DeviceManager().getDevices(poplar.TargetType.IPU, 1)
    held = next(each for each in devices if each.attach())
    try:
        again = poplar.DeviceManager().getDevice(held.getId())
        graph = poplar.Graph(again)
        engine = poplar.Engine(graph, Sequence())
        with pytest.raises(poplar.poplar_error, match="cannot be attached: another program holds it"):
            engine.load(again)
    finally:
        held.detach()
    engine.load(again)
    engine.run()
    again.detach()


def test_executables_go_through_files(graph: poplar.Graph, device: poplar.Device, tmp_path: Path) -> None:
    *_, program = scaling(graph, 3.0)
    executable = poplar.compileGraph(graph, [program], {"debug.instrument": "true"})
    stream = io.BytesIO()
    executable.serialize(stream)
    executable.serialize(tmp_path / "file")
    assert stream.getvalue() == (tmp_path / "file").read_bytes()
    stream.seek(0)
    for source in (stream, tmp_path / "file"):
        engine = poplar.Engine(poplar.Executable.deserialize(source), {"debug.trace": "false"})
        engine.load(device)
        engine.writeTensor("x", np.ones(4, np.float32))
        engine.run()
        assert engine.readTensor("y").tolist() == [3, 3, 3, 3]
        assert engine.getRuntimeOptions()["debug.instrument"] == "true"
    with pytest.raises(poplar.graph_object_load_error, match="is not an executable"):
        poplar.Executable.deserialize(io.BytesIO(b"something else"))


def test_reports_show_the_runs(graph: poplar.Graph, device: poplar.Device) -> None:
    *_, program = scaling(graph)
    graph.setPerfEstimate(_vertex(graph, program), 123)
    engine = poplar.Engine(graph, Repeat(3, program))
    engine.load(device)
    engine.run(debugName="first")
    report = engine.getReport()
    assert report.compilation.graph.numVertices == 1
    steps = [step for run in report.execution.runs for step in run.steps if step.program.name == "scale"]
    assert len(steps) >= 3
    out = io.StringIO()
    engine.printProfileSummary(out, {"showExecutionSteps": True})
    assert "Scale" in out.getvalue()
    assert "123" in out.getvalue()
    engine.resetExecutionProfile()
    engine.disableExecutionProfiling()
    engine.run()
    with pytest.raises(poplar.profiling_disabled, match="no run was recorded"):
        engine.getReport()


def _vertex(graph: poplar.Graph, program: Any) -> poplar.VertexRef:
    return poplar.VertexRef(graph, program.compute_set.batches["Scale"], 0)


def test_cycles_are_counted(graph: poplar.Graph, device: poplar.Device) -> None:
    *_, program = scaling(graph)
    graph.setPerfEstimate(_vertex(graph, program), 1000)
    counted = Sequence(Repeat(10, program))
    cycles = poplar.cycleCount(graph, counted, 0)
    stamps = [poplar.cycleStamp(graph, counted, 0)]
    counted.add(program)
    stamps += poplar.cycleStamp(graph, counted, [0, 1])
    for number, tensor in enumerate([cycles, *stamps]):
        graph.createHostRead(f"c{number}", tensor)
    engine = poplar.Engine(graph, counted)
    engine.load(device)
    engine.run()
    found = [int(engine.readTensor(f"c{number}").astype(np.uint64) @ [1, 1 << 32]) for number in range(4)]
    assert 10_000 <= found[0] <= 90_000
    assert found[1] == found[0]
    assert found[2] == found[3] == found[0] + found[0] // 10


def test_printing_goes_where_the_user_wants(graph: poplar.Graph, device: poplar.Device) -> None:
    x, *_ = scaling(graph)
    engine = poplar.Engine(graph, Sequence(PrintTensor("x", x), PrintTensor(x)))
    engine.load(device)
    out = io.StringIO()
    engine.setPrintTensorStream(out)
    engine.run()
    zeros = "[0.0000000 0.0000000 0.0000000 0.0000000]"
    assert out.getvalue() == f"x: {zeros}\nx: {zeros}\n"


def test_out_of_memory_is_an_error_if_it_is_asked_for(graph: poplar.Graph, tmp_path: Path) -> None:
    large = graph.addVariable(poplar.FLOAT, [1_000_000], "large")
    graph.setTileMapping(large, 7)
    program = Sequence(PrintTensor(large))
    poplar.Engine(graph, program)
    options = {
        "debug.allowOutOfMemory": "false",
        "autoReport.all": "true",
        "autoReport.directory": str(tmp_path),
    }
    with pytest.raises(
        poplar.graph_memory_allocation_error, match=r"tile 7.*large.*Profile saved to: .*profile.pop"
    ):
        poplar.Engine(graph, program, options)


def test_importing_poplar_imports_no_framework() -> None:
    code = "import poplar, popops, poplin, popnn, poprand, poputil, gcl, sys; "
    code += "print({'torch', 'onnx'} & set(sys.modules))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert ran.stdout == "set()\n"


def test_a_print_format_is_taken(graph: poplar.Graph, device: poplar.Device) -> None:
    x, *_ = scaling(graph)
    fixed = poplar.PrintTensorFmt(
        digits=1, floatFormat=poplar.PrintTensorFmt.FloatFormat.Fixed, openBracket="("
    )
    engine = poplar.Engine(
        graph, Sequence(PrintTensor("x", x, fixed), PrintTensor("x", x, poplar.PrintTensorFmt()))
    )
    engine.load(device)
    out = io.StringIO()
    engine.setPrintStream(out)
    engine.run()
    assert out.getvalue() == "x: (0.0 0.0 0.0 0.0]\nx: [0 0 0 0]\n"


def test_names_in_the_style_of_python(device: poplar.Device) -> None:
    graph = poplar.Graph(device)
    graph.add_codelets(Scale)
    x = graph.add_variable(poplar.FLOAT, [4], "x")
    vertex = graph.add_vertex(graph.add_compute_set(), "Scale", {"x": x, "y": x})
    for what in (x, vertex):
        graph.set_tile_mapping(what, 2)
    assert [len(each) for each in graph.get_tile_mapping(x)[:4]] == [0, 0, 1, 0]
    assert graph.get_target().get_num_tiles() == 1472
    assert x.contains_aliases() is False
    with pytest.raises(AttributeError, match="IPUModel has no field 'numIpus'"):
        poplar.IPUModel().numIpus = 3


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a C++ compiler")
def test_codelets_in_cpp_are_saved_as_source(device: poplar.Device, tmp_path: Path) -> None:
    graph = poplar.Graph(device)
    graph.addCodelets(
        """
        #include <poplar/Vertex.hpp>
        template <typename T> class Twice : public poplar::Vertex {
        public:
          poplar::Input<poplar::Vector<T>> x;
          poplar::Output<poplar::Vector<T>> y;
          T add;
          bool compute() { for (unsigned i = 0; i < x.size(); ++i) y[i] = 2 * x[i] + add; return true; }
        };
        template class Twice<float>;
        """
    )
    x = graph.addVariable(poplar.FLOAT, [4], "x")
    made = graph.addComputeSet("twice")
    vertex = graph.addVertex(made, "Twice<float>", {"x": x[0:2], "y": x[2:4]})
    graph.setInitialValue(vertex["add"], 1)
    graph.setInitialValue(x, [1, 2, 0, 0])
    for what in (x, vertex):
        graph.setTileMapping(what, 0)
    graph.createHostRead("x", x)
    path = tmp_path / "executable"
    poplar.compileGraph(graph, Execute(made)).serialize(path)
    loaded = poplar.Executable.deserialize(path)
    again = tmp_path / "again"
    loaded.serialize(again)
    for executable in (loaded, poplar.Executable.deserialize(again)):
        engine = poplar.Engine(executable)
        engine.load(device)
        engine.run()
        assert engine.readTensor("x").tolist() == [1, 2, 3, 5]
        assert "Twice<float>" in _summary(engine)


def _summary(engine: poplar.Engine) -> str:
    out = io.StringIO()
    engine.printProfileSummary(out)
    return out.getvalue()


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a C++ compiler")
@pytest.mark.parametrize(("bound", "where"), [("y.size() + 1", "behind the last"), ("y.size()", "")])
def test_a_codelet_in_cpp_that_writes_too_far_is_named(device: poplar.Device, bound: str, where: str) -> None:
    graph = poplar.Graph(device)
    graph.addCodelets(
        f"""
        #include <poplar/Vertex.hpp>
        class Far : public poplar::Vertex {{
        public:
          poplar::Output<poplar::Vector<float>> y;
          void compute() {{ for (unsigned i = 0; i < {bound}; ++i) y[i] = 1; }}
        }};
        """
    )
    y = graph.addVariable(poplar.FLOAT, [6], "y")
    graph.setTileMapping(y, 0)
    made = graph.addComputeSet("far")
    for number in range(2):
        graph.setTileMapping(graph.addVertex(made, "Far", {"y": y[3 * number : 3 * number + 3]}), 5)
    engine = poplar.Engine(graph, Execute(made))
    engine.load(device)
    if not where:
        engine.run()
        return
    with pytest.raises(poplar.application_runtime_error) as problem:
        engine.run()
    text = str(problem.value)
    assert "vertex 0 of type Far on tile 5" in text
    assert f"writes {where} element of its field 'y', which has 3 elements" in text


def test_numbers_are_written_if_their_type_can_hold_them(graph: poplar.Graph, device: poplar.Device) -> None:
    n = graph.addVariable(poplar.UNSIGNED_CHAR, [3], "n")
    graph.setTileMapping(n, 0)
    graph.createHostWrite("n", n)
    graph.createHostRead("n", n)
    engine = poplar.Engine(graph, Sequence())
    engine.load(device)
    engine.writeTensor("n", [1, 2, 255])
    assert engine.readTensor("n").tolist() == [1, 2, 255]
    with pytest.raises(poplar.tensor_io_state_error):
        engine.writeTensor("n", [1, 2, 256])


def test_a_program_for_a_cpu_needs_no_mapping() -> None:
    graph = poplar.Graph(poplar.Target.createCPUTarget())
    values = graph.addVariable(poplar.FLOAT, [3], "values")
    graph.setInitialValue(values, [1.0, 2.0, 3.0])
    popops.addInPlace(graph, values, values, program := Sequence())
    graph.createHostRead("values", values)
    engine = poplar.Engine(graph, program)
    engine.load(poplar.Device.createCPUDevice())
    engine.run(0)
    assert engine.readTensor("values").tolist() == [2.0, 4.0, 6.0]
