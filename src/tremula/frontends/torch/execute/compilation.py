"""A compilation in a process of its own, in a private folder; its result goes into the executable cache, whole or not
at all. Ending the program, or an interrupt while it waits, ends the process and removes the folder.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import weakref
from pathlib import Path
from typing import Any

import safetensors.torch

import tremula
from tremula import log, private_files
from tremula.cache import trust
from tremula.cache.store import Store
from tremula.execute.executable import Progress
from tremula.frontends.torch.execute.compile_request import CompileRequest
from tremula.frontends.torch.execute.compile_worker import FOUND, NOT_KEPT, STAGES
from tremula.trace import channels
from tremula.trace.points import NamedRow

#: of the trace: compilations run beside the program
_row = NamedRow("compiler")
_POLL_SECONDS = 0.05
#: folders of processes that were killed are removed after so many seconds
_STALE_SECONDS = 86_400.0
_LAST_WORDS = 2_000


class Compilation:
    """One run of the compiler. `poll` or `wait` until `done`."""

    def __init__(
        self,
        request: CompileRequest,
        key: str,
        store: Store,
        metadata: dict[str, Any],
        *,
        background: bool,
    ) -> None:
        self.started = time.perf_counter()
        self.seconds = 0.0
        self.done = False
        #: why there is no result, once `done`; None for success
        self.failure: str | None = None
        #: whether another process had compiled it meanwhile
        self.shared = False
        self._stage = 0.0
        document = {
            "key": key,
            "store": str(store.root),
            "limit_bytes": store.limit_bytes,
            "graphs": request.graphs,
            "options": request.options,
            "metadata": metadata,
            "background": background,
        }
        work = trust.private_directory() / "work"
        private_files.make_code_directory(work)
        _remove_stale(work)
        self._folder = Path(tempfile.mkdtemp(prefix="compile-", dir=work))
        try:
            self._process = self._start(request, document)
        except BaseException:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise
        # also when the model goes away, and at the end of the program
        self._close = weakref.finalize(self, _close, os.getpid(), self._process, self._folder)

    def _start(self, request: CompileRequest, document: dict[str, Any]) -> subprocess.Popen[str]:
        (self._folder / "request.json").write_text(json.dumps(document), encoding="utf-8")
        safetensors.torch.save_file(
            {name: tensor.contiguous().clone() for name, tensor in request.constants.items()},
            self._folder / "constants.safetensors",
        )
        here = str(Path(tremula.__file__).parent.parent)
        paths = [here, *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {
            # what it does is a span of this process's trace, not a trace of its own
            **{name: value for name, value in os.environ.items() if name != "PVTI_OPTIONS"},
            "PYTHONPATH": os.pathsep.join(paths),
            # what the compiler finds out about the host serves the next compilation, too
            "TORCHINDUCTOR_CACHE_DIR": str(self._folder.parent / "inductor"),
            "TMPDIR": str(self._folder),
            "OMP_NUM_THREADS": "1",
            "TREMULA_SUMMARY": "0",
        }
        with open(self._folder / "words", "wb") as words:
            return subprocess.Popen(
                [
                    sys.executable,
                    "-P",
                    "-m",
                    "tremula.frontends.torch.execute.compile_worker",
                    str(self._folder),
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=words,
                env=environment,
                cwd=self._folder,
                text=True,
                start_new_session=True,  # an interrupt at the terminal is ours to handle
            )

    def poll(self) -> bool:
        """Whether the compilation is over; takes a microsecond or two."""
        if not self.done and self._process.poll() is not None:
            self._finish()
        return self.done

    def wait(self, progress: Progress | None = None) -> None:
        """Wait for the end; an interrupt meanwhile ends the compilation and goes on to the caller."""
        try:
            os.set_blocking(self._process.stdout.fileno(), False)  # type: ignore[union-attr]
            while not self.poll():
                if progress is not None:
                    progress(self._share())
                time.sleep(_POLL_SECONDS)
        except BaseException:
            self.cancel()
            raise

    def cancel(self) -> None:
        """End the compilation; nothing of it remains."""
        if self.done:
            return
        self.done, self.failure = True, "it was interrupted"
        self._close()

    def _share(self) -> float:
        """How much is done, from the stages that the process told; the C++ compiler tells nothing."""
        with contextlib.suppress(OSError, TypeError):  # nothing there at the moment
            for line in self._process.stdout.readlines():  # type: ignore[union-attr]
                stage = line.strip()
                self.shared = self.shared or stage == FOUND
                if stage in STAGES:
                    self._stage = STAGES[stage] / 100
        return self._stage

    def _finish(self) -> None:
        self.done = True
        self.seconds = time.perf_counter() - self.started
        self._share()
        start, end = round(self.started * 1e9), round((self.started + self.seconds) * 1e9)
        _row.add(channels.poplar, "generate code", start, end)
        code = self._process.returncode
        if code != 0:
            self.failure = (
                "what was compiled cannot be kept in the cache"
                if code == NOT_KEPT
                else f"the compiler's process ended with {code}: {self._last_words()}"
            )
            log.layer("tremula").debug("%s", self.failure)
        self._close()

    def _last_words(self) -> str:
        with contextlib.suppress(OSError):
            text = (self._folder / "words").read_text(encoding="utf-8", errors="replace")
            lines = [line for line in text[-_LAST_WORDS:].splitlines() if line.strip()]
            return lines[-1].strip() if lines else "it printed nothing"
        return "it printed nothing"


def _close(owner: int, process: subprocess.Popen[str], folder: Path) -> None:
    """End the compiler's process if it runs, and remove its folder; a forked process does nothing."""
    if owner != os.getpid():
        return
    if process.poll() is None:
        _end(process)
    if process.stdout is not None:
        process.stdout.close()
    shutil.rmtree(folder, ignore_errors=True)


def _end(process: subprocess.Popen[str]) -> None:
    """End a process and those that it started: they are in its group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()


def _remove_stale(work: Path) -> None:
    with contextlib.suppress(OSError):
        for each in os.scandir(work):
            old = time.time() - each.stat(follow_symlinks=False).st_mtime > _STALE_SECONDS
            if each.name.startswith("compile-") and old:
                shutil.rmtree(each.path, ignore_errors=True)
