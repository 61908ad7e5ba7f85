"""Files of compiled TensorFlow programs: their container, and their graphs where TensorFlow is installed."""

from __future__ import annotations

import importlib.util
import random
from pathlib import Path

import numpy as np

from fuzz.mutations import change_json, change_zip
from fuzz.target import Target
from tremula.frontends.tensorflow.executables import container
from tremula.frontends.tensorflow.executables.container import Argument, Executable, ExecutableError, Feed
from tremula.frontends.tensorflow.executables.signature import Entry, Shape, Signature

_TENSORFLOW = importlib.util.find_spec("tensorflow") is not None
if _TENSORFLOW:  # before anything is watched: it starts programs when it is imported
    import tensorflow as tf
    from tensorflow.python import ipu

    from tremula.frontends.tensorflow.executables import graphs


def make(folder: Path) -> list[Path]:
    """One made by hand, and one compiled where that is possible."""
    matrix, scalar = Shape("float32", [2, 3]), Shape("int32", [])
    by_hand = Executable(
        Signature(
            inputs=[Entry("XLA_Args/weight", matrix, 0)],
            outputs=[Entry("total", scalar)],
            streamed_inputs=[Entry("infeed.0", matrix, 0)],
            streamed_outputs=[Entry("outfeed.0", scalar, 0)],
        ),
        [
            Argument("weight", container.VARIABLE, matrix),
            Argument("constant", container.CONSTANT, scalar),
            Argument("frozen", container.FROZEN, matrix),
        ],
        ["total:0"],
        ["enqueue"],
        [Feed("infeed", 1)],
        [Feed("outfeed", 1)],
        b"",
        {1: np.int32(7), 2: np.ones((2, 3), np.float32)},
    )
    paths = [folder / "by_hand.poplar_exec"]
    container.write(paths[0], by_hand)
    if _TENSORFLOW:
        paths.append(_compiled(folder / "compiled.poplar_exec"))
    return paths


def _compiled(path: Path) -> Path:
    infeed = ipu.ipu_infeed_queue.IPUInfeedQueue(tf.data.Dataset.from_tensors(tf.zeros([2, 3])).repeat())
    outfeed = ipu.ipu_outfeed_queue.IPUOutfeedQueue()
    weight = tf.Variable(tf.ones([2, 3]))

    def program() -> object:
        return ipu.loops.repeat(2, lambda x: outfeed.enqueue(tf.reduce_sum(x * weight)), [], infeed)

    ipu.application_compile_op.experimental_application_compile_op(
        program, output_path=str(path), freeze_variables=True
    )
    return path


def mutate(data: bytes, rng: random.Random) -> bytes:
    """The description changed as data, the other members as bytes."""
    return change_zip(data, rng, {".json": change_json})


def read(path: Path) -> None:
    """As an engine does before it runs the program."""
    executable = container.read(path)
    if _TENSORFLOW and executable.graph:
        definition = graphs.checked(executable, path)
        with tf.Graph().as_default():
            try:
                tf.import_graph_def(definition, name="program")
            except (ValueError, TypeError, KeyError) as problem:
                raise ExecutableError(f"{path}: {problem}") from problem


def refusals() -> tuple[type[BaseException], ...]:
    """Errors that name the file."""
    return (ExecutableError,)


EXECUTABLES = Target("executables", make, mutate, read, refusals)
