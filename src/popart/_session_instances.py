"""Sessions of several instances: checks that their programs agree, and broadcasts weights."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from tremula.distributed import launch_environment
from tremula.frontends.onnx.arrays import array_of

from ._exceptions import popart_errors

if TYPE_CHECKING:
    from tremula.distributed.replica_exchange import ReplicaExchange
    from tremula.distributed.replica_share import ReplicaShare
    from tremula.frontends.onnx.run.session import GraphSession
    from tremula.frontends.sessions.executables import Identity

    from ._session_options import SessionOptions

_ADVICE = "popdist.popart.configureSessionOptions(options)"


class SessionInstances:
    """This instance of a session and the others."""

    _session: GraphSession
    _options: SessionOptions
    _name: str
    _agreed = False

    def _identity(self) -> Identity:
        raise NotImplementedError

    def _exchange(self, share: ReplicaShare, *, training: bool) -> ReplicaExchange | None:
        """The connection to the other instances, or None if there are none or the options name none."""
        if not share.several:
            if training and launch_environment.instances() > 1:
                # imported here, as below: it takes a moment and a run of one instance does not need it
                from tremula.distributed import independent_models

                independent_models.report(f"the PopART session {self._name}", _ADVICE)
            return None
        from tremula.distributed.replica_exchange import ReplicaExchange

        return ReplicaExchange(share, self._options.engineOptions)

    def _agree(self) -> None:
        """Before the first step: see that all instances run the same program, if they talk to each other."""
        session = self._session
        if self._agreed or session.exchange is None:
            return
        if session.updater is None and not session.program.collective:
            return
        identity = self._identity()
        description = {"model": hashlib.sha256(identity.model).hexdigest(), **identity.request}
        session.exchange.require_same(description)
        session.exchange.tell_differing(
            "Weights of the PopART session",
            {name: array_of(tensor) for name, tensor in session.host.items()},
            "Each instance continues with its own weights. session.broadcastWeights() copies those of instance 0 "
            "to all.",
        )
        self._agreed = True

    def broadcastWeights(self, rootRank: int = 0) -> None:
        """Send the host weights of one instance to all others. Every instance must call this."""
        if launch_environment.instances() == 1:
            return
        from tremula.distributed import collectives
        from tremula.distributed.instances import sync_timeout

        with popart_errors():
            group = collectives.whole(
                launch_environment.instance(),
                launch_environment.instances(),
                sync_timeout(self._options.engineOptions),
            )
            for tensor in self._own_weights().values():
                if tensor.numel():
                    group.broadcast(tensor, rootRank)

    def _own_weights(self) -> dict[str, Any]:
        """The host's weights, each in memory that nothing else uses."""
        host = self._session.host
        host.update({name: tensor.clone().contiguous() for name, tensor in host.items()})
        return host
