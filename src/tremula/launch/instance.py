"""The wrapper of an instance: sets up the process, then executes the program in its place.

    python -I -S instance.py key=value ... -- program arguments

It imports only the standard library and starts in milliseconds on any host. Keys: `parent` (this process ends with
that one), `death` (the signal for it), `stdin` (0: nothing to read), `share` (instances that share the host's cores),
`local` (number of this instance among them), `numa` (1: bind to a NUMA node).
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys

_SET_PDEATHSIG = 1
_NODES = "/sys/devices/system/node"


def main(words: list[str]) -> int:
    """Set up the process and execute the program. Returns only if the program cannot be started."""
    at = words.index("--")
    keys = dict(word.split("=", 1) for word in words[:at])
    command = words[at + 1 :]
    end_with_parent(int(keys.get("parent", "0")), int(keys.get("death", str(int(signal.SIGKILL)))))
    if keys.get("stdin") == "0":
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
    share, local = int(keys.get("share", "1")), int(keys.get("local", "0"))
    nodes = numa_nodes() if keys.get("numa") == "1" else []
    cores = allowed_cores()
    if len(nodes) > 1:
        command = bound(command, nodes, local, cores)
    if share > 1:
        share_cores(len(cores), share)
    # Python ignores these, and what is ignored stays so in the program
    for name in ("SIGPIPE", "SIGXFSZ"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
    try:
        os.execvp(command[0], command)
    except OSError as problem:
        sys.stderr.write(f"poprun: {command[0]} cannot be started: {problem.strerror}\n")
        return 127 if isinstance(problem, FileNotFoundError) else 126


def end_with_parent(parent: int, death: int) -> None:
    """Make the system end this process when its parent ends for any reason (Linux)."""
    if not parent:
        return
    try:
        import ctypes

        ctypes.CDLL(None).prctl(_SET_PDEATHSIG, death, 0, 0, 0)
    except (OSError, AttributeError, ImportError):
        return
    if parent > 1 and os.getppid() != parent:  # it has ended already
        os.kill(os.getpid(), signal.SIGKILL)


def allowed_cores() -> set[int]:
    """The cores that this process may use."""
    try:
        return set(os.sched_getaffinity(0))
    except (AttributeError, OSError):
        return set(range(os.cpu_count() or 1))


def share_cores(cores: int, share: int) -> None:
    """Give each instance on this host its share of the cores, unless the user has set it."""
    if "OMP_NUM_THREADS" not in os.environ:
        threads = str(max(1, cores // share))
        os.environ["OMP_NUM_THREADS"] = threads
        os.environ.setdefault("TREMULA_THREADS", threads)
    if share > cores:
        # threads that spin while they wait would take cores from other instances
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def numa_nodes() -> list[tuple[int, set[int]]]:
    """The NUMA nodes of this host that have cores: number and cores."""
    found = []
    try:
        names = sorted(os.listdir(_NODES))
    except OSError:
        return []
    for name in names:
        if name.startswith("node") and name[4:].isdigit():
            try:
                with open(f"{_NODES}/{name}/cpulist", encoding="ascii") as file:
                    cores = parse_cores(file.read())
            except (OSError, ValueError):
                continue
            if cores:
                found.append((int(name[4:]), cores))
    return sorted(found)


def parse_cores(text: str) -> set[int]:
    """Cores as the system lists them: `0-3,8`."""
    cores: set[int] = set()
    for part in text.strip().split(","):
        if part:
            first, _, last = part.partition("-")
            cores |= set(range(int(first), int(last or first) + 1))
    return cores


def bound(command: list[str], nodes: list[tuple[int, set[int]]], local: int, cores: set[int]) -> list[str]:
    """Bind this process to the next node in turn, and its memory as well if numactl is installed."""
    number, wanted = nodes[local % len(nodes)]
    wanted = wanted & cores
    if not wanted:
        return command
    with contextlib.suppress(OSError, AttributeError):
        os.sched_setaffinity(0, wanted)
    import shutil  # slow to load, and rarely needed

    numactl = shutil.which("numactl")
    return [numactl, f"--membind={number}", "--", *command] if numactl else command


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
