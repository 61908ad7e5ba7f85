"""Sessions whose micro-batches run as captured graphs do what they do operator by operator: random numbers, updates of
the weights, anchors of tensors that share memory with weights; and arrays of a step that is run again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import popart
from tremula.frontends.onnx.run import chosen_step
from tremula.frontends.torch.execute.trial import tried

CPU = popart.DeviceManager().createCpuDevice
BATCHES = 8
VALUES = np.random.default_rng(1).standard_normal((BATCHES, 2, 3)).astype(np.float32)


def dropped(*, training: bool = True) -> tuple[popart.Builder, str, str, dict[str, Any]]:
    """A builder with dropout and random numbers, its input, its loss, and all anchors."""
    builder = popart.Builder()
    data = builder.addInputTensor(popart.TensorInfo("FLOAT", [2, 3]))
    weight = builder.addInitializedInputTensor(np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4))
    hidden = builder.aiOnnx.dropout([builder.aiOnnx.matmul([data, weight])], 1, 0.5)[0]
    noise = builder.aiOnnx.randomnormal([2, 4], scale=0.1)
    shaped = builder.aiGraphcore.shapeddropout([builder.aiOnnx.add([hidden, noise])], [2, 1], 0.3)
    loss = builder.aiGraphcore.l1loss([builder.aiOnnx.tanh([shaped])], 0.5)
    alias = builder.aiOnnx.identity([weight])
    names = [hidden, noise, loss, alias, weight]
    if training:
        names.append(popart.reservedGradientPrefix() + weight)
    return builder, data, loss, dict.fromkeys(names, popart.AnchorReturnType("All"))


def anchored(
    monkeypatch: pytest.MonkeyPatch, captured: bool, run: Callable[[], dict[str, Any]]
) -> dict[str, Any]:
    """What `run` gives with sessions that are captured after their first turn, or never."""
    monkeypatch.setenv("TREMULA_EXECUTION", "quick")
    monkeypatch.setattr(chosen_step, "_LONG_SECONDS", 0.0)
    monkeypatch.setattr(chosen_step, "can_be_captured", lambda _program: captured)
    # whichever is faster here
    monkeypatch.setattr(chosen_step.ChosenStep, "_seconds_by_operators", lambda _self: float("inf"))
    found = run()
    form = found.pop("form")
    assert form.startswith("captured" if captured else "operator by operator"), form
    return found


def optimizers() -> dict[str, tuple[Any, Any]]:
    """Two of each kind: the second has other values where they may vary."""
    fixed = {"defaultMomentum": (0.9, True), "lossScaling": (4.0, True)}
    return {
        "sgd": (
            popart.SGD({"defaultLearningRate": (0.5, False), **fixed}),
            popart.SGD({"defaultLearningRate": (0.1, False), **fixed}),
        ),
        "adam": (
            popart.Adam({"defaultLearningRate": (0.1, False), "defaultWeightDecay": (0.1, True)}),
            popart.Adam({"defaultLearningRate": (0.01, False), "defaultWeightDecay": (0.1, True)}),
        ),
    }


@pytest.mark.parametrize("kind", ["sgd", "adam"])
def test_training_with_dropout_gives_the_same_numbers_captured(
    monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    def run() -> dict[str, Any]:
        builder, data, loss, anchors = dropped()
        first, second = optimizers()[kind]
        options = popart.SessionOptions()
        options.enableLoadAndOffloadRNGState = True
        session = popart.TrainingSession(
            builder.getModelProto(),
            popart.DataFlow(BATCHES, anchors),
            loss,
            first,
            CPU(),
            userOptions=options,
        )
        session.prepareDevice()
        session.setRandomSeed(7)
        session.weightsFromHost()
        found: dict[str, Any] = {}
        step = popart.PyStepIO({data: VALUES}, arrays := session.initAnchorArrays())

        def note(round_: str) -> None:
            session.run(step)
            found.update({f"{round_} {name}": array.copy() for name, array in arrays.items()})
            found[f"{round_} state"] = np.array(session.getRNGState())

        note("first")
        state = session.getRNGState()
        session.updateOptimizerFromHost(second)
        note("second")
        session.weightsToHost()
        session.setRNGState(state)
        session.weightsFromHost()
        note("third")
        session.setRandomSeed(7)
        note("fourth")
        return {**found, "form": session._session._step.form}

    expected, found = (anchored(monkeypatch, captured, run) for captured in (False, True))
    assert expected.keys() == found.keys()
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, rtol=2e-5, atol=2e-6, err_msg=name)
    noise = [name for name in found if name.startswith("first RandomNormal")]
    assert noise, "the random numbers are anchored"
    for name in noise:
        again, later = name.replace("first", "fourth"), name.replace("first", "third")
        np.testing.assert_array_equal(found[name], found[again])  # the same seed
        np.testing.assert_array_equal(found[name.replace("first", "second")], found[later])  # the same state
        assert not np.array_equal(found[name][0], found[name][-1])


def test_the_host_s_generator_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def run() -> dict[str, Any]:
        builder, data, _, anchors = dropped(training=False)
        session = popart.InferenceSession(builder.getModelProto(), popart.DataFlow(BATCHES, anchors), CPU())
        session.prepareDevice()
        session.setRandomSeed(3)
        torch.manual_seed(5)
        session.run(popart.PyStepIO({data: VALUES}, arrays := session.initAnchorArrays()))
        return {**arrays, "host": torch.rand(3).numpy(), "form": session._session._step.form}

    torch.manual_seed(5)
    host = torch.rand(3).numpy()
    expected, found = (anchored(monkeypatch, captured, run) for captured in (False, True))
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(found["host"], host)


def test_compiled_code_that_updates_weights_otherwise_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def run() -> dict[str, Any]:
        builder, data, loss, anchors = dropped()
        flow = popart.DataFlow(BATCHES, anchors)
        session = popart.TrainingSession(builder.getModelProto(), flow, loss, optimizers()["sgd"][0], CPU())
        session.prepareDevice()
        session.weightsFromHost()
        session.run(popart.PyStepIO({data: VALUES}, session.initAnchorArrays()))
        step = session._session._step
        weights = dict(session._session.device)
        slots = {name: each for table in session._session.updater.slots() for name, each in table.items()}
        captured = step._captured
        quick = captured._executable.choice.form
        given = [weights[name] for name in captured._weights] + [torch.from_numpy(VALUES[0]), torch.ones(())]
        given += [slots[name] for names in captured._slots for name in names]
        kept = [each.clone() for each in given]

        class Wrong:
            name, unrolled = "compiled", 1

            def __init__(self, place: int) -> None:
                self.place = place

            def iterate(self, chunks: Any, sink: Any, first: int, count: int) -> None:
                quick.iterate(chunks, sink, first, count)
                chunks[self.place][0].add_(0.5)

        executable = captured._executable
        chunks = [(each,) for each in given]
        with torch.no_grad(), executable._random_streams():
            assert tried(executable._around, quick, quick, chunks).equal
            # the weight, and after input and loss scale its velocity
            wrong = [tried(executable._around, quick, Wrong(place), chunks).difference for place in (0, 3)]
        for each, value in zip(given, kept, strict=True):
            torch.testing.assert_close(each, value, rtol=0, atol=0)
        return {"wrong": wrong, "form": step.form}

    weights, state = anchored(monkeypatch, True, run)["wrong"]
    assert "inputs" in weights
    assert "state" in state


def test_a_step_that_is_run_again_reads_its_arrays_anew() -> None:
    builder = popart.Builder()
    data = builder.addInputTensor(popart.TensorInfo("FLOAT", [2]))
    whole = builder.addInputTensor(popart.TensorInfo("INT32", [2]))
    total = builder.aiOnnx.add([data, builder.aiOnnx.cast([whole], "FLOAT")])
    same = builder.aiOnnx.identity([data])
    session = popart.InferenceSession(builder.getModelProto(), popart.DataFlow(1, [total, same]), CPU())
    session.prepareDevice()
    arrays = session.initAnchorArrays()
    values, wide = np.ones(2, np.float32), np.ones(2, np.int64)
    step = popart.PyStepIO({data: values, whole: wide}, arrays)
    session.run(step)
    values += 1
    wide += 2
    assert arrays[same].tolist() == [1, 1], "what came back is not the input's own memory"
    session.run(step)
    assert arrays[total].tolist() == [5, 5]
    assert arrays[same].tolist() == [2, 2]


def test_one_array_may_be_input_and_result() -> None:
    builder = popart.Builder()
    data = builder.addInputTensor(popart.TensorInfo("FLOAT", [2]))
    result = builder.aiOnnx.add([data, data])
    session = popart.InferenceSession(builder.getModelProto(), popart.DataFlow(3, [result]), CPU())
    session.prepareDevice()
    shared = np.arange(1, 9, dtype=np.float32)
    # each result lies where the next input is
    session.run(popart.PyStepIO({data: shared[:6].reshape(3, 2)}, {result: shared[2:].reshape(3, 2)}))
    assert shared.tolist() == [1, 2, 2, 4, 6, 8, 10, 12]


def test_arrays_that_cannot_be_written_are_read() -> None:
    builder = popart.Builder()
    data = builder.addInputTensor(popart.TensorInfo("FLOAT", [2]))
    result = builder.aiOnnx.neg([data])
    session = popart.InferenceSession(builder.getModelProto(), popart.DataFlow(1, [result]), CPU())
    session.prepareDevice()
    values = np.ones(2, np.float32)
    values.flags.writeable = False
    session.run(popart.PyStepIO({data: values}, arrays := session.initAnchorArrays()))
    assert arrays[result].tolist() == [-1, -1]
