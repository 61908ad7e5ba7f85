"""Creates subjects from a factory function, a program, a wrapped model, a saved program or an ONNX file.

Front ends are imported on demand: a program of one framework does not load another framework.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, TextIO, TypeVar

from tremula.ask.frameworks import is_keras, names_only_keras
from tremula.ask.loading import load
from tremula.ask.onnx_files import is_onnx_file, onnx_file
from tremula.errors import Error
from tremula.estimate.explain import FIGURES, unknown_figure
from tremula.program.file import is_program_file
from tremula.study.placed_subject import PlacedSubject
from tremula.study.programs import subjects_of_program
from tremula.study.saved_subject import load_subject, save_subject
from tremula.study.subject import Subject

Answered = TypeVar("Answered")


def each_subject(
    words: Sequence[str],
    answer: Callable[[Subject], Answered],
    *,
    training: bool | None = None,
    optimizer: str | None = None,
    values: bool = False,
    go_on: bool = False,
    prints: TextIO | None = None,
    watch_loader: bool = False,
    placed: Callable[[PlacedSubject], Answered] | None = None,
) -> list[Answered]:
    """Apply `answer` to the model that the words of a command line name, or to each model that a program compiles.

    Args:
        words: `file.py:function` or `package.module:function`; a saved program; an ONNX file and its settings
            (onnx_files.py); or `run` and a program with its arguments.
        training, optimizer, values: of a factory (see `factory`).
        go_on, prints, placed: of a program (see `subjects_of_program`).
        watch_loader: remember the data loader that a program uses, for `Subject.loader_speed`.
    """
    if is_program_file(words[0]):
        if training is not None or optimizer is not None:
            raise Error(f"{words[0]} is a saved program; its training mode and optimizer cannot be changed.")
        return [answer(saved_program(words[0]))]
    if is_onnx_file(words[0]):
        model = onnx_file(words[0], words[1:], training=training, optimizer=optimizer, values=values)
        return [answer(model)]
    if words[0] != "run":
        return [answer(factory(words[0], training=training, optimizer=optimizer, values=values))]
    with contextlib.ExitStack() as stack:
        if watch_loader:
            from tremula.frontends.torch.data.current_loader import tracking

            stack.enter_context(tracking())
        return subjects_of_program(words[1:], answer, go_on=go_on, prints=prints, placed=placed)


def check_figure(words: Sequence[str], name: str) -> None:
    """Check that a name can be a figure or an op of the subject `words`, before anything is captured.

    Raises:
        Error: the name is neither a figure nor an op.
    """
    if name in FIGURES or is_program_file(words[0]):  # a saved program says at once what its ops are called
        return
    from tremula.frontends.torch.graphs.names import may_be_op

    if not may_be_op(name):
        raise unknown_figure(name)


def factory(
    source: str | Callable[[], Any],
    *,
    training: bool | None = None,
    optimizer: str | None = None,
    values: bool = False,
) -> Subject:
    """The model of a factory: a function without arguments that returns a model and inputs of one micro-batch.

    Args:
        source: the function or its name: `file.py:function`, `package.module:function`. It returns
            `(model, inputs)` or `(model, inputs, optimizer)`; a Keras model may come alone.
        training: None means: train if there is an optimizer, forward returns a loss, or a Keras model is compiled.
        optimizer: by name (sgd, adam ...); by default what the function returns.
        values: keep weights and inputs, to run the model; otherwise no memory is used for weights.

    Raises:
        Error: the function does not exist or returns something else.
    """
    function, name = load(source) if isinstance(source, str) else (source, source.__name__)
    if not names_only_keras(function):
        from tremula.frontends.torch import factory as torch_factory

        returned = torch_factory.call(function, values=values)
        if not is_keras(returned):
            made = torch_factory.made(returned)
            return torch_factory.subject_of(made, name, training=training, optimizer=optimizer, values=values)
    from tremula.frontends.tensorflow import factory as keras_factory

    model = keras_factory.make(function, values=values)
    found: Subject = keras_factory.subject_of(
        model, name, training=training, optimizer=optimizer, values=values
    )
    return found


def subject(wrapped: Any, *args: Any, **kwargs: Any) -> Subject:
    """A wrapped model with the arguments of one call (a whole combined batch), compiled or not.

    Raises:
        Error: it is not a wrapped model.
    """
    make = getattr(type(wrapped), "_subject", None)
    if make is None:
        raise Error(
            f"{type(wrapped).__name__} is not a wrapped model. For a function that returns a model, use ask.factory."
        )
    made: Subject = make(wrapped, *args, **kwargs)
    return made


def saved_program(path: str | PathLike[str]) -> Subject:
    """The model in a file from `save_program` or `tremula estimate --save-program`. No framework is loaded.

    Raises:
        Error: the file does not exist, has another version, or is damaged.
    """
    from tremula.frontends.onnx.advice_code import OnnxCode
    from tremula.frontends.tensorflow.dialect.advice_code import KerasCode
    from tremula.frontends.torch.dialect.advice_code import TorchCode

    return load_subject(Path(path), {each.front_end: each for each in (TorchCode(), KerasCode(), OnnxCode())})


def save_program(model: Subject, path: str | PathLike[str]) -> None:
    """Write the captured program of a model to a file, to estimate it elsewhere without its framework.

    The file contains ops, shapes, module names and source lines, but no weights.

    Raises:
        Error: the model does not run, or the file cannot be written.
    """
    save_subject(model, Path(path))


def program(*words: str) -> Subject:
    """The first model that a program calls. The program runs up to that call and stops there.

    Args:
        words: the program's path, or `-m` and a module; then its arguments.

    Raises:
        Error: the program does not exist, or it calls no wrapped model.
    """
    return subjects_of_program(words, lambda found: found)[0]
