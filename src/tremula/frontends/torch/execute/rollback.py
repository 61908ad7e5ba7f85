"""What a call that fails leaves on the device: the state before the call, where that can be had.

A call fails in the middle if the user's Python code raises (a custom op, a function of the host), if an op refuses its
data, or if the user presses Ctrl-C twice. Buffers that the program writes and the random state are put back, and so are
weights if no update was made. Programs that run Python code of the user and make several updates per call keep copies
of all that they write. Other programs would spend time on that in every call; their error says how many updates were
made.
"""

from __future__ import annotations

import torch

from tremula import log
from tremula.errors import Error
from tremula.frontends.torch.execute.run_context import RunContext

#: ops that run Python code of the user
_USER_CODE = frozenset({"tremula::host_call", "tremula::custom", "tremula::custom_gradient"})


class Rollback:
    """Remembers the state before a call.

    Attributes:
        torn: a weight update was left in the middle, so the weights belong to no step.
    """

    def __init__(self, around: RunContext) -> None:
        self.torn = False
        self._around = around
        program, state = around.program, around.state
        loops = program.loops
        updates = loops.device_iterations if state.training is not None else 0
        #: whether weights and optimizer state are remembered as well
        self._whole = updates > 1 and around.reduction is None and _runs_user_code(around)
        self._updates = updates
        self._tensors = [
            tensor
            for kind, tensor in state.written()
            if kind == "buffers" or (self._whole and kind != "accumulators")
        ]
        self._copies = [torch.empty_like(tensor) for tensor in self._tensors]
        self._streams: list[torch.Tensor] = []

    def begin(self) -> None:
        """A call begins; an error if the weights belong to no step."""
        if self.torn:
            raise Error(
                "An earlier call was interrupted in the middle of a weight update, so the weights on the device belong "
                "to no step. To continue, write valid weights to the device, from the host or from a checkpoint; the "
                "optimizer's state is still that of the interrupted update."
            )
        around = self._around
        around.updates, around.updating = 0, False
        if self._tensors:
            torch._foreach_copy_(self._copies, self._tensors)
        if around.draws:
            self._streams = around.random.streams()

    def undo(self, problem: BaseException) -> None:
        """A call has failed with `problem`: put back what can be, and note on it what cannot."""
        around = self._around
        if self._whole or not (around.updates or around.updating):
            if self._tensors:
                torch._foreach_copy_(self._tensors, self._copies)
            if around.draws:
                around.random.rewind(self._streams)
        elif around.updating:
            self.torn = True
        else:
            problem.add_note(
                f"{around.updates} of {self._updates} weight updates of this call were made before it failed, and stay."
            )

    def warn_if_torn(self) -> None:
        """Say so if the weights are those of an interrupted update."""
        if self.torn:
            log.warn_once(
                f"torn weights {id(self)}",
                "The weights that are read from the device are those of a weight update that was interrupted.",
            )


def _runs_user_code(around: RunContext) -> bool:
    names = {getattr(node.target, "name", str)() for node in around.program.step.graph.nodes}
    return not names.isdisjoint(_USER_CODE)
