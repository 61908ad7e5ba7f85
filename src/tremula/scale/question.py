"""The question of a scaling study: numbers of IPUs, systems, weak or strong, and the batch that stays the same.

Weak: every IPU keeps the same number of micro-batches per weight update, so the global batch grows with the IPUs.
Strong: the global batch stays, so every IPU gets fewer.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from tremula.errors import Error
from tremula.study.question import Question, Setting

WEAK, STRONG = "weak", "strong"
MODES = (WEAK, STRONG)
#: the sizes of the published study, and the one between them that it left out
USUAL_IPUS = (1, 2, 4, 8, 16, 32, 64)
#: IPUs of a replica that are tried
USUAL_STAGES = (1, 2, 4, 8)
#: systems go up to 256 IPUs; more is a typing error
MOST_IPUS = 65_536
#: rows of one study
MOST_ROWS = 500
#: fields that have one value
_SINGLE = ("micro_batch", "device_iterations", "precision", "recompute", "per_ipu", "global_batch")


@dataclass(frozen=True)
class ScaleQuestion(Question):
    """A study of one model: IPUs, targets and modes make rows; at each size all `stages` are tried."""

    ipus: tuple[int, ...] = USUAL_IPUS
    stages: tuple[int, ...] = USUAL_STAGES
    mode: tuple[str, ...] = MODES
    #: weak: micro-batches of an IPU per weight update (inference: per call)
    per_ipu: tuple[int | None, ...] = (None,)
    #: strong: samples of all replicas per weight update (inference: per call)
    global_batch: tuple[int | None, ...] = (None,)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("ipus", "stages"):
            values = getattr(self, name)
            if None in values:
                raise Error(f"{name} must be whole numbers, 1 or more.")
            if len(set(values)) != len(values):
                raise Error(f"{name} contains a number twice: {', '.join(map(str, values))}.")
        if max(self.ipus) > MOST_IPUS:
            raise Error(f"{max(self.ipus):,} IPUs are too many; at most {MOST_IPUS:,} can be modelled.")
        for name in _SINGLE:
            if len(getattr(self, name)) > 1:
                raise Error(f"A scaling study takes one {name}, not {len(getattr(self, name))}.")
        if self.replicas != (None,) or self.accumulation != (None,):
            raise Error(
                "A scaling study chooses replicas and accumulation; per_ipu and global_batch set the batch."
            )
        if self.global_batch[0] is not None and STRONG not in self.mode:
            raise Error(
                "A global batch is for strong scaling, but only weak scaling was requested. Leave out one of them."
            )

    def _check_count(self, count: int) -> None:
        rows = len(self.ipus) * len(self.target) * len(self.mode)
        if rows > MOST_ROWS:
            raise Error(
                f"The study would have {rows:,} rows, but at most {MOST_ROWS} are allowed. Give fewer sizes."
            )

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of IPUs, small ones first."""
        return tuple(sorted(self.ipus))

    def setting(self, target: str | None, micro_batches: int, *, training: bool) -> Setting:
        """What is modelled with so many micro-batches of a replica per weight update, or per call."""
        return Setting(
            target=target,
            micro_batch=self.micro_batch[0],
            accumulation=micro_batches if training else None,
            device_iterations=self.device_iterations[0] if training else micro_batches,
            precision=self.precision[0],
            recompute=self.recompute[0],
        )

    def plain(self) -> dict[str, Any]:
        """For JSON: the fields that have values."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: value for name, value in values.items() if value != (None,)}
