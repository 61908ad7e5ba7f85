"""`tremula demo`: the whole story in a few minutes: events, a training on virtual IPUs, what it learned, how it scales.

Every part is a separate process, started as a user would start it; nothing is prepared for it. What was executed is
read from the run ledger that the processes leave behind, and what was learned from the files that they wrote.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import itertools
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from filelock import Timeout

from tremula.cli import conflicts
from tremula.cli.command import Command, CommandError
from tremula.formatting import plain
from tremula.invariants import present
from tremula.settings.shims import MAIN_SHIM
from tremula.telemetry import ledger

#: what `tremula[apps]` brings
_NEEDED = ("h5py", "matplotlib", "yaml")
_PROCESSES = 2
_STEP = re.compile(r"(train|test) Step (\d+) metrics: (.*?) \(")


@dataclass(frozen=True)
class _Part:
    """One command of the story."""

    name: str
    title: str
    words: list[str]  #: as one types it
    shown: Callable[[str], str | None]  #: the line to show for a line of its output, if any


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", metavar="FOLDER", help="where everything goes (default demo, or demo-2 ...)")
    parser.add_argument(
        "--events", type=int, default=360, metavar="N", help="events to train on (default 360)"
    )
    parser.add_argument("--steps", type=int, default=300, metavar="N", help="weight updates (default 300)")
    sizes = "sizes of the scaling study (default 1 to 64)"
    parser.add_argument("--ipus", default="1,2,4,8,16,32,64", metavar="N,N", help=sizes)
    parser.add_argument("--print", action="store_true", help="show the commands instead of running them")


def _run(args: argparse.Namespace) -> int:
    if args.events < _PROCESSES or args.steps < 2:
        raise CommandError(f"the demo takes at least {_PROCESSES} events and 2 steps")
    folder = Path(args.out) if args.out else _free_name()
    parts = _parts(folder, args.events, args.steps, args.ipus)
    if args.print:
        for part in parts:
            print(shlex.join(part.words))
        return 0
    _refuse_if_unready(folder)
    started = time.monotonic()
    folder.mkdir(parents=True, exist_ok=True)
    state = folder / "state"
    for number, part in enumerate(parts, 1):
        print(f"\n{number}/{len(parts)}  {part.title}\n$ {shlex.join(part.words)}", flush=True)
        _execute(part, folder, state)
    _print_summary(folder, ledger.read(state / "runs.jsonl"), time.monotonic() - started)
    return 0


def _parts(folder: Path, events: int, steps: int, ipus: str) -> list[_Part]:
    config = [
        "--config-name=demo", "data=real", f"data.data_directory={folder}", "data.file=events.h5",
        "data.aux_file=unseen.h5", "data.downsample=3", "data.img_transform=true",
    ]  # fmt: skip
    run = [*config, "run.id=demo", f"output_dir={folder}/run"]
    training = [
        f"run.iterations={steps}", "run.minibatch_size=1", f"run.aux_iterations={max(1, steps // 2)}",
        f"mode.checkpoint_iteration={max(1, steps // 2)}",
    ]  # fmt: skip
    launch = ["poprun", "--num-instances", str(_PROCESSES), "--num-replicas", str(_PROCESSES)]
    generate = ["cosmictagger", "generate"]
    scale = [
        "cosmictagger", "scale", *config, "--mode", "weak", "--ipus", ipus, "--stages", "1,2,4",
        "--measure", str(_PROCESSES), "--brief", "--out", f"{folder}/scale",
    ]  # fmt: skip
    return [
        _Part("generate", "Liquid-argon events: cosmic muons, and one neutrino each",
              [*generate, f"{folder}/events.h5", "--events", str(events)], str),
        _Part("unseen", "Others, which the network will not see while it learns",
              [*generate, f"{folder}/unseen.h5", "--events", "24", "--first", "1000000"], str),
        _Part("training", f"Train on {_PROCESSES} virtual IPUs: {_PROCESSES} processes, one model",
              [*launch, "--only-output-from-instance", "0", "cosmictagger", *run, *training], _training_line),
        _Part("inference", "What it learned",
              ["cosmictagger", *run, "mode=inference", "mode.gallery=6"], _report_line),
        _Part("scale", "How it would scale over real IPUs (modelled)", scale, str),
    ]  # fmt: skip


def _training_line(line: str) -> str | None:
    found = _STEP.search(line)
    if found is None or (found[1] == "train" and int(found[2]) % 50):
        return None
    kind = "unseen events" if found[1] == "test" else "training"
    return f"  step {found[2]:>3}  {kind:<13}  {found[3].replace('Average/', '')}"


def _report_line(line: str) -> str | None:
    found = re.search(r"Average/(Cosmic_IoU|Neutrino_IoU|Non_Bkg_Accuracy) +(\S.*)", line)
    return f"  {found[1]:<17} {found[2]}" if found else None


def _refuse_if_unready(folder: Path) -> None:
    for other in conflicts.foreign_packages():
        if other.name == MAIN_SHIM and other.shadows_ours:
            raise CommandError(
                f"`import {MAIN_SHIM}` finds another package at {other.where}, so the demo would not run "
                "on Tremula. Use an environment without it."
            )
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise CommandError(
            f"the demo needs {', '.join(missing)}, which this environment has not.\n"
            "Install it with:  pip install 'tremula[apps]'"
        )
    if (folder / "run").exists():
        raise CommandError(
            f"{folder} holds an earlier demo, which would go on instead of beginning; remove it, or choose another "
            "place with --out"
        )


def _free_name() -> Path:
    """A folder that is not there yet: an earlier demo is left as it is."""
    names = itertools.chain(["demo"], (f"demo-{number}" for number in itertools.count(2)))
    return next(Path(name) for name in names if not Path(name).exists())


def _execute(part: _Part, folder: Path, state: Path) -> None:
    """Run a part; all that it prints is in its log, some of it on the screen."""
    log = folder / f"{part.name}.log"
    # networks this small gain nothing from threads, and lose much where the cores are busy
    ours = {"TREMULA_STATE_DIR": str(state), "TREMULA_SUMMARY": "0"}
    environment = {"OMP_NUM_THREADS": "1", **os.environ, **ours}
    with _lines_of(_as_modules(part.words), environment, log) as lines:
        for line in lines:
            shown = part.shown(line)
            if shown is not None:
                print(plain(shown, lines=False), flush=True)


@contextlib.contextmanager
def _lines_of(command: list[str], environment: dict[str, str], log: Path) -> Iterator[Iterator[str]]:
    """The lines that a command prints, which also go to `log`; a command that fails is an error."""
    with open(log, "w", encoding="utf-8") as out:
        process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=out,
            text=True,
            errors="replace",
        )
        printed = present(process.stdout, "the output of the command")

        def lines() -> Iterator[str]:
            for line in printed:
                out.write(line)
                yield line.rstrip("\n")

        try:
            with printed:
                yield lines()
            code = process.wait()
        except BaseException:
            # as Ctrl-C would: what it has started is ended, and what it has done is saved
            process.send_signal(signal.SIGINT)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            raise
    if code != 0:
        raise CommandError(
            f"this part of the demo failed (exit code {code}); what it said is in {log}, and `tremula doctor` may say "
            "why"
        )


def _as_modules(words: list[str]) -> list[str]:
    """The same command with this Python: its commands need not be on the path."""
    modules = {"poprun": "tremula.launch", "cosmictagger": "cosmictagger"}
    found = []
    for word in words:
        found += [sys.executable, "-m", modules[word]] if word in modules else [word]
    return found


def _print_summary(folder: Path, runs: list[ledger.Run], seconds: float) -> None:
    called = [entry for run in runs for entry in run.models if entry.calls]
    if not called:
        raise CommandError(
            "all commands ended well but executed no wrapped model; `tremula doctor` may say why"
        )
    for run in runs:
        with contextlib.suppress(OSError, Timeout):
            ledger.append(run)
    minutes, rest = divmod(round(seconds), 60)
    result = folder / "run" / "torch" / "demo" / "demo"
    print("\nWhat ran where")
    for kind in dict.fromkeys(entry.kind for entry in called):
        mine = [entry for entry in called if entry.kind == kind]
        processes = f"{len(mine)} process{'' if len(mine) == 1 else 'es'}"
        print(
            f"  {kind:<15} {sum(e.calls for e in mine):,} calls, {sum(e.samples for e in mine):,} samples in "
            f"{processes}, one virtual IPU each"
        )
    print(f"  {'numbers':<15} computed on this host's CPU")
    print(f"  {'time':<15} {minutes} min {rest} s measured here, start to end; not what an IPU would take")
    print("\nWhere everything is")
    for name, place in (
        ("event display", result / "gallery.html"),
        ("scaling study", folder / "scale" / "scale.html"),
        ("its plots", folder / "scale" / "throughput.png"),
        ("metrics", result / "inference.json"),
        ("checkpoints", result / "checkpoints"),
        ("events", folder / "events.h5"),
        ("logs", folder / "training.log"),
    ):
        print(f"  {name:<15} {place}")


COMMAND = Command(
    "demo", "train a neutrino tagger on virtual IPUs, look at it, scale it", _add_arguments, _run
)
