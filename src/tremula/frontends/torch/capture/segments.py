"""A capture that can be cut into stages afterwards: each module call begins a segment, and `cuts` says at which of
them a block could begin (only modules called exactly once). The user's own blocks begin segments too.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator

import torch

from tremula.frontends.torch.capture.placement import Placement, PlacementRule, SingleIpu
from tremula.frontends.torch.capture.scopes import calls_of_submodules
from tremula.frontends.torch.capture.stages import BlockRule
from tremula.frontends.torch.graphs.program import TorchProgram, record_of
from tremula.program.op import Phase
from tremula.program.stages import StageSummary
from tremula.program.variant import Cut


class Segments:
    """The placement rule of such a capture: all on IPU 0, a stage per segment; `rule` places the user's own blocks."""

    def __init__(self, rule: PlacementRule | None = None) -> None:
        self._rule: PlacementRule = rule or SingleIpu()
        self.begin, self.end = self._rule.begin, self._rule.end
        self.begin_owned, self.begin_at = self._rule.begin_owned, self._rule.begin_at
        self.reset_auto_ids = self._rule.reset_auto_ids
        self._placement = Placement()
        #: by segment, what the user's blocks said
        self._own: list[Placement] = [Placement()]
        #: by segment, the modules whose calls came just before its first op, in the order of their calls
        self._begun: list[list[str]] = [[]]
        self._waiting: list[str] = []
        self._calls: Counter[str] = Counter()
        self._started = False

    def current(self) -> Placement:
        """Placement of an op recorded now; its stage is the number of the segment."""
        own = self._rule.current()
        if not self._started:  # what is called before the first op begins no segment: nothing is before it
            self._begun[0], self._own[0] = self._waiting, own
            self._waiting, self._started = [], True
        elif self._waiting or own != self._own[-1]:
            self._begun.append(self._waiting)
            self._own.append(own)
            self._placement = Placement(stage=len(self._begun) - 1)
            self._waiting = []
        return self._placement

    def call(self, module: str) -> None:
        """The module at path `module` is called."""
        self._calls[module] += 1
        self._waiting.append(module)

    @contextlib.contextmanager
    def following(self, module: torch.nn.Module) -> Iterator[None]:
        """While inside, calls of the submodules of `module` begin segments."""
        with calls_of_submodules(module, self.call):
            yield

    def cuts(self, program: TorchProgram) -> list[Cut]:
        """Where `program`, which was captured by this rule, can be cut, in the order of its forward pass."""
        used = _used(program)
        found: list[Cut] = []
        number = -1
        waiting: list[str] = []
        for segment, modules in enumerate(self._begun):
            waiting += modules  # a block that begins where nothing is left begins at the next op all the same
            if segment not in used:
                continue
            number += 1
            once = [path for path in waiting if self._calls[path] == 1]
            waiting = []
            if number and once:
                found.append(Cut(number, _outermost(once)))
        return found

    def own(self, program: TorchProgram) -> list[Placement]:
        """Where the user's blocks would put each segment of `program` that has ops."""
        return [self._own[segment] for segment in sorted(_used(program))]

    def stages(self) -> StageSummary | None:
        """What the user's blocks came to; None if there is no strategy for blocks."""
        return self._rule.summary() if isinstance(self._rule, BlockRule) else None


def _used(program: TorchProgram) -> set[int]:
    """Segments that have ops in the forward pass."""
    return {
        record_of(node).annotation.placement.stage
        for node in program.step.graph.nodes
        if node.op == "call_function" and record_of(node).phase is Phase.FORWARD
    }


def _outermost(paths: list[str]) -> str:
    """The path to name when several modules begin at one op; of equals the last, whose call the op is in."""
    return min(reversed(paths), key=lambda path: path.count("."))
