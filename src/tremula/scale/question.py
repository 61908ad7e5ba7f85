"""What a scaling study asks: numbers of IPUs, systems, weak or strong, and the batch that stays the same.

Weak: every IPU keeps the same number of micro-batches per weight update, so the global batch grows with the IPUs.
Strong: the global batch stays, so every IPU gets fewer. What is left out is the program's own, or chosen and told.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from tremula.errors import Error
from tremula.study.question import PRECISIONS, RECOMPUTE

WEAK, STRONG = "weak", "strong"
MODES = (WEAK, STRONG)
#: the sizes of the published study, and the one between them that it left out
USUAL_IPUS = (1, 2, 4, 8, 16, 32, 64)
#: IPUs of a replica that are tried
USUAL_STAGES = (1, 2, 4, 8)
#: systems go up to 256 IPUs; more is a number that somebody mistyped
MOST_IPUS = 65_536
#: rows of one study
MOST_ROWS = 500


@dataclass(frozen=True)
class ScaleQuestion:
    """A study of one model. None: the program's own."""

    ipus: tuple[int, ...] = USUAL_IPUS
    #: names of chips or systems; None: this machine's
    targets: tuple[str | None, ...] = (None,)
    modes: tuple[str, ...] = MODES
    #: IPUs of one replica that are tried at each size
    stages: tuple[int, ...] = USUAL_STAGES
    micro_batch: int | None = None
    #: weak: micro-batches of an IPU per weight update (inference: per call)
    per_ipu: int | None = None
    #: strong: samples of all replicas per weight update (inference: per call)
    global_batch: int | None = None
    device_iterations: int | None = None
    precision: str | None = None
    recompute: str | None = None

    def __post_init__(self) -> None:
        for name in ("ipus", "stages"):
            values = getattr(self, name)
            if not values or any(not _whole(value) for value in values):
                raise Error(f"{name} must be whole numbers, 1 or more, not {_told(values)}.")
            if len(set(values)) != len(values):
                raise Error(f"{name} has a number twice: {_told(values)}.")
        if max(self.ipus) > MOST_IPUS:
            raise Error(
                f"{max(self.ipus):,} IPUs are more than there are; at most {MOST_IPUS:,} are modelled."
            )
        for name in ("micro_batch", "per_ipu", "global_batch", "device_iterations"):
            value = getattr(self, name)
            if value is not None and not _whole(value):
                raise Error(f"{name} must be a whole number, 1 or more, not {value!r}.")
        if not self.modes or any(mode not in MODES for mode in self.modes):
            raise Error(f"The mode is weak, strong or both, not {_told(self.modes)}.")
        if self.global_batch is not None and STRONG not in self.modes:
            raise Error(
                "A global batch is what strong scaling keeps, and only weak scaling is asked for; leave one out."
            )
        if not self.targets:
            raise Error("Name at least one chip or system, or none at all for this machine's.")
        if self.precision is not None and self.precision not in PRECISIONS:
            raise Error(f"precision must be one of {', '.join(PRECISIONS)}, not {self.precision!r}.")
        if self.recompute is not None and self.recompute not in RECOMPUTE:
            raise Error(f"recompute must be one of {', '.join(RECOMPUTE)}, not {self.recompute!r}.")
        rows = len(self.ipus) * len(self.targets) * len(self.modes)
        if rows > MOST_ROWS:
            raise Error(f"This makes {rows:,} rows; a study has at most {MOST_ROWS}. Ask for fewer sizes.")

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of IPUs, small ones first."""
        return tuple(sorted(self.ipus))

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _told(values: object) -> str:
    return ", ".join(map(str, values)) if isinstance(values, tuple) and values else "nothing"
