"""Gradients that arrive at marked places on the way back are kept for the program.

`capture_upstream_gradients` marks tensors under a tag and changes nothing on the way forward. Whoever takes a gradient
through it has to be in a `GradientCaptureContext` or use a `GradientCaptureTape`; there the gradients are found
afterwards, a list for each tag.

A context begins when it is entered and ends when its gradients are read (or it is gone): gradients are often taken
after the `with` block. Contexts nest, and the innermost one gets the gradients. Replicas that are traced in threads of
their own have contexts of their own.
"""

from __future__ import annotations

import threading
from typing import Any

import tensorflow.compat.v2 as tf
from tensorflow.python.ops.unconnected_gradients import UnconnectedGradients


class _Frame:
    """The gradients of one context.

    Attributes:
        gradients: by tag.
        thread: the thread that entered the context.
    """

    def __init__(self) -> None:
        self.gradients: dict[str, list[Any]] = {}
        self.thread = threading.get_ident()


_frames: list[_Frame] = []
_lock = threading.RLock()


def _innermost() -> _Frame | None:
    with _lock:
        own = [frame for frame in _frames if frame.thread == threading.get_ident()]
        return (own or _frames or [None])[-1]  # type: ignore[list-item]


def num_gradient_collection_tapes() -> int:
    """How many contexts are open."""
    return len(_frames)


def _keep(tag: str, gradients: list[Any]) -> None:
    frame = _innermost()
    if frame is None:
        raise RuntimeError(
            f"A gradient is taken through capture_upstream_gradients (tag {tag!r}), which may only be used within the "
            f"context of a GradientCaptureTape or a GradientCaptureContext of tensorflow.python.ipu.eager.backprop: "
            f"compute the gradient with such a tape, or inside such a context."
        )
    if tag in frame.gradients:
        raise ValueError(
            f"Gradients with the tag {tag!r} are captured already: give each capture_upstream_gradients a tag of its "
            f"own, and take the gradient once in each context."
        )
    frame.gradients[tag] = gradients


def capture_upstream_gradients(args: Any, tag: str = "") -> Any:
    """The same tensors; gradients that come back through them are captured.

    Args:
        args: a tensor, or a structure of them.
        tag: under which the gradients are found.

    Raises:
        RuntimeError: when a gradient is taken outside a capturing context.
    """

    @tf.custom_gradient
    def marked(*tensors: Any) -> Any:
        def backwards(*gradients: Any) -> Any:
            _keep(tag, list(gradients))
            return gradients if len(gradients) > 1 else gradients[0]

        kept = [tf.identity(tensor) for tensor in tensors]
        return (kept if len(kept) > 1 else kept[0]), backwards

    flat = [tf.convert_to_tensor(each) for each in tf.nest.flatten(args)]
    if not flat:
        return args
    return tf.nest.pack_sequence_as(args, tf.nest.flatten(marked(*flat)))


class GradientCaptureContext:
    """Captures the gradients that are taken with any optimizer or tape while it is open."""

    _frame: _Frame | None = None
    _captured: dict[str, list[Any]] | None = None

    def __enter__(self) -> GradientCaptureContext:
        self._open()
        return self

    def __exit__(self, *_: object) -> None:
        """It stays open until its gradients are read."""

    def __del__(self) -> None:
        self._close()

    @property
    def captured_gradients(self) -> dict[str, list[Any]] | None:
        """The gradients by tag; reading them ends the context. None: it was never entered."""
        self._close()
        return self._captured

    @captured_gradients.setter
    def captured_gradients(self, _: Any) -> None:
        raise ValueError("captured_gradients is read only.")

    def _open(self) -> None:
        self._close()
        self._frame = _Frame()
        with _lock:
            _frames.append(self._frame)

    def _close(self) -> None:
        frame, self._frame = self._frame, None
        if frame is not None:
            with _lock:
                _frames.remove(frame)
            self._captured = frame.gradients


class GradientCaptureTape(tf.GradientTape, GradientCaptureContext):
    """A tape that captures as well. `gradient` ends the context; on a persistent tape each call is one of its own."""

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True) -> None:
        tf.GradientTape.__init__(
            self, persistent=persistent, watch_accessed_variables=watch_accessed_variables
        )

    def __enter__(self) -> GradientCaptureTape:
        tf.GradientTape.__enter__(self)
        self._open()
        return self

    def gradient(
        self,
        target: Any,
        sources: Any,
        output_gradients: Any = None,
        unconnected_gradients: Any = UnconnectedGradients.NONE,
    ) -> Any:
        """As of a tape; then `captured_gradients` are there."""
        if self._frame is None:
            self._open()
        try:
            return super().gradient(target, sources, output_gradients, unconnected_gradients)
        finally:
            self._close()
