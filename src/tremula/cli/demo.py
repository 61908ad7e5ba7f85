"""`tremula demo`: generates events, trains on virtual IPUs, shows the result and estimates how it scales.

Every part is a separate process, started as a user would start it. The command reads what was executed from the run
ledger, and the results of the training from the files that the processes wrote.
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

#: packages that `tremula[apps]` installs
_NEEDED = ("h5py", "matplotlib", "yaml")
_PROCESSES = 2
_STEP = re.compile(r"(train|test) Step (\d+) metrics: (.*?) \(")


@dataclass(frozen=True)
class _Part:
    """One command of the demo."""

    name: str
    title: str
    words: list[str]  #: as one types it
    shown: Callable[[str], str | None]  #: the line to show for a line of its output, if any


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", metavar="FOLDER", help="the output folder (default: demo, then demo-2, ...)")
    parser.add_argument(
        "--events", type=int, default=360, metavar="N", help="number of training events (default: 360)"
    )
    parser.add_argument(
        "--steps", type=int, default=300, metavar="N", help="number of weight updates (default: 300)"
    )
    sizes = "numbers of IPUs in the scaling study (default: 1 to 64)"
    parser.add_argument("--ipus", default="1,2,4,8,16,32,64", metavar="N,N", help=sizes)
    parser.add_argument("--print", action="store_true", help="print the commands and do not run them")


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
        _Part("generate", "Generate liquid-argon events: cosmic muons and one neutrino each",
              [*generate, f"{folder}/events.h5", "--events", str(events)], str),
        _Part("unseen", "Generate events that are not used in training",
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
                f"the demo cannot run: `import {MAIN_SHIM}` loads another package, from {other.where}. "
                "Use an environment without that package."
            )
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise CommandError(
            f"the demo needs packages that are not installed: {', '.join(missing)}\n"
            "Install them with:  pip install 'tremula[apps]'"
        )
    if (folder / "run").exists():
        raise CommandError(
            f"{folder} contains an earlier demo. Remove the folder, or choose another one with --out."
        )


def _free_name() -> Path:
    """A folder that does not exist yet, so that an earlier demo is kept."""
    names = itertools.chain(["demo"], (f"demo-{number}" for number in itertools.count(2)))
    return next(Path(name) for name in names if not Path(name).exists())


def _execute(part: _Part, folder: Path, state: Path) -> None:
    """Run a part. Its whole output goes to its log, and some of it to the screen."""
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
    """The lines that a command prints. They also go to `log`. Raises CommandError if the command fails."""
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
            f"this part of the demo failed with exit code {code}. See its output in {log}, and run `tremula doctor` "
            "to look for the cause."
        )


def _as_modules(words: list[str]) -> list[str]:
    """The same command with this Python, because its commands may not be on the PATH."""
    modules = {"poprun": "tremula.launch", "cosmictagger": "cosmictagger"}
    found = []
    for word in words:
        found += [sys.executable, "-m", modules[word]] if word in modules else [word]
    return found


def _print_summary(folder: Path, runs: list[ledger.Run], seconds: float) -> None:
    called = [entry for run in runs for entry in run.models if entry.calls]
    if not called:
        raise CommandError(
            "all commands succeeded, but none of them executed a model on a virtual IPU; run `tremula doctor`"
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
            f"{processes} with one virtual IPU each"
        )
    print(f"  {'numbers':<15} computed on this host's CPU")
    print(f"  {'time':<15} {minutes} min {rest} s in total, measured on this host (not an IPU's time)")
    print("\nOutput files")
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


COMMAND = Command("demo", "train a model on virtual IPUs and estimate how it scales", _add_arguments, _run)
