"""Which tests run on this machine: how many virtual IPUs it has, and whether programs see them as hardware.

A test that does not fit hardware runs on an IPU model here rather than not at all: the virtual machine is both.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Iterator
from typing import Any

from tremula.frontends.tensorflow import flags
from tremula.frontends.tensorflow.config import enums
from tremula.frontends.tensorflow.config.configure import reset_ipu_configuration
from tremula.machine import systems

#: how test farms say how many IPUs a test may use
_COUNT = "TF_IPU_COUNT"
_FLAGS = "TF_POPLAR_FLAGS"


def get_ci_num_ipus() -> int:
    """How many IPUs tests may use: TF_IPU_COUNT, or all of the virtual system; none on an IPU model."""
    if _COUNT in os.environ:
        return int(os.environ[_COUNT])
    system = systems.current()
    return 0 if system is None or flags.flag("use_ipu_model") else system.ipus


def has_ci_ipus() -> bool:
    """Whether tests run on (virtual) hardware."""
    return get_ci_num_ipus() > 0


def add_hw_ci_connection_options(opts: Any) -> None:
    """Let this configuration take devices on demand, so that tests can share them."""
    opts.device_connection.enable_remote_buffers = True
    opts.device_connection.type = enums.DeviceConnectionType.ON_DEMAND


def skip_if_not_enough_ipus(self: Any, num_ipus: int) -> None:
    """Skip the running test on a machine with fewer IPUs."""
    available = get_ci_num_ipus()
    if available < num_ipus:
        self.skipTest(f"The test needs {num_ipus} IPUs; this machine has {available} (TREMULA_SYSTEM).")


def needs_ipus(num_ipus: int, allow_ipu_model: bool = False, func: Any = None) -> Any:
    """Decorate a test that needs this many IPUs; with `allow_ipu_model` it also runs without hardware."""

    def decorator(test: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(test)
        def decorated(self: Any, *args: Any, **kwargs: Any) -> Any:
            if not allow_ipu_model:
                skip_if_not_enough_ipus(self, num_ipus)
            return test(self, *args, **kwargs)

        return decorated

    return decorator if func is None else decorator(func)


def needs_ipus_or_model(num_ipus: int, func: Any = None) -> Any:
    """Decorate a test that runs on this many IPUs or on an IPU model."""
    return needs_ipus(num_ipus, allow_ipu_model=True, func=func)


# They are not tests, whatever a collector makes of their public names, which begin with `test`.
needs_ipus.__test__ = False  # type: ignore[attr-defined]
needs_ipus_or_model.__test__ = False  # type: ignore[attr-defined]


@contextlib.contextmanager
def ipu_model() -> Iterator[None]:
    """Programs inside run on an IPU model, whatever the machine has."""
    before = os.environ.get(_FLAGS)
    reset_ipu_configuration()
    if not flags.flag("use_ipu_model"):
        os.environ[_FLAGS] = f"{before or ''} --use_ipu_model".strip()
    try:
        yield
    finally:
        reset_ipu_configuration()
        if before is None:
            os.environ.pop(_FLAGS, None)
        else:
            os.environ[_FLAGS] = before


def skip_on_hw(func: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a test that is not for hardware: it runs on an IPU model."""

    @functools.wraps(func)
    def decorated(self: Any, *args: Any, **kwargs: Any) -> Any:
        with ipu_model():
            return func(self, *args, **kwargs)

    return decorated


def skip_with_asan(reason: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a test that must not run under an address sanitizer."""
    if not isinstance(reason, str):
        raise TypeError(f"the reason is a text, not {type(reason).__name__}")

    def decorator(test: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(test)
        def decorated(self: Any, *args: Any, **kwargs: Any) -> Any:
            if "ASAN_OPTIONS" in os.environ:
                self.skipTest(reason)
            return test(self, *args, **kwargs)

        return decorated

    return decorator
