"""What the chip model is told about the programs of a test, which run for real."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python import ipu

from tremula.frontends.tensorflow.capture.captured import Captured
from tremula.frontends.tensorflow.modelling.subject import TensorFlowSubject
from tremula.program.op import Phase
from tremula.program.variant import Variant
from tremula.study.answer import Answer, ask
from tremula.study.listeners import listening
from tremula.study.question import Question

v1 = tf.compat.v1


@contextmanager
def asked(ipus: int = 1) -> Iterator[list[TensorFlowSubject]]:
    """While programs run on so many IPUs: the subjects that they are, in order."""
    config = ipu.config.IPUConfig()
    config.auto_select_ipus = ipus
    config.configure_ipu_system()
    found: list[Any] = []
    try:
        with listening(found.append):
            yield found
    finally:
        ipu.config.reset_ipu_configuration()


def session_program(build: Callable[[], Any], ipus: int = 1, infeed: Any = None) -> TensorFlowSubject:
    """The subject of a program that `build` makes in a graph, after a session has run it."""
    with asked(ipus) as found, tf.Graph().as_default():
        queue = infeed() if infeed is not None else None
        with ipu.scopes.ipu_scope("/device:IPU:0"):
            fetched = ipu.ipu_compiler.compile(build() if queue is None else build(queue))
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            if queue is not None:
                session.run(queue.initializer)
            session.run(fetched)
    assert len(found) == 1
    return found[0]


def batches(samples: int = 4, width: int = 8) -> Any:
    """An infeed of random features and labels."""
    x = np.ones([samples, width], np.float32)
    dataset = tf.data.Dataset.from_tensors((x, np.zeros([samples], np.int32))).repeat()
    return ipu.ipu_infeed_queue.IPUInfeedQueue(dataset)


def read(subject: TensorFlowSubject) -> Captured:
    """The captured program."""
    return subject._capture(Variant())


def answer_of(subject: TensorFlowSubject) -> Answer:
    """The answer for a program as it is."""
    answer = next(iter(ask(subject, Question())))
    assert not answer.problem
    return answer


def cycles(answer: Answer, phase: Phase) -> float:
    """Cycles of a step in one phase."""
    assert answer.estimate is not None
    return sum(op.cycles for op in answer.estimate.ops if op.phase == phase.value)


def trained_names(subject: TensorFlowSubject) -> set[str]:
    """The variables that a program trains."""
    return {each.variable.name for each in read(subject).trained}
