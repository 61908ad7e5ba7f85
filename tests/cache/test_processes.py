"""Several processes on one cache, some of them killed: no error, no wrong data, nothing lost."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import textwrap
import time
from pathlib import Path

from tremula.cache import Store, eviction, key_of

BEGIN = """
import hashlib, os, pathlib, random, sys, time
from tremula.cache import Store, key_of
root, private, limit, seed = sys.argv[1:]
store = Store(root, limit_bytes=int(limit), private_dir=pathlib.Path(private))
random.seed(int(seed))
def key(n):
    return key_of({"n": n})
def code(n):
    return hashlib.sha256(key(n).encode()).digest() * 4096
"""

WRITER = """
print("begin", flush=True)
while True:
    n = random.randrange(4)
    assert store.put(key(n), {"n": n}, {"so": code(n)})
    print("put", n, flush=True)
"""

MIXED = """
for _ in range(60):
    n = random.randrange(6)
    what = random.random()
    if what < 0.4:
        assert store.put(key(n), {"n": n}, {"so": code(n)})
    elif what < 0.8:
        found = store.get(key(n))
        assert found.reason in ("hit", "not in the cache"), found.reason
        assert found.entry is None or found.entry.blobs == {"so": code(n)}
    elif what < 0.85:
        store.remove(key(n))
    elif what < 0.9:
        store.prune(limit_bytes=300_000)
    elif what < 0.95:
        assert all(problem is None for _, problem in store.verify())
    else:
        assert all(entry.problem is None for entry in store.entries())
"""

ONCE = """
name = key("model")
found = store.get(name)
if found.entry is None:
    with store.lock(name) as held:
        assert held
        found = store.get(name)
        if found.entry is None:
            print("compiled", flush=True)
            time.sleep(0.3)
            assert store.put(name, {}, {"so": code("model")})
            found = store.get(name)
assert found.entry.blobs == {"so": code("model")}
"""


def start(script: str, tmp_path: Path, seed: int, limit: int = 1 << 30) -> subprocess.Popen[str]:
    program = BEGIN + textwrap.dedent(script)
    arguments = [str(tmp_path / "cache"), str(tmp_path / "private"), str(limit), str(seed)]
    return subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TREMULA_LOG_LEVEL": "WARN"},
    )


def finish(processes: list[subprocess.Popen[str]]) -> list[str]:
    """What they printed, once all have ended well and said nothing on standard error."""
    outputs = [process.communicate(timeout=100) for process in processes]
    assert [error for _, error in outputs] == [""] * len(processes)
    assert {process.returncode for process in processes} == {0}
    return [output for output, _ in outputs]


def test_killed_writers_leave_whole_entries_or_none(tmp_path: Path) -> None:
    store = Store(tmp_path / "cache", private_dir=tmp_path / "private")
    moments = random.Random(1)
    written: set[int] = set()
    for seed in range(8):
        process = start(WRITER, tmp_path, seed)
        assert process.stdout is not None
        assert process.stdout.readline() == "begin\n"
        if seed % 4 == 0:  # some have surely finished an entry
            written.add(int(process.stdout.readline().split()[1]))
        time.sleep(moments.uniform(0, 0.02))
        process.kill()
        # print writes a line in pieces: of the last, a part may be all that was printed
        lines = process.communicate()[0].splitlines(keepends=True)
        written.update(int(line.split()[1]) for line in lines if line.endswith("\n"))
        assert all(problem is None for _, problem in store.verify())
    assert written
    assert {entry.metadata["n"] for entry in store.entries()} >= written
    assert all(store.get(key_of({"n": n})).reason == "hit" for n in written)
    for draft in eviction.list_folder(store.root).drafts:
        os.utime(draft, (1, 1))
    store.prune()
    assert eviction.list_folder(store.root).drafts == []


def test_putting_getting_and_evicting_at_once(tmp_path: Path) -> None:
    finish([start(MIXED, tmp_path, seed, limit=500_000) for seed in range(4)])
    store = Store(tmp_path / "cache", private_dir=tmp_path / "private")
    assert all(problem is None for _, problem in store.verify())
    assert all(name.endswith(".popef") for name in os.listdir(store.root))
    assert [path.name for path in (tmp_path / "private").iterdir()] == ["signing.key"]


def test_many_processes_make_an_entry_once(tmp_path: Path) -> None:
    outputs = finish([start(ONCE, tmp_path, seed) for seed in range(4)])
    assert "".join(outputs) == "compiled\n"
    assert len(os.listdir(tmp_path / "cache")) == 1
