"""Programs without others below them, as calls on the memories of the replicas."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from tremula.frontends.poplar.errors import ApplicationRuntimeError, ControlProgramError
from tremula.frontends.poplar.execute import fusing, library_calls, moves, printing, values
from tremula.frontends.poplar.execute.arena import Arena
from tremula.frontends.poplar.execute.compute import PreparedBatch, all_run
from tremula.frontends.poplar.execute.loaded import Loaded
from tremula.frontends.poplar.execute.moves import Call
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.program import programs as p


def _at(line: str) -> str:
    return f" ({line})" if line else ""


def nothing() -> None:
    """Run nothing."""


def of_each(loaded: Loaded, calls: Sequence[Call]) -> Call:
    """Run the call of each replica that is active."""
    if len(calls) == 1:
        return calls[0]

    def run() -> None:
        for replica in loaded.active:
            calls[replica]()

    return run


def all_active(loaded: Loaded, what: str, call: Call) -> Call:
    """Run a call that needs all replicas; an error where some took another way."""

    def run() -> None:
        if loaded.active != loaded.everyone:
            raise ApplicationRuntimeError(
                f"{what} needs all {len(loaded.everyone)} replicas, but only {list(loaded.active)} run it: "
                "the others took another branch"
            )
        call()

    return run


def execute(program: p.Execute, batches: Sequence[PreparedBatch], loaded: Loaded) -> Call:
    """Run all vertices of a compute set."""
    calls = []
    for replica, arena in enumerate(loaded.arenas):
        runs = [run for batch in batches for run in batch.bind(arena, loaded.machine, checked=replica == 0)]
        if program.exit_value is not None:
            write = values.writer(program.exit_value, arena)
            calls.append(partial(_with_exit, runs, write))
        elif len(runs) == 1:
            calls.append(runs[0])  # type: ignore[arg-type]
        else:
            calls.append(partial(_in_turn, runs))
    return of_each(loaded, calls)


def _in_turn(runs: Sequence[Callable[[], object]]) -> None:
    for run in runs:
        run()


def _with_exit(runs: Sequence[Callable[[], bool | None]], write: values.Write) -> None:
    write(np.array(all_run(runs)))


def tensor_copies(programs: Sequence[p.TensorCopy], loaded: Loaded) -> list[Call]:
    """Copies of elements to others, which follow each other."""
    return [
        of_each(loaded, [moves.copy(source, target, arena) for arena in loaded.arenas])
        for source, target in fusing.pairs(programs)
    ]


def cross_replica_copy(program: p.CrossReplicaCopy, loaded: Loaded) -> Call:
    """Copy elements of replicas to those of others."""
    reads = [values.reader(program.source_view, arena) for arena in loaded.arenas]
    writes = [values.writer(program.target_view, arena) for arena in loaded.arenas]
    pairs = sorted(program.replica_map.items())
    replicas = len(loaded.arenas)
    wrong = [each for pair in pairs for each in pair if not 0 <= each < replicas]
    if wrong:
        raise ControlProgramError(
            f"a copy between replicas names replica {wrong[0]}; there are {replicas}{_at(program.source)}"
        )

    def run() -> None:
        taken = [(target, reads[source]().copy()) for source, target in pairs]
        for target, what in taken:
            writes[target](what)

    return all_active(loaded, "a copy between replicas", run)


def assume_equal(program: p.AssumeEqualAcrossReplicas, loaded: Loaded) -> Call:
    """Check that a tensor is the same on all replicas."""
    if len(loaded.arenas) == 1:
        return nothing
    reads = [values.reader(program.view, arena) for arena in loaded.arenas]

    def run() -> None:
        first = reads[loaded.active[0]]().copy()
        for replica in loaded.active[1:]:
            other = reads[replica]()
            if first.tobytes() != other.tobytes():
                raise ApplicationRuntimeError(
                    f"AssumeEqualAcrossReplicas {program.name}{_at(program.source)}: replicas "
                    f"{loaded.active[0]} and {replica} hold different values: {first.reshape(-1)[:4]} ... and "
                    f"{other.reshape(-1)[:4]} ..."
                )

    return run


def print_tensor(program: p.PrintTensor, loaded: Loaded) -> Call:
    """Print a tensor."""
    reads = [values.reader(program.view, arena) for arena in loaded.arenas]
    several = len(reads) > 1
    layout = printing.format_of(program.format)

    def run() -> None:
        for replica in loaded.active:
            title = f"{program.title} (replica {replica})" if several else program.title
            text = printing.text_of(reads[replica](), layout)
            loaded.host.print(f"{title}: {text}\n" if title else f"{text}\n")

    return run


def library_call(program: p.RunLibrary, loaded: Loaded) -> Call:
    """Run a library function."""
    call = program.call
    if library_calls.crosses_replicas(call):
        run = library_calls.bind_across(call, loaded.arenas)
        return all_active(loaded, call.function, run)
    return of_each(loaded, [library_calls.bind(call, arena) for arena in loaded.arenas])


def abort(message: str, line: str) -> Call:
    """End the run."""

    def run() -> None:
        raise ApplicationRuntimeError(f"the program ended itself: {message or 'Abort'}{_at(line)}")

    return run


def abort_on_condition(program: p.AbortOnCondition, loaded: Loaded) -> Call:
    """End the run if a predicate is true."""
    reads = [values.scalar(program.predicate, arena) for arena in loaded.arenas]
    end = abort(program.message or "the condition of AbortOnCondition holds", program.source)

    def run() -> None:
        for replica in loaded.active:
            if reads[replica]():
                end()

    return run


def error(program: p.ErrorProgram, loaded: Loaded) -> Call:
    """End the run with an error that shows a tensor."""
    reads = [values.reader(program.view, arena) for arena in loaded.arenas]

    def run() -> None:
        shown = printing.text_of(reads[loaded.active[0]]())
        raise ApplicationRuntimeError(f"{program.message}: {shown}{_at(program.source)}")

    return run


def call_host(program: p.CallHost, loaded: Loaded) -> Call:
    """Call a function of the host."""

    def bound(arena: Arena) -> Call:
        reads = [values.reader(view, arena) for view in program.inputs]
        writes = [(values.writer(view, arena), _host_array(view)) for view in program.outputs]
        dtypes = [view.type.host_dtype for view in program.inputs]

        def run() -> None:
            function = loaded.host.functions.get(program.function.handle)
            if function is None:
                raise ApplicationRuntimeError(
                    f"host function {program.function.handle!r} is called{_at(program.source)} and not connected: "
                    "call connectHostFunction before the run"
                )
            given = [np.array(read(), dtype=dtype) for read, dtype in zip(reads, dtypes, strict=True)]
            function(given, [array for _, array in writes])
            for write, array in writes:
                write(array)

        return run

    return of_each(loaded, [bound(arena) for arena in loaded.arenas])


def _host_array(view: View) -> np.ndarray:
    return np.zeros(view.shape, dtype=view.type.host_dtype)
