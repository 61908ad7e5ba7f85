"""All environment variables that the emulated stack reads: values, default, meaning and the module that reads them.

Names, accepted words and defaults of the vendor's variables follow the public documentation. Variables that start
with TREMULA_ are our own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tremula.settings.values import (
    one_of,
    parse_bytes,
    parse_count,
    parse_engine_options,
    parse_flag,
    parse_gcda_options,
    parse_ipu_version,
    parse_level,
    parse_object,
    parse_poplar_flags,
    parse_text,
    parse_trace_options,
)

HONOURED = "honoured"
RECORDED = "recorded"


@dataclass(frozen=True)
class Variable:
    """One row of the table."""

    name: str
    kind: str  #: the type of the value, in a word for the reader
    parse: Callable[[str], Any]
    default: Any
    reader: str  #: who asks for it
    meaning: str
    effect: str = HONOURED  #: `honoured`, `recorded`, or `no effect: <why>`


def _level(name: str, default: str, meaning: str) -> Variable:
    return Variable(name, "log level", parse_level, default, "tremula.log", meaning)


def _destination(name: str, meaning: str) -> Variable:
    return Variable(name, "stderr, stdout or path", parse_text, "stderr", "tremula.log", meaning)


def _flag(name: str, default: bool | None, reader: str, meaning: str, effect: str = HONOURED) -> Variable:
    return Variable(name, "flag", parse_flag, default, reader, meaning, effect)


def _text(name: str, kind: str, reader: str, meaning: str, effect: str = HONOURED) -> Variable:
    return Variable(name, kind, parse_text, "", reader, meaning, effect)


def _count(name: str, default: int | None, reader: str, meaning: str, effect: str = HONOURED) -> Variable:
    return Variable(name, "whole number", parse_count, default, reader, meaning, effect)


def _object(name: str, reader: str, meaning: str) -> Variable:
    return Variable(name, "JSON object", parse_object, {}, reader, meaning)


def _choice(name: str, words: tuple[str, ...], reader: str, meaning: str) -> Variable:
    """One of `words`; the first is the default."""
    *others, last = (f"`{word}`" for word in words)
    return Variable(name, f"{', '.join(others)} or {last}", one_of(*words), words[0], reader, meaning)


# fmt: off
VARIABLES: tuple[Variable, ...] = (
    _level("POPTORCH_LOG_LEVEL", "WARN", "Log level of PopTorch when the package is imported."),
    _destination("POPTORCH_LOG_DEST", "Destination of the log lines of PopTorch's compiled part (`poptorch:cpp`)."),
    _flag("POPTORCH_IPU_MODEL", False, "tremula.machine",
        "Use the IPU model instead of devices. `Options.useIpuModel` overrides it."),
    _flag("POPTORCH_SMALL_IPU_MODEL", False, "tremula.machine, tremula.estimate",
        "Use an IPU model of 4 tiles, unless POPTORCH_IPU_MODEL is on."),
    Variable("POPTORCH_IPU_MODEL_VERSION", "ipu1, ipu2 or ipu21", parse_ipu_version, "ipu2", "tremula.estimate",
        "Chip generation that the chip model describes, unless TREMULA_SYSTEM names a system."),
    _flag("POPTORCH_WAIT_FOR_IPU", False, "tremula.machine",
        "Wait for a free device instead of failing if all are in use."),
    _text("POPTORCH_CACHE_DIR", "path", "poptorch.Options",
        "Cache directory of every new `Options`; if empty, the program decides."),
    _object("POPTORCH_DEFAULT_OPTIONS", "poptorch.Options",
        "Options to apply to every new `Options`: {dotted method name: argument or list of arguments}."),
    _text("POPTORCH_EXPORT_PROTO_FILE", "path", "poptorch executor",
        "File for a description of the captured graph when a model is compiled.",
        "no effect: the graph is not exported"),
    _flag("POPTORCH_EXPORT_PROTO_AS_BINARY", False, "poptorch executor",
        "Write that file in binary form instead of text.", "no effect: the graph is not exported"),
    _count("POPTORCH_MAX_GRAPH_LEN", 0, "tremula.frontends.torch.capture",
        "Most characters of a graph that is printed to the log; 0: no limit.", "no effect: graphs are not cut"),
    _level("POPART_LOG_LEVEL", "WARN", "Level of the lines of the PopART layer (`popart:session`, ...)."),
    _destination("POPART_LOG_DEST", "Where the lines of the PopART layer go."),
    _text("POPART_CACHE_DIR", "path", "popart.SessionOptions",
        "Cache directory of every new `SessionOptions`; if empty, the program decides."),
    _text("POPXL_CACHE_DIR", "path", "popart.SessionOptions",
        "Used if POPART_CACHE_DIR is not set."),
    _text("POPART_PRELOAD_POPEF", "text", "popart, popxl",
        "Load entries of the executable cache completely. They are always loaded completely; the log says so."),
    _level("POPLAR_LOG_LEVEL", "OFF", "Level of the lines of the Poplar layer (`PO:ENGINE`, ...)."),
    _destination("POPLAR_LOG_DEST", "Where the lines of the Poplar layer go."),
    _level("POPLIBS_LOG_LEVEL", "OFF", "Level of the lines of the PopLibs layer (`PL:POPLIN`, ...)."),
    _destination("POPLIBS_LOG_DEST", "Where the lines of the PopLibs layer go."),
    Variable("POPLAR_ENGINE_OPTIONS", "JSON object of engine options", parse_engine_options, {}, "poptorch executor",
        "Engine options; they override those that the program sets. See the table of engine options."),
    _object("POPLAR_RUNTIME_OPTIONS", "poptorch executor",
        "Options of the run time; they override engine options of the same name. `target.hostSyncTimeout` has an "
        "effect."),
    Variable("TF_POPLAR_FLAGS", "flags", parse_poplar_flags, {}, "tremula.frontends.tensorflow",
        "Flags of the TensorFlow front end: `--name` or `--name=value`. See the table of flags."),
    _object("POPLAR_TARGET_OPTIONS", "tremula.launch",
        "How IPUs are linked. Virtual IPUs have no links, so a message says that it has no effect. poprun adds what it "
        "knows about the partition and passes the result to its instances."),
    Variable("PVTI_OPTIONS", "JSON object", parse_trace_options, None, "tremula.trace",
        "Enable trace files (docs/libpvti.md): keys enable, directory, channels, duration."),
    _count("OMPI_COMM_WORLD_SIZE", 1, "poptorch.Options",
        "Number of processes started by MPI; default of `Options.Distributed`."),
    _count("OMPI_COMM_WORLD_RANK", 0, "poptorch.Options",
        "Number of this process; default of `Options.Distributed`."),
    _count("TREMULA_TRACE_MEGABYTES", 512, "tremula.trace",
        "Largest size of the trace of a process (docs/libpvti.md). The trace ends there, with a warning."),
    _text("POPLAR_SDK_ENABLED", "path", "poptorch",
        "Set by a real SDK when it is enabled. Tremula then warns at import that programs use Tremula's poptorch."),
    _count("TREMULA_VIRTUAL_IPUS", None, "tremula.machine",
        "Number of virtual IPUs of the machine, up to 256; unset: that of its system. 0: none, as on a machine with "
        "only the unlimited IPU model."),
    _text("TREMULA_SYSTEM", "name or file", "tremula.machine",
        "The system of virtual IPUs of this machine, which the chip model describes: bow2000, pod16, bow-pod64, "
        "c600 ... (docs/hardware.md lists them), or a chip: mk1, mk2, bow, c600, or a file of your own. Unset: that "
        "of `tremula system use`, or bow-pod16."),
    _text("TREMULA_OWN_SYSTEM", "name", "tremula.machine",
        "Programs and tools with the same word share a system of virtual IPUs that no others use. Unset: the system "
        "that all other programs of the user share."),
    _text("TREMULA_RESERVATION", "process id", "tremula.machine",
        "The launcher whose reserved devices this process may use; set by poprun."),
    _text("TREMULA_STORE", "port:token", "tremula.distributed",
        "The store through which the instances of a run on one host exchange data; set by poprun."),
    _text("TREMULA_POPRUN", "process id", "tremula.launch, poptorch.Options",
        "The launcher that started this process as an instance; set by poprun, which cannot be started inside "
        "an instance."),
    _text("IPUOF_VIPU_API_PARTITION_ID", "name", "tremula.machine",
        "The partition of the virtual system that programs and tools use (`vipu list partitions`). Default: the only "
        "one."),
    Variable("GCDA_OPTIONS", "JSON object", parse_gcda_options, None, "tremula.machine",
        "Options of device access: enableMonitoring, monitorUtilisation, simulateSOCError.errorList, "
        "simulateSOCError.triggerCount, simulateSOCError.rearmOnReset (docs/tools.md). Without effect here: "
        "configFile, discoverUSBDevices, forceHSPPosted."),
    _flag("GCDA_MONITOR", None, "tremula.machine",
        "0 leaves out the modelled power and temperatures in gc-monitor and similar tools; unset: they are shown."),
    _flag("GCDA_SUPPRESS_UTILISATION_MEASUREMENT", False, "tremula.machine",
        "1 leaves out the utilisation in gc-monitor and similar tools."),
    _text("GCDA_CONFIG_FILE", "path", "tremula.machine",
        "Another mapping of IPUs, like configFile in GCDA_OPTIONS.",
        "no effect: virtual IPUs are mapped by partitions (`vipu`)"),
    _flag("GCDA_NO_USB_IPU_DISCOVERY", False, "tremula.machine",
        "Do not look for USB devices.", "no effect: virtual IPUs have no USB port"),
    _flag("GCDA_HSP_POSTED", False, "tremula.machine",
        "How the host waits for a device.", "no effect: there is no host sync proxy"),
    _text("IPUOF_CONFIG_PATH", "path", "tremula.machine",
        "File that describes a partition.",
        "no effect: IPUOF_VIPU_API_PARTITION_ID names the partition of virtual IPUs"),
    _text("VIPU_CLI_API_HOST", "name", "tremula.machine",
        "Address of the V-IPU server for the vipu command.",
        "no effect: there is no V-IPU server; the partitions are those of this machine (`vipu`)"),
    _text("IPU_APP_EVENT_RECORD_PATH", "path", "tremula.machine",
        "Folder for the record of the last fault that a program met, which gcipuinfo reads."),
    _text("TREMULA_HARDWARE_PATH", "paths", "tremula.hardware",
        "Folders with your own chip, machine and system files, separated as in PATH."),
    _choice("TREMULA_CHIP_MODEL", ("auto", "off", "compile", "asked"), "tremula.estimate",
        "When the chip model processes a program. `compile`: at each compilation; `asked`: when one of its figures is "
        "requested; `off`: never; `auto`: at compilation if that takes about a second, otherwise as with `asked`."),
    _choice("TREMULA_ESTIMATE", ("off", "table", "advice", "stop"), "poptorch executor",
        "What a program prints about each model when it is compiled, as with `tremula estimate`. `table`: the figures; "
        "`advice`: the figures and advice; `stop`: both, and then the program ends."),
    _text("TREMULA_ESTIMATE_OPTIONS", "options", "poptorch executor",
        "Options of `tremula estimate` for TREMULA_ESTIMATE, such as `--ipus 1,2,4 --target bow`."),
    _choice("TREMULA_OUT_OF_MEMORY", ("warn", "error"), "tremula.estimate",
        "What happens if a program would not fit on the modelled IPUs. `warn`: one warning, and the program runs; "
        "`error`: compilation fails, as on hardware."),
    Variable("TREMULA_LOG_LEVEL", "log level", parse_level, None, "tremula.log",
        "Level of Tremula's own lines (`tremula`); unset: the level of the PopTorch lines."),
    _flag("TREMULA_SUMMARY", None, "tremula.machine",
        "Whether a summary of the run, with modelled figures, is printed when the program ends. Unset: if standard "
        "error is a terminal, so not in batch runs; 1: always; 0: never."),
    _text("TREMULA_STATE_DIR", "path", "tremula.machine",
        "Folder of the record of runs, the virtual IPUs, and the key and locks of the cache. Unset: the state folder "
        "of the user, or a temporary folder if that cannot be written."),
    _text("TREMULA_CUSTOM_OPS", "module names", "tremula.frontends.torch.ops",
        "Modules, separated by commas, that register custom ops. They are imported when the first custom op is used."),
    _choice("TREMULA_TENSORFLOW", ("2", "1"), "tremula_startup",
        "Interface of `import tensorflow`. 1: that of TensorFlow 1.15, for programs written for it."),
    _flag("TREMULA_LEGACY_TORCH", False, "tremula.frontends.torch.legacy",
        "Restore what programs for older torch and numpy use and newer versions removed (docs/programs.md)."),
    _flag("TREMULA_LEGACY_PICKLE", False, "tremula.frontends.torch.legacy",
        "Let torch.load unpickle whole objects if the program does not set weights_only, with a warning. This executes "
        "code from the file, so use it only for files that you trust."),
    _count("TREMULA_THREADS", 0, "tremula.frontends.torch.execute",
        "Number of host threads that compute; 0: torch (and OMP_NUM_THREADS) decides."),
    _choice("TREMULA_EXECUTION", ("auto", "quick", "compiled"), "tremula.frontends.torch.execute",
        "How programs run on the host. `auto`: first in the quick form, and as compiled code if the program runs long "
        "enough; `quick`: never compiled; `compiled`: waits for the compiler first."),
    _text("TREMULA_CACHE_DIR", "path", "tremula.cache",
        "Cache directory of programs that name none; empty: a folder in the user's cache folder."),
    Variable("TREMULA_CACHE_LIMIT", "size", parse_bytes, 4 << 30, "tremula.cache",
        "Largest size of an executable cache (bytes, or with K, M, G or T). The least recently used entries are "
        "removed first."),
    _text("TREMULA_CXX", "command", "tremula.frontends.poplar.codelets",
        "C++ compiler for Poplar codelets; empty: the first of c++, g++ and clang++."),
    _text("TREMULA_PYTHON", "command", "tremula.frontends.poplar.cpp",
        "Python for the process beside a Poplar program in C++; empty: the one that ran `tremula cpp enable`."),
)
# fmt: on
