"""The engine options of Poplar: what each takes and what becomes of it on the host.

The names are those of the public documentation and of public programs. The real stack takes every value
as text; so do we, and check it against the kind in the table. A name that is not in the table is refused,
as the real stack does, with the nearest known one.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass

from tremula.errors import Error

#: kinds of values: a name here, or the words that the option takes joined with "|"
_ANY_TEXT = ("text", "path")

_PROFILE = "recorded: kept among the options of a profile; nothing is instrumented, as profiles are modelled"
_IN_PROFILE = (
    "no effect: the profile always has variables with their tiles, and debug contexts with source lines"
)
_BEFORE_RUNS = "no effect: runs in the profile are modelled, and there before the first"
_NO_GRAPH = "no effect: there is no graph of vertices that could be written"
_CHIP = "recorded: a choice of the code generator that the chip model may use"
_NO_CODE = "no effect: nothing is compiled for tiles, so there is no such code"
_NO_DEVICE = "no effect: there is no device to wait for or to stream to"


@dataclass(frozen=True)
class EngineOption:
    """One engine option: its name, the kind of its value and what it does here."""

    name: str
    kind: str
    meaning: str
    effect: str


def _rows(effect: str, *rows: tuple[str, str, str]) -> tuple[EngineOption, ...]:
    return tuple(EngineOption(name, kind, meaning, effect) for name, kind, meaning in rows)


# fmt: off
ENGINE_OPTIONS: tuple[EngineOption, ...] = (
    *_rows("honoured",
        ("autoReport.all", "bool", "Write every part of the profile (docs/profile.md)."),
        ("autoReport.directory", "path", "Folder of the profile; it gets a folder for each model."),
        ("autoReport.outputGraphProfile", "bool", "Write the graph part of the profile: memory and program tree."),
        ("autoReport.outputExecutionProfile", "bool",
            "Write the execution part of the profile: the parts of a step, stages, transfers."),
        ("autoReport.outputExecutionReport", "bool", "Older name of outputExecutionProfile."),
        ("autoReport.executionProfileProgramRunCount", "int",
            "How many runs the profile keeps step by step, at most 10: they are modelled and alike. Default: 2."),
        ("target.hostSyncTimeout", "float",
            "Seconds after which an instance of the run that does not arrive counts as hung; 0: never. Default: 300."),
        ("debug.allowOutOfMemory", "bool",
            "Go on compiling a program that would not fit the modelled chip; false makes it an error."),
    ),
    *_rows(_IN_PROFILE,
        ("autoReport.outputLoweredVars", "bool", "Put the variables as placed on tiles into the profile."),
        ("autoReport.outputDebugInfo", "bool", "Write debug contexts beside the profile."),
    ),
    *_rows(_BEFORE_RUNS,
        ("autoReport.streamAtEachRun", "bool", "Write the execution part after each run."),
    ),
    *_rows(_NO_GRAPH,
        ("autoReport.outputSerializedGraph", "bool", "Write the serialised graph."),
    ),
    *_rows(_PROFILE,
        ("debug.instrument", "bool", "Count cycles of everything."),
        ("debug.instrumentCompute", "bool", "Count cycles of compute sets."),
        ("debug.instrumentExternalExchange", "bool", "Count cycles of exchanges with other chips."),
        ("debug.instrumentControlFlow", "bool", "Count how often branches are taken."),
        ("debug.computeInstrumentationLevel", "vertex|tile|ipu|device|off", "How fine cycles are counted."),
        ("debug.retainDebugInformation", "bool", "Keep names in the compiled program."),
        ("debug.executionProfile", "text", "Older way to choose the instrumentation."),
        ("debug.graphReportDestination", "path", "Where the summary after compilation goes."),
        ("debug.loweredVarDumpFile", "path", "File for the variables as placed on tiles."),
        ("debug.profilingTile", "int", "Tile whose counters are read."),
        ("debug.branchRecordTile", "int", "Tile that records branches."),
        ("profiler.format", "text", "Format version of the profile."),
        ("profiler.includeCycleEstimates", "bool", "Put estimated cycles into the profile."),
        ("profiler.includeFlopEstimates", "bool", "Put estimated FLOPs into the profile."),
        ("profiler.perExecutionStreamCopyCycles", "bool", "Count stream copies one by one."),
        ("profiler.replicaToProfile", "int|all", "Replica whose execution is recorded."),
        ("profiler.blocks.filter", "text", "Which programs are recorded as blocks."),
        ("profiler.blocks.tile", "int", "Tile on which blocks are recorded."),
        ("profiler.blocks.bufferSize", "int", "Bytes of block records per tile."),
        ("profiler.blocks.implicitFlush", "bool", "Send block records when the buffer is full."),
        ("profiler.programs.filter", "text", "Which programs are instrumented."),
    ),
    *_rows(_CHIP,
        ("opt.internalExchangeOptimisationTarget", "cycles|memory|balanced", "What exchange code is good at."),
        ("opt.enableInlining", "bool", "Inline functions."),
        ("opt.enableMultiAccessCopies", "bool", "Use more instructions per copy for speed."),
        ("opt.maxComputeSetsPerLoweredCopy", "int", "How many compute sets one copy may become."),
        ("opt.maxCopyMergeSize", "int", "Largest size up to which stream copies are merged."),
        ("opt.useAutoloader", "bool", "Load all tiles at once with a small loader."),
        ("exchange.streamBufferOverlap", "any|none|hostRearrangeOnly", "Which stream buffers may share memory."),
        ("exchange.enablePrefetch", "bool", "Fetch input streams ahead of time."),
        ("exchange.multicastPolicy", "text", "How much is sent to several tiles at once."),
        ("target.workerStackSizeInBytes", "int", "Stack of each worker thread."),
        ("target.supervisorStackSizeInBytes", "int", "Stack of the supervisor thread."),
        ("target.extendedMemory", "bool", "Use the streaming memory beside the chip."),
        ("target.syncReplicasIndependently", "bool", "Let replicas talk to the host on their own."),
    ),
    *_rows(_NO_CODE,
        ("autoReport.outputArchive", "bool", "Write the program of each tile."),
        ("debug.outputAllSymbols", "bool", "Keep all symbols of the program of each tile."),
        ("debug.runtimeVerify", "bool", "Check exchanges while running."),
        ("debug.verify", "bool", "Check the compiled program."),
        ("debug.trace", "bool", "Print what the simulator executes."),
        ("debug.traceFile", "path", "Where that goes."),
        ("debug.exceptOnSOCError", "bool", "Stop on errors of the chip's fabric."),
        ("debug.cpuMultiThreadExecution", "bool", "Threads of the CPU target."),
        ("opt.maxCompilationThreads", "int", "Threads of the graph compiler."),
        ("opt.maxLinkerThreads", "int", "Threads of the linker."),
        ("target.saveArchive", "path", "File for the program of each tile."),
        ("target.deterministicWorkers", "true|false|portable", "Give vertices to worker threads in a fixed way."),
        ("prng.seed", "int", "Seed of the generator on the tiles; use `Options.randomSeed`."),
        ("prng.enableStochasticRounding", "bool", "Rounding at random; use `Precision.enableStochasticRounding`."),
        ("debug.floatPointOpException", "bool",
            "Trap invalid operations; use `Precision.enableFloatingPointExceptions`."),
        ("debug.nanOverflowException", "bool", "Trap NaN and overflow; use `Precision.enableFloatingPointExceptions`."),
        ("debug.nanOverflowMode", "bool", "Older name of the same."),
    ),
    *_rows(_NO_DEVICE,
        ("target.syncMethod", "polling|hybrid|default", "How the host waits for the device."),
        ("target.syncPollPeriodUs", "int", "Pause between two looks at the device."),
        ("target.exceptionPollPeriodUs", "int", "Pause between two looks for exceptions."),
        ("target.gatewayMode", "bool", "Talk through the gateway of the machine."),
        ("target.gatewayWriteCombining", "bool", "Combine writes in the gateway."),
        ("target.maxStreamCallbackThreadsPerNumaNode", "int|auto", "Threads that serve streams."),
        ("target.numberRuntimeReplica", "int", "Replicas run by this process."),
        ("target.firstRuntimeReplica", "int", "First of them."),
        ("streamCallbacks.multiThreadMode", "singleThread|collaborative|dedicated",
            "How stream callbacks share threads."),
        ("streamCallbacks.numaAware", "bool", "Keep those threads near the device."),
        ("streamCallbacks.numWorkerThreads", "int|auto", "Their number."),
        ("streamCallbacks.maxLookahead", "int|unlimited", "How far streams are filled ahead."),
    ),
)
# fmt: on

_BY_NAME: Mapping[str, EngineOption] = {option.name: option for option in ENGINE_OPTIONS}


def may_come_from_file(name: str) -> bool:
    """Whether the file of a model may set an option: a known one that names no place and asks for no file."""
    option = known(name)
    return option is not None and option.kind not in _ANY_TEXT and not name.startswith("autoReport.")


def known(name: str) -> EngineOption | None:
    """The row of `name`, or None."""
    return _BY_NAME.get(name)


def _fits(kind: str, text: str) -> bool:
    for choice in kind.split("|"):
        if choice in _ANY_TEXT or text == choice:
            return True
        if choice == "bool" and text.lower() in ("true", "false", "1", "0"):
            return True
        try:
            if choice == "int":
                int(text)
                return True
            if choice == "float":
                float(text)
                return True
        except ValueError:
            continue
    return False


def as_text(value: object) -> str:
    """A value the way the real stack spells it: lower-case truth values, the rest as printed."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def validate(options: Mapping[str, object], where: str) -> dict[str, str]:
    """`options` with all values as text; raises Error on the first unknown name or unfitting value.

    The message says `where` they were set.
    """
    checked: dict[str, str] = {}
    for name, value in options.items():
        option = _BY_NAME.get(name)
        if option is None:
            near = difflib.get_close_matches(str(name), _BY_NAME, n=1)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise Error(
                f"Unknown engine option {name} in {where}.{hint} "
                "All known ones are listed on the settings page of the documentation.",
                type="poplar_invalid_option",
            )
        text = as_text(value)
        if isinstance(value, (dict, list, tuple)) or value is None or not _fits(option.kind, text):
            raise Error(
                f"The engine option {name} in {where} is set to {text!r}, but takes {option.kind}.",
                type="poplar_invalid_option",
            )
        checked[name] = text
    return checked
