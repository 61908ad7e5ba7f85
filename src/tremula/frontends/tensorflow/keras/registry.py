"""Which extension a Keras model gets when it is made under a strategy."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import tensorflow.compat.v2 as tf
from tensorflow.python.util import tf_decorator

from tremula.frontends.tensorflow.feeds.iterators import IPUOwnedIterator

#: an attribute of objects whose constructors of Keras are not to run again
BEING_EXTENDED = "_tremula_being_extended"
#: (class of the model, base class of its extensions) -> the extension; for all strategies
_everywhere: dict[tuple[type, type], type] = {}


def register(model: type, base: type, extension: type) -> None:
    """Give models of a class an extension under every strategy."""
    _everywhere[model, base] = extension


class KerasExtensions:
    """A strategy that extends the Keras models that are made under it.

    Args:
        enable_dataset_iterators: whether `iter(dataset)` under the strategy gives iterators of the device.
        enable_keras_extensions: whether Keras models are extended.
    """

    _enable_legacy_iterators = True

    def __init__(self, enable_dataset_iterators: bool = True, enable_keras_extensions: bool = True) -> None:
        self._enable_iterators = enable_dataset_iterators
        self._enable_keras_extensions = enable_keras_extensions
        self._keras_extensions: dict[tuple[type, type], type] = {}

    def _enable_dataset_iterators(self) -> bool:
        return tf.executing_eagerly() and self._enable_iterators

    @contextmanager
    def _host_iterators(self) -> Iterator[None]:
        """Datasets give iterators of the host inside."""
        before, self._enable_iterators = self._enable_iterators, False
        try:
            yield
        finally:
            self._enable_iterators = before

    def _create_dataset_iterator(self, dataset: Any) -> IPUOwnedIterator:
        return IPUOwnedIterator(dataset=dataset)

    def _register_keras_extension(self, class_type: type, extension_type: type, extension: type) -> None:
        self._keras_extensions[class_type, extension_type] = extension

    def _get_keras_extension(self, class_type: type, extension_type: type) -> type | None:
        key = class_type, extension_type
        return self._keras_extensions.get(key) or _everywhere.get(key)

    def _delete_keras_extension(self, class_type: type, extension_type: type) -> None:
        self._keras_extensions.pop((class_type, extension_type), None)

    def _all_keras_extensions(self) -> Iterator[tuple[type, type, type]]:
        for (model, base), extension in {**_everywhere, **self._keras_extensions}.items():
            yield model, base, extension

    def _patch_keras_extension(self, instance: Any) -> None:
        """Make a model an instance of its class and of its extension."""
        if not self._enable_keras_extensions:
            return
        for model, base, extension in self._all_keras_extensions():
            if not isinstance(instance, model):
                continue
            if isinstance(instance, base):
                if not isinstance(instance, extension):
                    raise RuntimeError(
                        f"KerasExtension patching failed: {type(instance).__name__} has the extension of another "
                        f"strategy."
                    )
                return
            original = type(instance)
            instance.__class__ = _extended(original, extension)  # type: ignore[arg-type]
            # past the attributes that Keras tracks
            object.__setattr__(instance, "__original_class__", original)
            begin = getattr(instance, "_init_extension", None)
            if begin is not None:
                begin()
            if begin is None or _has_constructor(extension):
                _construct(instance, extension)
            return


@functools.cache
def _extended(original: type, extension: type) -> type:
    """The class of models of class `original` with an extension.

    An extension of a class of Keras is itself derived from that class, so that it stands behind what programs derive
    from it and before Keras' own.
    """
    bases = (extension,) if issubclass(extension, original) else (original, extension)
    # Keras compares names of classes, so the extended class has the same
    names: dict[str, Any] = {
        "__module__": original.__module__,
        "__qualname__": original.__qualname__,
        "__doc__": original.__doc__,
    }
    if _has_constructor(extension):
        stock: Any = original.__init__  # type: ignore[misc]

        def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
            stock(self, *args, **kwargs)
            _construct(self, extension)

        # Keras reads the arguments of constructors through decorators
        names["__init__"] = tf_decorator.make_decorator(stock, __init__)
    return type(original.__name__, bases, names)


def _has_constructor(extension: type) -> bool:
    """Whether an extension of ours was derived from by a program, with a constructor."""
    for cls in extension.__mro__:
        if "_init_extension" in vars(cls):
            return False
        if "__init__" in vars(cls):
            return hasattr(extension, "_init_extension") and not cls.__module__.startswith("keras.")
    return False


def _construct(instance: Any, extension: type) -> None:
    """Call the constructor of an extension, for an object that Keras has made already."""
    object.__setattr__(instance, BEING_EXTENDED, True)
    try:
        extension.__init__(instance)  # type: ignore[misc]
    finally:
        object.__delattr__(instance, BEING_EXTENDED)
