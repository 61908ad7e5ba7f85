"""How many threads compute: the host's cores less one for each process that loads data, while there are enough.
Threads of OpenMP wait by spinning, so one too many slows all of them; compilers in the background are not counted.
"""

from __future__ import annotations

import multiprocessing
import os

import torch

from tremula import log
from tremula.settings import env

#: a number that differs from it later is the user's choice
_AT_IMPORT = torch.get_num_threads()


def choose_threads() -> None:
    """Set torch's threads, unless the user did: TREMULA_THREADS, OMP_NUM_THREADS or torch.set_num_threads."""
    chosen: int = env.get("TREMULA_THREADS") or 0
    if chosen:
        torch.set_num_threads(chosen)
        return
    if os.environ.get("OMP_NUM_THREADS") or torch.get_num_threads() != _AT_IMPORT:
        return
    loading = len(multiprocessing.active_children())
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    threads = max(1, cores - loading)
    if threads < torch.get_num_threads():
        log.layer("tremula").info(
            "%d threads compute: %d processes of this program run beside them", threads, loading
        )
        torch.set_num_threads(threads)
