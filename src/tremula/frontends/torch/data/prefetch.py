"""The consumer's end of an asynchronous loader: it owns the worker process and hands out its items.

A returned item lives in a slot of the ring: it is valid until the next item or the next epoch is asked for.
The worker process is ended when `terminate` is called, when the owner is collected (the owner arranges
that) and at interpreter exit; a worker that died is an Error for the consumer, never a hang.
"""

from __future__ import annotations

import atexit
import contextlib
import enum
import multiprocessing.util  # its exit hook, which joins processes, must run after ours
import os
import select
import signal
import tempfile
import weakref
from dataclasses import replace
from multiprocessing import forkserver
from multiprocessing.reduction import ForkingPickler
from typing import Any, NoReturn

import torch
import torch.multiprocessing

from tremula.errors import Error
from tremula.frontends.torch.data.backoff import Backoff
from tremula.frontends.torch.data.file_transfer import FiledDataset
from tremula.frontends.torch.data.item_structure import ItemLayout
from tremula.frontends.torch.data.protocol import (
    Attached,
    Command,
    Event,
    Failed,
    Shutdown,
    Started,
    StartEpoch,
    WorkerSettings,
)
from tremula.frontends.torch.data.ring import SlotRing
from tremula.frontends.torch.data.wait_time import DataWait
from tremula.frontends.torch.data.worker import main
from tremula.frontends.torch.structure import StructureParser, custom_parsers
from tremula.invariants import instance

_POLITE_EXIT_SECONDS = 10.0
_FORCED_EXIT_SECONDS = 5.0
#: A dead worker is normally noticed at once; with children of its own it may only be by asking.
_LIVENESS_CHECK_SECONDS = 1.0
#: While the consumer sleeps, the worker goes on with the next slots, so a little too long is not a loss.
_SHORTEST_PAUSE_SECONDS = 5e-5
_LONGEST_PAUSE_SECONDS = 5e-3


class Sharing(enum.Enum):
    """How the data set gets to the worker; the value is the start method of the process."""

    SHARED_MEMORY = "spawn"
    FILE_SYSTEM = "spawn, data set in a file"
    FORK = "fork"
    FORK_SERVER = "forkserver"

    @property
    def start_method(self) -> str:
        return self.value.partition(",")[0]


class PrefetchWorker:
    """A worker process that loads items of a data set, which can be iterated over repeatedly, ahead of the consumer.

    A fork server imports the modules `preload` once, for all the workers it will start.
    """

    def __init__(
        self,
        dataset: Any,
        settings: WorkerSettings,
        sharing: Sharing,
        preload: tuple[str, ...] = (),
        wait: DataWait | None = None,
    ) -> None:
        if settings.slots < 1:
            raise Error(f"An asynchronous loader needs a buffer_size of at least 1, not {settings.slots}.")
        self.wait = wait or DataWait()
        self._owner = os.getpid()
        self._epoch = -1
        self._epoch_used = False
        self._epoch_ended = False
        self._held_slot: int | None = None
        self._next_slot = 0
        self._backoff = Backoff(_SHORTEST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS, growth=1 / 8)
        self._failure: Error | None = None
        self._closed = False
        settings.make_logger().debug("AsynchronousDataAccessor parent process: %d", os.getpid())
        settings = replace(settings, parsers=_sendable_parsers())
        if sharing is not Sharing.FORK:
            # A new process would start with torch's default seed and pass its own start method on, whatever
            # the program chose.
            settings = replace(settings, seed=torch.initial_seed(), start_method=_default_start_method())
        context: Any = torch.multiprocessing.get_context(sharing.start_method)
        if sharing is Sharing.FORK_SERVER:
            _suggest_preload(context, preload)
        worker_commands, self._commands = context.Pipe(duplex=False)
        self._events, worker_events = context.Pipe(duplex=False)
        # What is not inherited need not be closed on the other side.
        inherited = (self._commands, self._events) if sharing is Sharing.FORK else ()
        with contextlib.ExitStack() as until_loaded:
            until_loaded.callback(worker_commands.close)
            until_loaded.callback(worker_events.close)
            try:
                if sharing is Sharing.FILE_SYSTEM:
                    folder = until_loaded.enter_context(tempfile.TemporaryDirectory(prefix="tremula-"))
                    dataset = FiledDataset.store(dataset, folder)
                self._process = context.Process(
                    target=main,
                    args=(dataset, settings, worker_commands, worker_events, inherited),
                    name="AsynchronousDataAccessor",
                )
                self._process.start()
            except BaseException as error:
                self._close_pipes()
                self._closed = True
                error.add_note(_not_sendable(sharing))
                raise
            _live.add(self)
            # Else the pipe would not report the end of the worker.
            worker_commands.close()
            worker_events.close()
            self._arrivals = select.poll()
            self._arrivals.register(self._events, select.POLLIN)
            self._arrivals.register(self._process.sentinel, select.POLLIN)
            self.layout, self.ring = self._wait_until_started(sharing)

    @property
    def _data_buffers(self) -> SlotRing:
        # Programs that watch the fill level of the buffer look here.
        return self.ring

    @property
    def pid(self) -> int | None:
        """Process id of the worker."""
        return None if self._closed else self._process.pid

    def begin_epoch(self) -> None:
        """Go to the start of the next pass over the data set. No effect if nothing of this one was used."""
        self._check_usable()
        if self._epoch >= 0 and not self._epoch_used and not self._epoch_ended:
            return
        self._release()
        self._epoch += 1
        self._epoch_used = self._epoch_ended = False
        self._send(StartEpoch(self._epoch))

    def next_item(self) -> object:
        """The next item of the epoch; what was returned before is no longer valid.

        Raises StopIteration when the epoch is over (the last item stays valid until the next epoch begins, except in a
        ring of one slot), and Error if the worker failed, was killed or was terminated.
        """
        self._check_usable()
        if self._epoch < 0:
            self.begin_epoch()
        if len(self.ring) == 1:
            self._release()
        slot = None if self._epoch_ended else self._await_slot()
        if slot is None:
            self._epoch_ended = True
            raise StopIteration
        self._release()
        # An interrupt cannot come between these assignments, only before or after them.
        self._held_slot, self._next_slot = slot, (slot + 1) % len(self.ring)
        self._epoch_used = True
        return self.layout.rebuild(self.ring.item(slot))

    def terminate(self) -> None:
        """End the worker process and wait for its end. Items handed out remain readable."""
        if self.request_shutdown():
            self._join()

    def request_shutdown(self) -> bool:
        """Tell the worker to end; False if that was done before or is another process's business."""
        if self._closed or os.getpid() != self._owner:
            return False
        self._closed = True
        with contextlib.suppress(OSError):  # the worker is gone already
            self._commands.send(Shutdown())
        self._close_pipes()
        return True

    def _join(self) -> None:
        _live.discard(self)
        process = self._process
        process.join(_POLITE_EXIT_SECONDS)
        if process.is_alive():  # busy in the data set
            process.terminate()
            process.join(_FORCED_EXIT_SECONDS)
        if process.is_alive():
            process.kill()
            process.join()
        if process.exitcode != 0 and process.pid is not None:
            # It had no chance to end the processes that the data set started; they are in its group.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)

    def _wait_until_started(self, sharing: Sharing) -> tuple[ItemLayout, SlotRing]:
        try:
            event = self._next_event()
        except Error as error:
            self.terminate()
            raise Error(
                f"AsynchronousDataAccessor worker thread failed to start: {error.message} Above may be a "
                f"report of the worker. {_not_sendable(sharing)}"
            ) from None
        except BaseException:
            self.terminate()
            raise
        if isinstance(event, Failed):
            self.terminate()
            raise Error(
                "AsynchronousDataAccessor worker thread failed to start. "
                f"Report of the worker process:\n{event.report}"
            )
        started = instance(event, Started)
        self._send(Attached())
        return started.layout, SlotRing(*started.ring)

    def _await_slot(self) -> int | None:
        """The slot of the next item of the epoch, however long it takes; None at the end of the epoch.

        Raises Error if the worker failed or died, and all that it had announced was handed out.
        """
        ring = self.ring
        while True:
            slot = self._next_slot
            ended = ring.ended_epoch >= self._epoch  # asked before the slot: items come before the end
            if not ring.is_free(slot):
                epoch = ring.epoch(slot)
                if epoch == self._epoch:
                    self.wait.add(self._backoff.end())
                    return slot
                if epoch > self._epoch:  # loaded ahead
                    return None
                ring.mark_free(slot)  # of an epoch that the user left half-way
                self._next_slot = (slot + 1) % len(ring)
                continue
            if ended:
                return None
            if self._arrivals.poll(0) and ring.is_free(slot):
                self._report()
            waited = self._backoff.pause()
            if waited > _LIVENESS_CHECK_SECONDS and not self._process.is_alive() and ring.is_free(slot):
                self._report()

    def _next_event(self) -> Event:
        """The next event, however long it takes, but not longer than the worker lives."""
        try:
            while not self._events.poll():
                self._arrivals.poll(_LIVENESS_CHECK_SECONDS * 1e3)
                if not self._process.is_alive() and not self._events.poll():
                    raise EOFError
            event: Event = self._events.recv()
            return event
        except (EOFError, OSError) as error:
            self._process.join(_FORCED_EXIT_SECONDS)
            detail = f" ({error})" if str(error) else ""
            self._fail(
                f"The worker process {self._process.pid} of the data loader died "
                f"({_describe_exit(self._process.exitcode)}){detail}. What it had loaded is lost: "
                "create a new loader."
            )

    def _report(self) -> NoReturn:
        """Raise what the worker has to say at its end, or that it is dead."""
        event = instance(self._next_event(), Failed)
        self._fail(
            f"The worker process {self._process.pid} of the data loader failed. Its report:\n{event.report}"
        )

    def _fail(self, message: str) -> NoReturn:
        """Remember the failure, free what the worker had, and raise."""
        self._failure = Error(message)
        self.terminate()
        raise self._failure

    def _check_usable(self) -> None:
        if self._failure is not None:
            raise Error(self._failure.message)
        if self._closed:
            raise Error("The data loader was terminated: create a new one to load more data.")

    def _send(self, command: Command) -> None:
        # A worker that is gone is found out, with its last words, when waiting for its data.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._commands.send(command)

    def _release(self) -> None:
        if self._held_slot is not None:
            self.ring.mark_free(self._held_slot)
            self._held_slot = None

    def _close_pipes(self) -> None:
        self._commands.close()
        self._events.close()


_live: weakref.WeakSet[PrefetchWorker] = weakref.WeakSet()


@atexit.register
def _terminate_all() -> None:
    """End the workers that are still there at exit: all are asked to end before the first is joined."""
    for worker in [worker for worker in list(_live) if worker.request_shutdown()]:
        worker._join()


def _suggest_preload(context: Any, modules: tuple[str, ...]) -> None:
    """Have the fork server import `modules` once; a choice that the user made is left alone."""
    server = getattr(forkserver, "_forkserver", None)
    if modules and getattr(server, "_preload_modules", None) == ["__main__"]:
        context.set_forkserver_preload(["__main__", *modules])


def _default_start_method() -> str:
    """How this program starts processes, without settling that for it if it is still open."""
    return multiprocessing.get_start_method(allow_none=True) or multiprocessing.get_all_start_methods()[0]


def _sendable_parsers() -> tuple[tuple[type, StructureParser], ...]:
    """The registered parsers that can be sent; the others must be registered by an import of the worker's."""
    sendable = []
    for entry in custom_parsers.items():
        with contextlib.suppress(Exception):  # whatever the user's class raises when it is pickled
            ForkingPickler.dumps(entry)
            sendable.append(entry)
    return tuple(sendable)


def _not_sendable(sharing: Sharing) -> str:
    if sharing is Sharing.FORK:
        return ""
    return (
        "The data set must be picklable, and a script must start its work below "
        "'if __name__ == \"__main__\":', because the worker process imports it; "
        "sharing_strategy=poptorch.SharingStrategy.Fork has neither need."
    )


def _describe_exit(code: int | None) -> str:
    if code is None:
        return "no longer answers"
    if code < 0:
        return f"killed by signal {-code}"
    return f"exit code {code}"
