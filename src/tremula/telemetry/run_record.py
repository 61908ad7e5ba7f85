"""The figures of one run: which models a process wrapped, what they did and how long it took.

All times are the host's clock. A record goes through a file between processes, so each field is checked when
it is read back; fields that older records lack have their defaults.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from typing import Protocol

from tremula.checked_json import decode

#: how many models one run's record (and its end-of-run lines) may name
MAX_MODELS = 20
MAX_TEXT = 200


class FormReport(Protocol):
    """What was done about compiled code for a model, kept up to date while it runs."""

    cache: str  #: what the cache said; empty before it was asked
    compile_seconds: float  #: seconds that the C++ compiler took
    speedup: float
    why_quick: str  #: why the quick form stays, if it does
    calls: int  #: calls before the compiled form came into use


@dataclass
class Entry:
    """One wrapped model. The counters are plain numbers: counting costs nothing beside a call."""

    kind: str
    model: str
    calls: int = 0
    samples: int = 0
    compiles: int = 0
    #: capture, checks and loading, and the C++ compiler where the program waited for it
    compile_seconds: float = 0.0
    ipus: int = 1
    failures: int = 0
    capture_seconds: float = 0.0
    seconds: float = 0.0  #: time in calls, first ones included
    #: calls that were the first after a compilation; `first_seconds` has compilation in it
    first_calls: int = 0
    first_samples: int = 0
    first_seconds: float = 0.0
    compiler_seconds: float = 0.0  #: time of the C++ compiler, in the background or not
    compiled_from: int = 0  #: the first call (1, 2, ...) that ran compiled code; 0 if none did
    speedup: float = 0.0
    cache: str = ""  #: what the cache said
    why_quick: str = ""
    #: what the chip model says of the last program, in one line; empty if it was not asked
    modelled: str = ""
    #: the method of the module that was called on the executor last and returned the module, with the user's line
    returned_module: str = ""
    #: why a profile that was asked for was not written
    no_profile: str = ""
    #: said of it if it never ran, in the words of its front end; those of PyTorch without
    never_ran: str = ""

    def __post_init__(self) -> None:
        self._reports: list[FormReport] = []

    def failed(self) -> None:
        """Count a call that ended with an error before anything was compiled."""
        self.failures += 1

    def captured(self, seconds: float) -> None:
        """Count the time of a capture."""
        self.capture_seconds += seconds

    def compiled(self, seconds: float, ipus: int = 1) -> None:
        """Count a compilation, and note how many virtual IPUs its program uses."""
        self.compiles += 1
        self.compile_seconds += seconds
        self.ipus = ipus

    def foreseen(self, modelled: str) -> None:
        """Note what the chip model says of the program."""
        self.modelled = one_line(modelled)

    def unprofiled(self, why: str) -> None:
        """Note why a profile that was asked for was not written, if it was not: the first sentence of `why`."""
        self.no_profile = one_line(why.partition(". ")[0])

    def module_returned(self, method: str, line: str) -> None:
        """Note that a `method` of the module, called on the executor at the user's `line`, returned the module."""
        self.returned_module = one_line(f"{method}() at {line}" if line else f"{method}()")

    def follow(self, report: FormReport) -> None:
        """Take the figures about compiled code from `report` when the run is summed up."""
        if all(report is not each for each in self._reports):
            self._reports.append(report)

    def executed(self, calls: int = 1, samples: int = 0, seconds: float = 0.0) -> None:
        """Count calls that computed something, their samples and their time."""
        self.calls += calls
        self.samples += samples
        self.seconds += seconds

    def first_call(self, samples: int, seconds: float) -> None:
        """Note that the call just counted was the first after a compilation."""
        self.first_calls += 1
        self.first_samples += samples
        self.first_seconds += seconds

    @property
    def steady(self) -> tuple[int, int, float]:
        """Calls, samples and seconds of all calls but first ones."""
        return (
            self.calls - self.first_calls,
            self.samples - self.first_samples,
            max(0.0, self.seconds - self.first_seconds),
        )

    def settled(self) -> Entry:
        """A copy with the figures of the reports in it."""
        entry = replace(self)
        for report in self._reports:
            used = bool(report.speedup) and not report.why_quick
            entry.compiler_seconds += report.compile_seconds
            entry._note_form(
                report.calls + 1 if used else 0,
                report.speedup,
                one_line(report.cache),
                one_line(report.why_quick),
            )
        return entry

    def add(self, other: Entry) -> None:
        """Sum up another model of the same class."""
        for name in _SUMMED:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.ipus = max(self.ipus, other.ipus)
        self.modelled = other.modelled or self.modelled
        self.returned_module = other.returned_module or self.returned_module
        self.no_profile = other.no_profile or self.no_profile
        self.never_ran = other.never_ran or self.never_ran
        self._note_form(other.compiled_from, other.speedup, other.cache, other.why_quick)

    def _note_form(self, compiled_from: int, speedup: float, cache: str, why_quick: str) -> None:
        """Figures that cannot be summed are those of the last program that ran compiled code, or of the last one."""
        if compiled_from or (not self.compiled_from and (cache or why_quick or speedup)):
            self.compiled_from, self.speedup = compiled_from, speedup
            self.cache, self.why_quick = cache, why_quick


_SUMMED = (
    "calls", "samples", "compiles", "compile_seconds", "failures", "capture_seconds", "seconds", "first_calls",
    "first_samples", "first_seconds", "compiler_seconds",
)  # fmt: skip


@dataclass
class Run:
    """One process that wrapped models."""

    program: str
    pid: int
    started: float
    ended: float = 0.0
    threads: int = 0  # host threads that computed; 0 if unknown
    models: list[Entry] = field(default_factory=list)
    #: seconds that the program waited for its data loaders, and the items that they handed out
    data_wait: float = 0.0
    items: int = 0

    @property
    def calls(self) -> int:
        """Calls executed, all models together."""
        return sum(entry.calls for entry in self.models)

    def merged(self) -> Run:
        """This run with one entry for each kind and model, settled, and no more than `MAX_MODELS`."""
        merged: dict[tuple[str, str], Entry] = {}
        for entry in self.models:
            merged.setdefault((entry.kind, entry.model), Entry(entry.kind, entry.model)).add(entry.settled())
        models = sorted(merged.values(), key=lambda entry: entry.calls, reverse=True)[:MAX_MODELS]
        return replace(self, models=models)

    def as_line(self) -> str:
        """The record as it is written to the file."""
        return json.dumps(asdict(self.merged()), separators=(",", ":"))


def parsed(line: bytes) -> Run | None:
    """The run that `line` describes, or None unless every field is of the right type."""
    try:
        run = decode(Run, json.loads(line), lenient=True)
    except (ValueError, RecursionError):
        return None
    run.models = run.models[:MAX_MODELS]
    sound = all(_is_sound(value) for part in (run, *run.models) for value in vars(part).values())
    return run if sound else None


def one_line(text: str) -> str:
    """`text` as a record may hold it: one short line of printable characters."""
    words = "".join(letter if letter.isprintable() else " " for letter in text).split()
    joined = " ".join(words)
    return joined if len(joined) <= MAX_TEXT else joined[: MAX_TEXT - 3] + "..."


def _is_sound(value: object) -> bool:
    if isinstance(value, str):  # a control character would act on the reader's terminal
        return len(value) <= MAX_TEXT and value.isprintable()
    if isinstance(value, int | float):
        return 0 <= value < (1 << 63 if isinstance(value, int) else 1e12)
    return True
