"""Compiled programs run from their file as they do from their source."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.framework import graph_pb2
from tensorflow.python import ipu
from tensorflow.python.ipu.ops.application_compile_op import experimental_application_compile_op

from tremula.frontends.tensorflow.executables import container, engine

v1 = tf.compat.v1


@pytest.fixture(autouse=True)
def _engines_end() -> Iterator[None]:
    yield
    engine.stop_all()


def _feeds(*elements: Any) -> tuple[Any, Any]:
    dataset = tf.data.Dataset.from_tensors(elements if len(elements) > 1 else elements[0]).repeat()
    return ipu.ipu_infeed_queue.IPUInfeedQueue(dataset), ipu.ipu_outfeed_queue.IPUOutfeedQueue()


def _squares(path: Path) -> None:
    infeed, outfeed = _feeds(np.zeros(2, np.float32))
    experimental_application_compile_op(
        lambda: ipu.loops.repeat(3, lambda x: outfeed.enqueue(x * x), [], infeed), output_path=str(path)
    )


def test_calls_give_what_the_program_enqueues(tmp_path: Path) -> None:
    _squares(tmp_path / "squares")
    context = ipu.embedded_runtime.embedded_runtime_start(str(tmp_path / "squares"), [], "squares")
    for value in range(7):
        (found,) = ipu.embedded_runtime.embedded_runtime_call([tf.constant([value, 1.0])], context)
        assert found.shape == (2,)
        assert found.numpy().tolist() == [value**2, 1]


def test_a_loop_carries_its_values_from_call_to_call(tmp_path: Path) -> None:
    infeed, outfeed = _feeds(np.float32(0))

    def body(total: Any, x: Any) -> tuple[Any, Any]:
        return total + x, outfeed.enqueue(total + x)

    path = experimental_application_compile_op(lambda start: ipu.loops.repeat(3, body, start, infeed), [10.0])
    context = ipu.embedded_runtime.embedded_runtime_start(path, [], "carries")
    assert [entry.name for entry in context.signature().inputs] == []
    found = [
        float(ipu.embedded_runtime.embedded_runtime_call([np.float32(x)], context)[0])
        for x in (1, 2, 3, 4, 5)
    ]
    assert found == [11, 13, 16, 14, 19]


@pytest.mark.parametrize("freeze", [False, True])
def test_variables_are_inputs_or_part_of_the_executable(tmp_path: Path, freeze: bool) -> None:
    weight = tf.Variable([2.0, 3.0], name="weight")
    infeed, outfeed = _feeds(np.zeros(2, np.float32))

    def body(x: Any) -> Any:
        weight.assign_add([1.0, 1.0])
        return outfeed.enqueue(x * weight)

    path = experimental_application_compile_op(
        lambda: ipu.loops.repeat(2, body, [], infeed),
        freeze_variables=freeze,
        output_path=str(tmp_path / "variables"),
    )
    weight.assign([0.0, 0.0])
    signature = container.read(tmp_path / "variables").signature
    assert [entry.name for entry in signature.inputs] == ([] if freeze else ["XLA_Args/weight"])
    assert [entry.name for entry in signature.outputs] == ["XLA_Args/weight"]
    inputs = {} if freeze else {"XLA_Args/weight": np.array([5.0, 5.0], np.float32)}
    context = ipu.embedded_runtime.embedded_runtime_start(path, inputs, f"variables {freeze}")
    calls = [
        ipu.embedded_runtime.embedded_runtime_call([tf.ones(2)], context)[0].numpy().tolist()
        for _ in range(3)
    ]
    first = [3, 4] if freeze else [6, 6]
    assert calls == [[value + n for value in first] for n in range(3)]
    assert weight.numpy().tolist() == [0, 0]


def test_executables_run_in_sessions_and_threads(tmp_path: Path) -> None:
    _squares(tmp_path / "threads")
    results: dict[int, Any] = {}
    with tf.Graph().as_default():
        context = ipu.embedded_runtime.embedded_runtime_start(str(tmp_path / "threads"), [], "threads")
        x = v1.placeholder(tf.float32, [2])
        (result,) = ipu.embedded_runtime.embedded_runtime_call([x], context)
        with v1.Session() as session:

            def run(number: int) -> None:
                results[number] = [session.run(result, {x: [number, k]}).tolist() for k in range(5)]

            threads = [threading.Thread(target=run, args=(number,)) for number in range(6)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    assert results == {n: [[n * n, k * k] for k in range(5)] for n in range(6)}


def test_a_program_that_fails_says_so_and_runs_again(tmp_path: Path) -> None:
    infeed, outfeed = _feeds(np.int32(0))

    def body(x: Any) -> Any:
        with tf.control_dependencies([tf.debugging.Assert(x < 3, ["too large for this program"])]):
            return outfeed.enqueue(tf.identity(x))

    path = experimental_application_compile_op(lambda: ipu.loops.repeat(4, body, [], infeed))
    context = ipu.embedded_runtime.embedded_runtime_start(path, [], "fails")

    def call(value: int) -> int:
        return int(ipu.embedded_runtime.embedded_runtime_call([tf.constant(value)], context)[0])

    assert call(1) == 1
    with pytest.raises(tf.errors.InternalError, match="application_runtime_error"):
        call(5)
    assert call(2) == 2


def test_wrong_inputs_are_refused(tmp_path: Path) -> None:
    _squares(tmp_path / "wrong")
    start, call = ipu.embedded_runtime.embedded_runtime_start, ipu.embedded_runtime.embedded_runtime_call
    file = str(tmp_path / "wrong")
    with pytest.raises(Exception, match="expects 0 inputs, but 1 were provided"):
        start(file, [tf.zeros(2)], "wrong")
    with pytest.raises(Exception, match="Expected the inputs to be a list"):
        start(file, 4, "wrong")
    context = start(file, [], "wrong")
    with pytest.raises(Exception, match="expects 1 inputs, but 2 were provided"):
        call([tf.zeros(2), tf.zeros(2)], context)
    with pytest.raises(
        Exception, match=r"shape at position 0 .* Expected \[2\], but input 0 has shape \[3\]"
    ):
        call([tf.zeros(3)], context)
    with pytest.raises(TypeError, match="dtype at position 0"):
        call([tf.zeros(2, tf.int32)], context)
    with pytest.raises(NotImplementedError, match="doesn't support stopping"):
        ipu.embedded_runtime.embedded_runtime_stop(context)


def test_a_name_belongs_to_one_file(tmp_path: Path) -> None:
    for name in ("a", "b"):
        _squares(tmp_path / name)
    ipu.embedded_runtime.embedded_runtime_start(str(tmp_path / "a"), [], "same name")
    with pytest.raises(tf.errors.AlreadyExistsError, match="choose another name"):
        ipu.embedded_runtime.embedded_runtime_start(str(tmp_path / "b"), [], "same name")


@pytest.mark.parametrize("kind", ["ReadFile", "PyFunc", "TextLineDataset", "NoSuchOp"])
def test_graphs_that_do_more_than_compute_are_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "more"
    _squares(path)
    executable = container.read(path)
    graph = graph_pb2.GraphDef.FromString(executable.graph)
    graph.node.add(name="more", op=kind)
    executable.graph = graph.SerializeToString()
    container.write(path, executable)
    with pytest.raises(container.ExecutableError, match=kind):
        ipu.embedded_runtime.embedded_runtime_start(str(path), [], f"more {kind}")


def test_only_queues_and_variables_are_resources_of_an_executable() -> None:
    table = tf.lookup.experimental.MutableHashTable(tf.int32, tf.int32, 0)
    with pytest.raises(ValueError, match="cannot contain the resource"):
        experimental_application_compile_op(lambda: table.lookup(tf.constant([1, 2])))


def test_a_queue_that_keeps_the_last_element_is_refused() -> None:
    infeed, _ = _feeds(np.float32(0))
    outfeed = ipu.ipu_outfeed_queue.IPUOutfeedQueue(ipu.ipu_outfeed_queue.IPUOutfeedMode.LAST)
    with pytest.raises(ValueError, match=r"IPUOutfeedMode\.ALL"):
        experimental_application_compile_op(
            lambda: ipu.loops.repeat(2, lambda x: outfeed.enqueue(x), [], infeed)
        )
