"""The state of a session, as the device's life reads and writes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from torch import Tensor

from tremula.execute.executable import OptimizerState
from tremula.frontends.onnx.run.session import GraphSession
from tremula.frontends.sessions.on_device import HostExecutable


class SessionExecutable(HostExecutable):
    """A session as the device sees it."""

    def __init__(self, session: GraphSession) -> None:
        super().__init__()
        self.session = session

    def read_state(self) -> Mapping[str, Tensor]:
        """The weights on the device."""
        return self.session.device

    def write_state(self, values: Mapping[str, Tensor]) -> None:
        """Give the host's copies other values, and send them to the device."""
        for name, value in values.items():
            self.session.write(name, value)
        self.session.weights_from_host()

    def read_optimizer(self) -> OptimizerState[Tensor]:
        """The optimizer's state as the host has it."""
        updater = self.session.updater
        return OptimizerState({} if updater is None else updater.tensors())

    def write_optimizer(self, state: OptimizerState[Tensor]) -> list[str]:
        """Take over an optimizer's state."""
        updater = self.session.updater
        for name, value in state.tensors.items():
            if updater is not None:
                updater.write(name, value)
        return []

    def random_words(self) -> list[int]:
        """The seed."""
        return [self.session.seed]

    def restore_random(self, words: Sequence[int]) -> None:
        """Begin the random numbers anew."""
        self.session.set_seed(int(words[0]))
