"""The random numbers of a session: its seed, and the state with which the next run starts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch

from ._enums import SyntheticDataMode
from ._exceptions import popart_exception

if TYPE_CHECKING:
    from tremula.frontends.onnx.run.session import GraphSession

    from ._session_options import SessionOptions

_BYTES = 4


class SessionRandomState:
    """Seed and state of a session."""

    _session: GraphSession
    _options: SessionOptions
    _random_seed = 0

    def getRandomSeed(self) -> int:
        """The seed that was set last."""
        return self._random_seed

    def getRNGState(self) -> list[int]:
        """The state as numbers of 32 bits; empty with synthetic data."""
        self._check_state("getRNGState")
        if self._options.syntheticDataMode is not SyntheticDataMode.Off:
            return []
        data = bytes(self._session.generator.get_state().tolist())
        return [int.from_bytes(data[i : i + _BYTES], "little") for i in range(0, len(data), _BYTES)]

    def setRNGState(self, rngValue: Sequence[int]) -> None:
        """Restore a state that `getRNGState` returned."""
        self._check_state("setRNGState")
        if self._options.syntheticDataMode is not SyntheticDataMode.Off:
            return
        held = self._session.generator.get_state().numel()
        data = b"".join(int(word).to_bytes(_BYTES, "little") for word in rngValue)
        if not 0 <= len(data) - held < _BYTES:
            raise popart_exception(
                f"Devicex::setRngStateValue received rngState of size {len(rngValue)}; was expecting size "
                f"{-(-held // _BYTES)}"
            )
        try:
            self._session.generator.set_state(torch.tensor(list(data[:held]), dtype=torch.uint8))
        except RuntimeError as problem:
            raise popart_exception(
                f"setRNGState was given an invalid state of random numbers ({problem}). Use a value from "
                "getRNGState."
            ) from problem

    def _check_state(self, function: str) -> None:
        if not self._options.enableLoadAndOffloadRNGState:
            raise popart_exception(
                f"Trying to call {function}, but the session option enableLoadAndOffloadRNGState must be set to True "
                "before the session is created."
            )
        if not self._session.prepared:
            raise popart_exception(
                f"Devicex::prepare() must be called before {function} is called: did you forget to call "
                "prepareDevice()?"
            )
