"""The engine options of Poplar: the values of each and its effect on the host.

The names come from the public documentation and public programs. As in the real stack, every value is text; it is
checked against the kind in the table. As in the real stack, an unknown name is an error, which suggests a similar one.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass

from tremula.errors import Error

#: kinds of values: a name here, or the words that the option takes joined with "|"
_ANY_TEXT = ("text", "path")

_PROFILE = (
    "recorded: stored with the options of a profile; nothing is instrumented, because profiles are modelled"
)
_IN_PROFILE = (
    "no effect: the profile always contains variables with their tiles, and debug contexts with source lines"
)
_BEFORE_RUNS = "no effect: runs in the profile are modelled and written before the first run"
_NO_GRAPH = "no effect: there is no graph of vertices to write"
_CHIP = "recorded: a setting of the code generator that the chip model may use"
_NO_CODE = "no effect: nothing is compiled for tiles, so there is no such code"
_NO_DEVICE = "no effect: there is no device to wait for or to stream data to"


@dataclass(frozen=True)
class EngineOption:
    """One engine option: its name, the kind of its value and its effect."""

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
        ("autoReport.directory", "path", "Folder for profiles, with a subfolder for each model."),
        ("autoReport.outputGraphProfile", "bool", "Write the graph part of the profile: memory and program tree."),
        ("autoReport.outputExecutionProfile", "bool",
            "Write the execution part of the profile: the parts of a step, stages, transfers."),
        ("autoReport.outputExecutionReport", "bool", "Older name of outputExecutionProfile."),
        ("autoReport.executionProfileProgramRunCount", "int",
            "Number of runs that the profile stores step by step, at most 10. All are modelled. Default: 2."),
        ("target.hostSyncTimeout", "float",
            "Timeout in seconds for an instance of the run that does not respond; 0: no timeout. Default: 300."),
        ("debug.allowOutOfMemory", "bool",
            "Continue compiling a program that would not fit on the modelled chip; if false, this is an error."),
    ),
    *_rows(_IN_PROFILE,
        ("autoReport.outputLoweredVars", "bool", "Include the variables with their tiles in the profile."),
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
        ("debug.computeInstrumentationLevel", "vertex|tile|ipu|device|off", "Level at which cycles are counted."),
        ("debug.retainDebugInformation", "bool", "Keep names in the compiled program."),
        ("debug.executionProfile", "text", "Older option that selects the instrumentation."),
        ("debug.graphReportDestination", "path", "File for the summary after compilation."),
        ("debug.loweredVarDumpFile", "path", "File for the variables as placed on tiles."),
        ("debug.profilingTile", "int", "Tile whose counters are read."),
        ("debug.branchRecordTile", "int", "Tile that records branches."),
        ("profiler.format", "text", "Format version of the profile."),
        ("profiler.includeCycleEstimates", "bool", "Include estimated cycles in the profile."),
        ("profiler.includeFlopEstimates", "bool", "Include estimated FLOPs in the profile."),
        ("profiler.perExecutionStreamCopyCycles", "bool", "Count stream copies one by one."),
        ("profiler.replicaToProfile", "int|all", "Replica whose execution is recorded."),
        ("profiler.blocks.filter", "text", "Which programs are recorded as blocks."),
        ("profiler.blocks.tile", "int", "Tile on which blocks are recorded."),
        ("profiler.blocks.bufferSize", "int", "Bytes of block records per tile."),
        ("profiler.blocks.implicitFlush", "bool", "Send block records when the buffer is full."),
        ("profiler.programs.filter", "text", "Which programs are instrumented."),
    ),
    *_rows(_CHIP,
        ("opt.internalExchangeOptimisationTarget", "cycles|memory|balanced", "What exchange code is optimised for."),
        ("opt.enableInlining", "bool", "Inline functions."),
        ("opt.enableMultiAccessCopies", "bool", "Use more instructions per copy for speed."),
        ("opt.maxComputeSetsPerLoweredCopy", "int", "Largest number of compute sets for one copy."),
        ("opt.maxCopyMergeSize", "int", "Largest size up to which stream copies are merged."),
        ("opt.useAutoloader", "bool", "Load all tiles at once with a small loader."),
        ("exchange.streamBufferOverlap", "any|none|hostRearrangeOnly", "Which stream buffers may share memory."),
        ("exchange.enablePrefetch", "bool", "Fetch input streams ahead of time."),
        ("exchange.multicastPolicy", "text", "Amount of data sent to several tiles at once."),
        ("target.workerStackSizeInBytes", "int", "Stack of each worker thread."),
        ("target.supervisorStackSizeInBytes", "int", "Stack of the supervisor thread."),
        ("target.extendedMemory", "bool", "Use the streaming memory beside the chip."),
        ("target.syncReplicasIndependently", "bool", "Let replicas communicate with the host independently."),
    ),
    *_rows(_NO_CODE,
        ("autoReport.outputArchive", "bool", "Write the program of each tile."),
        ("debug.outputAllSymbols", "bool", "Keep all symbols of the program of each tile."),
        ("debug.runtimeVerify", "bool", "Check exchanges while running."),
        ("debug.verify", "bool", "Check the compiled program."),
        ("debug.trace", "bool", "Print what the simulator executes."),
        ("debug.traceFile", "path", "File for that output."),
        ("debug.exceptOnSOCError", "bool", "Stop on errors of the chip's fabric."),
        ("debug.cpuMultiThreadExecution", "bool", "Threads of the CPU target."),
        ("opt.maxCompilationThreads", "int", "Threads of the graph compiler."),
        ("opt.maxLinkerThreads", "int", "Threads of the linker."),
        ("target.saveArchive", "path", "File for the program of each tile."),
        ("target.deterministicWorkers", "true|false|portable", "Assign vertices to worker threads in a fixed order."),
        ("prng.seed", "int", "Seed of the generator on the tiles; use `Options.randomSeed`."),
        ("prng.enableStochasticRounding", "bool", "Random rounding; use `Precision.enableStochasticRounding`."),
        ("debug.floatPointOpException", "bool",
            "Trap invalid operations; use `Precision.enableFloatingPointExceptions`."),
        ("debug.nanOverflowException", "bool", "Trap NaN and overflow; use `Precision.enableFloatingPointExceptions`."),
        ("debug.nanOverflowMode", "bool", "Older name of nanOverflowException."),
    ),
    *_rows(_NO_DEVICE,
        ("target.syncMethod", "polling|hybrid|default", "How the host waits for the device."),
        ("target.syncPollPeriodUs", "int", "Pause between two checks of the device."),
        ("target.exceptionPollPeriodUs", "int", "Pause between two checks for exceptions."),
        ("target.gatewayMode", "bool", "Communicate through the gateway of the machine."),
        ("target.gatewayWriteCombining", "bool", "Combine writes in the gateway."),
        ("target.maxStreamCallbackThreadsPerNumaNode", "int|auto", "Threads that serve streams."),
        ("target.numberRuntimeReplica", "int", "Replicas run by this process."),
        ("target.firstRuntimeReplica", "int", "First replica run by this process."),
        ("streamCallbacks.multiThreadMode", "singleThread|collaborative|dedicated",
            "How stream callbacks share threads."),
        ("streamCallbacks.numaAware", "bool", "Run the threads of stream callbacks near the device."),
        ("streamCallbacks.numWorkerThreads", "int|auto", "Number of threads for stream callbacks."),
        ("streamCallbacks.maxLookahead", "int|unlimited", "How far ahead streams are filled."),
    ),
)
# fmt: on

_BY_NAME: Mapping[str, EngineOption] = {option.name: option for option in ENGINE_OPTIONS}


def may_come_from_file(name: str) -> bool:
    """Whether the file of a model may set an option: a known one that names no path and writes no file."""
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
    """A value as the real stack writes it: booleans in lower case, other values as printed."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def validate(options: Mapping[str, object], where: str) -> dict[str, str]:
    """`options` with all values as text. Raises Error for the first unknown name or wrong value.

    The message says `where` the options were set.
    """
    checked: dict[str, str] = {}
    for name, value in options.items():
        option = _BY_NAME.get(name)
        if option is None:
            near = difflib.get_close_matches(str(name), _BY_NAME, n=1)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise Error(
                f"Unknown engine option {name} in {where}.{hint} docs/settings.md lists all engine options.",
                type="poplar_invalid_option",
            )
        text = as_text(value)
        if isinstance(value, (dict, list, tuple)) or value is None or not _fits(option.kind, text):
            raise Error(
                f"The engine option {name} in {where} is set to {text!r}, but it takes {option.kind}.",
                type="poplar_invalid_option",
            )
        checked[name] = text
    return checked
