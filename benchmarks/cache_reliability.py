"""How far the executable cache can be relied on: damaged files, killed writers, crowds, and a thousand entries.

    python -m benchmarks.cache_reliability [--mutants 1000] [--writers 100] [--processes 8] [--seed 0] [--json OUT]

Everything happens in a temporary folder. Prints the figures; the exit code is 1 if one of them is not what it
must be: no crash, no wrong result, no visible part of an entry, nothing lost, one compilation.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tremula import log
from tremula.cache import Entry, Store, eviction, key_of

Figures = dict[str, Any]


def code_of(key: str, size: int) -> bytes:
    """The one right content of the entry `key`."""
    return (hashlib.sha256(key.encode()).digest() * (size // 32 + 1))[:size]


def key_number(number: int) -> str:
    return key_of({"number": number})


# --- mutants ----------------------------------------------------------------------------------------------------


def mutate(data: bytes, dice: random.Random) -> bytes:
    """`data` damaged in one of the ways in which files are damaged; never the same bytes."""
    place, length = dice.randrange(len(data)), dice.choice((1, 2, 8, 64, 4096))
    noise = dice.randbytes(length)
    flipped = bytearray(data)
    flipped[place] ^= 1 << dice.randrange(8)
    in_header = bytearray(data)
    in_header[dice.randrange(min(300, len(data)))] = dice.randrange(256)
    mutants: tuple[Callable[[], bytes], ...] = (
        lambda: bytes(flipped),
        lambda: bytes(in_header),
        lambda: data[:place],  # cut short
        lambda: data[:place] + noise + data[place:],  # more inside
        lambda: data + noise,  # more at the end
        lambda: data[:place] + data[place + length :],  # a piece lost
        lambda: data[:place] + noise + data[place + length :],  # a piece overwritten
        lambda: data[:place] + bytes(length) + data[place + length :],  # a block of zeros
        lambda: data[:place] + bytes(len(data) - place),  # the tail never reached the disk
        lambda: data[place:] + data[:place],
        lambda: data[: len(data) - 32] + dice.randbytes(32),  # another signature
        lambda: noise,
    )
    while True:
        mutant = dice.choice(mutants)()
        if mutant != data:
            return mutant


def mutated_files(folder: Path, count: int, seed: int) -> Figures:
    """Look up damaged entries, list and verify them, and put them again."""
    store = Store(folder / "cache", private_dir=folder / "private")
    dice = random.Random(seed)
    crashes = wrong = misses = not_replaced = 0
    reasons: dict[str, int] = {}
    for number in range(count):
        key = key_number(number % 10)
        blobs = {"model.so": code_of(key, dice.choice((10, 1000, 50_000))), "program.json": b"{}"}
        store.put(key, {"number": number}, blobs)
        path = store.root / f"{key}.popef"
        path.write_bytes(mutate(path.read_bytes(), dice))
        try:
            found = store.get(key)
            if found.entry is None:
                misses += 1
                reason = found.reason.partition(":")[0]
                reasons[reason] = reasons.get(reason, 0) + 1
            else:
                wrong += 1  # a damaged file was taken for an entry
            list(store.entries())
            store.verify()
            store.put(key, {"number": number}, blobs)
            again = store.get(key).entry
            not_replaced += again is None or again.blobs != blobs
        except Exception as problem:
            crashes += 1
            print(f"mutant {number}: {problem!r}", file=sys.stderr)
    figures = {
        "mutants": count,
        "crashes": crashes,
        "wrong": wrong,
        "misses": misses,
        "not_replaced": not_replaced,
    }
    return {**figures, "reasons": reasons, "ok": crashes == wrong == not_replaced == 0 and misses == count}


# --- killed writers ---------------------------------------------------------------------------------------------


def write_until_killed(store: Store, seed: int) -> None:
    """Put entries for ever, saying which are finished."""
    dice = random.Random(seed)
    print("begin", flush=True)
    while True:
        number = dice.randrange(8)
        key = key_number(number)
        if store.put(key, {"number": number}, {"model.so": code_of(key, 4 << 20)}):
            print(number, flush=True)


def killed_writers(folder: Path, count: int, seed: int) -> Figures:
    """Kill writers at random moments and look at what they leave."""
    store = Store(folder / "cache", private_dir=folder / "private")
    dice = random.Random(seed)
    finished: set[int] = set()
    partial = 0
    unfinished: set[Path] = set()
    for number in range(count):
        child = _child("write", folder, number)
        assert child.stdout is not None
        child.stdout.readline()
        time.sleep(dice.uniform(0, 0.06))
        child.kill()
        lines = child.communicate()[0].splitlines()
        finished.update(int(line) for line in lines)
        partial += sum(problem is not None for _, problem in store.verify())
        unfinished.update(eviction.list_folder(store.root).drafts)
    lost = sum(not _is_right(store.get(key_number(number)).entry) for number in finished)
    drafts = eviction.list_folder(store.root).drafts
    for draft in drafts:
        os.utime(draft, (1, 1))  # as if a while had passed
    store.prune()
    remaining = len(eviction.list_folder(store.root).drafts)
    return {
        "writers": count,
        "killed_while_writing": len(unfinished),
        "entries_written": len(finished),
        "visible_partial_entries": partial,
        "entries_lost": lost,
        "leftovers": len(drafts),
        "leftovers_after_prune": remaining,
        "ok": partial == lost == remaining == 0 and bool(finished),
    }


def _is_right(entry: Entry | None) -> bool:
    return entry is not None and entry.blobs == {"model.so": code_of(entry.key, 4 << 20)}


# --- many processes, one model ----------------------------------------------------------------------------------


def train_together(start_at: float) -> None:
    """One of the crowd: trains a small model in compiled code, and says how it came by it."""
    import torch

    import poptorch

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(0)
            self.layer = torch.nn.Linear(8, 8)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return poptorch.identity_loss(torch.tanh(self.layer(x)).square(), reduction="mean")

    model = Model()
    options = poptorch.Options().deviceIterations(4).showCompilationProgressBar(False)
    optimizer = poptorch.optim.Adam(model.parameters(), lr=0.01)
    training = poptorch.trainingModel(model, options, optimizer)
    time.sleep(max(0.0, start_at - time.time()))
    data = torch.linspace(-1, 1, 128).reshape(16, 8)
    for _ in range(5):
        training(data)
    report = training._session.executable.choice.report
    shared = report.cache.startswith(("hit", "compiled by another"))
    digits = " ".join(f"{value:.4f}" for value in model.layer.weight.flatten().tolist())
    print("shared" if shared else "compiled", digits, flush=True)


def crowd(folder: Path, count: int) -> Figures:
    """Let processes that train the same model start at the same moment."""
    environment = {
        **os.environ,
        "TREMULA_EXECUTION": "compiled",
        "TREMULA_CACHE_DIR": str(folder / "cache"),
        "TREMULA_STATE_DIR": str(folder / "state"),
        "TREMULA_SUMMARY": "0",
        "OMP_NUM_THREADS": "1",
    }
    start_at = time.time() + 3.0 * count
    children = [_child("together", folder, start_at, environment) for _ in range(count)]
    outputs = [child.communicate(timeout=900)[0].split() for child in children]
    crashes = sum(child.returncode != 0 for child in children)
    compiled = sum("compiled" in output for output in outputs)
    results = {tuple(output[1:]) for output in outputs}
    files = len(os.listdir(folder / "cache"))
    return {
        "processes": count,
        "compilations": compiled,
        "crashes": crashes,
        "different_results": len(results) - 1,
        "files": files,
        "ok": compiled == files == len(results) == 1 and crashes == 0,
    }


# --- a thousand entries -----------------------------------------------------------------------------------------


def hit_time(folder: Path, count: int = 1000, rounds: int = 300) -> Figures:
    """A hit in a cache of one entry beside a hit in a cache of many, in turns."""
    small = Store(folder / "small", private_dir=folder / "private")
    large = Store(folder / "large", private_dir=folder / "private")
    key = key_number(0)
    small.put(key, {}, {"model.so": code_of(key, 1 << 18)})
    for number in range(count):
        large.put(
            key_number(number), {}, {"model.so": code_of(key_number(number), 1 << 18 if not number else 256)}
        )
    times: dict[int, list[float]] = {1: [], count: []}
    for _ in range(rounds):
        for entries, store in ((1, small), (count, large)):
            started = time.perf_counter()
            hit = store.get(key).entry is not None
            times[entries].append(time.perf_counter() - started)
            assert hit
    one, many = statistics.median(times[1]), statistics.median(times[count])
    return {
        "entries": count,
        "hit_ms_1": round(one * 1e3, 3),
        f"hit_ms_{count}": round(many * 1e3, 3),
        "ratio": round(many / one, 3),
        "ok": many / one < 1.5,
    }


# --- together ---------------------------------------------------------------------------------------------------


def _child(
    role: str, folder: Path, argument: float, environment: Mapping[str, str] | None = None
) -> subprocess.Popen[str]:
    command = [
        sys.executable,
        "-m",
        "benchmarks.cache_reliability",
        "--child",
        role,
        str(folder),
        str(argument),
    ]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


def _be_child(role: str, folder: str, argument: str) -> None:
    if role == "write":
        store = Store(Path(folder) / "cache", private_dir=Path(folder) / "private")
        write_until_killed(store, int(argument))
    else:
        train_together(float(argument))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--mutants", type=int, default=1000)
    parser.add_argument("--writers", type=int, default=100)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", metavar="OUT", help="write the figures to this file as well")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        _be_child(*args.child)
        return 0
    log.set_level("tremula", "ERR")  # one line for each damaged file would be a thousand
    parts: dict[str, Callable[[Path], Figures]] = {
        "mutated files": lambda folder: mutated_files(folder, args.mutants, args.seed),
        "killed writers": lambda folder: killed_writers(folder, args.writers, args.seed),
        "one model, many processes": lambda folder: crowd(folder, args.processes),
        "hit time": hit_time,
    }
    results: list[Figures] = []
    for name, part in parts.items():
        with tempfile.TemporaryDirectory() as folder:
            started = time.perf_counter()
            figures = part(Path(folder))
        results.append({"name": name, **figures, "seconds": round(time.perf_counter() - started, 1)})
        details = ", ".join(
            f"{key.replace('_', ' ')} {value}" for key, value in figures.items() if key != "ok"
        )
        print(f"{'ok  ' if figures['ok'] else 'FAIL'} {name}: {details}", flush=True)
    if args.json:
        Path(args.json).write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    return 0 if all(figures["ok"] for figures in results) else 1


if __name__ == "__main__":
    sys.exit(main())
