"""Every environment variable that the emulated stack reads: what it takes, its default, its meaning, who reads it.

Names, accepted words and defaults of the vendor's variables follow the public documentation; those beginning with
TREMULA_ are our own. A table, and long because there are many.
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
    parse_text,
    parse_trace_options,
)

HONOURED = "honoured"
RECORDED = "recorded"


@dataclass(frozen=True)
class Variable:
    """One row of the table.

    Attributes:
        kind: the type of the value, in a word for the reader.
        reader: who asks for it.
        effect: `honoured`, `recorded`, or `no effect: <why>`.
    """

    name: str
    kind: str
    parse: Callable[[str], Any]
    default: Any
    meaning: str
    reader: str
    effect: str = HONOURED


def _level(name: str, default: str, meaning: str) -> Variable:
    return Variable(name, "log level", parse_level, default, meaning, "tremula.log")


def _destination(name: str, meaning: str) -> Variable:
    return Variable(name, "stderr, stdout or path", parse_text, "stderr", meaning, "tremula.log")


VARIABLES: tuple[Variable, ...] = (
    _level("POPTORCH_LOG_LEVEL", "WARN", "Level of the PopTorch log lines when the package is imported."),
    _destination(
        "POPTORCH_LOG_DEST", "Where the lines of the compiled half of PopTorch (`poptorch:cpp`) go."
    ),
    Variable(
        "POPTORCH_IPU_MODEL",
        "flag",
        parse_flag,
        False,
        "Use the IPU model instead of devices. `Options.useIpuModel` wins over it.",
        "tremula.machine",
    ),
    Variable(
        "POPTORCH_SMALL_IPU_MODEL",
        "flag",
        parse_flag,
        False,
        "Use an IPU model of 4 tiles, unless POPTORCH_IPU_MODEL is on.",
        "tremula.machine, tremula.estimate",
    ),
    Variable(
        "POPTORCH_IPU_MODEL_VERSION",
        "ipu1, ipu2 or ipu21",
        parse_ipu_version,
        "ipu2",
        "Chip generation that the chip model describes, unless TREMULA_SYSTEM names a system.",
        "tremula.estimate",
    ),
    Variable(
        "POPTORCH_WAIT_FOR_IPU",
        "flag",
        parse_flag,
        False,
        "Wait for a free device instead of failing when all are taken.",
        "tremula.machine",
    ),
    Variable(
        "POPTORCH_CACHE_DIR",
        "path",
        parse_text,
        "",
        "Folder of the executable cache of every new `Options`; empty leaves it to the program.",
        "poptorch.Options",
    ),
    Variable(
        "POPTORCH_DEFAULT_OPTIONS",
        "JSON object",
        parse_object,
        {},
        "Options applied to every new `Options`: {dotted method name: argument or list of arguments}.",
        "poptorch.Options",
    ),
    Variable(
        "POPTORCH_EXPORT_PROTO_FILE",
        "path",
        parse_text,
        "",
        "File that receives a description of the captured graph when a model is compiled.",
        "poptorch executor",
        "no effect: the graph is not exported",
    ),
    Variable(
        "POPTORCH_EXPORT_PROTO_AS_BINARY",
        "flag",
        parse_flag,
        False,
        "Write that file in binary form rather than as text.",
        "poptorch executor",
        "no effect: the graph is not exported",
    ),
    Variable(
        "POPTORCH_MAX_GRAPH_LEN",
        "whole number",
        parse_count,
        0,
        "Cut graphs printed to the log after so many characters; 0 prints all.",
        "tremula.frontends.torch.capture",
        "no effect: graphs are not cut",
    ),
    _level("POPART_LOG_LEVEL", "WARN", "Level of the lines of the PopART layer (`popart:session`, ...)."),
    _destination("POPART_LOG_DEST", "Where the lines of the PopART layer go."),
    _level("POPLAR_LOG_LEVEL", "OFF", "Level of the lines of the Poplar layer (`PO:ENGINE`, ...)."),
    _destination("POPLAR_LOG_DEST", "Where the lines of the Poplar layer go."),
    _level("POPLIBS_LOG_LEVEL", "OFF", "Level of the lines of the PopLibs layer (`PL:POPLIN`, ...)."),
    _destination("POPLIBS_LOG_DEST", "Where the lines of the PopLibs layer go."),
    Variable(
        "POPLAR_ENGINE_OPTIONS",
        "JSON object of engine options",
        parse_engine_options,
        {},
        "Engine options; they win over those that the program sets. See the table of engine options.",
        "poptorch executor",
    ),
    Variable(
        "POPLAR_RUNTIME_OPTIONS",
        "JSON object",
        parse_object,
        {},
        "Options of the run time; they win over engine options of the same name. `target.hostSyncTimeout` is followed.",
        "poptorch executor",
    ),
    Variable(
        "POPLAR_TARGET_OPTIONS",
        "JSON object",
        parse_object,
        {},
        "How IPUs are linked to each other; virtual IPUs have no links, so programs are told that it changes nothing. "
        "poprun joins it to what it knows of the partition, and gives that to its instances.",
        "tremula.launch",
    ),
    Variable(
        "PVTI_OPTIONS",
        "JSON object",
        parse_trace_options,
        None,
        "Switches trace files on: keys enable, directory, channels, duration.",
        "poptorch.profiling",
        RECORDED,
    ),
    Variable(
        "OMPI_COMM_WORLD_SIZE",
        "whole number",
        parse_count,
        1,
        "Number of processes started by MPI; default of `Options.Distributed`.",
        "poptorch.Options",
    ),
    Variable(
        "OMPI_COMM_WORLD_RANK",
        "whole number",
        parse_count,
        0,
        "Number of this process among them; default of `Options.Distributed`.",
        "poptorch.Options",
    ),
    Variable(
        "POPLAR_SDK_ENABLED",
        "path",
        parse_text,
        "",
        "Set by a real SDK when it is enabled. Tremula then says at import that programs get Tremula's poptorch.",
        "poptorch",
    ),
    Variable(
        "TREMULA_VIRTUAL_IPUS",
        "whole number",
        parse_count,
        None,
        "How many virtual IPUs the machine has, up to 256; unset, as many as its system. 0: none, as on a machine "
        "that has only the IPU model, which never runs out.",
        "tremula.machine",
    ),
    Variable(
        "TREMULA_SYSTEM",
        "name or file",
        parse_text,
        "",
        "The system of virtual IPUs of this machine, which the chip model describes: bow2000, pod16, bow-pod64, "
        "c600 ... (docs/hardware.md lists them), or a chip: mk1, mk2, bow, c600, or a file of your own. Unset: what "
        "`tremula system use` chose, else one Bow-2000.",
        "tremula.machine",
    ),
    Variable(
        "TREMULA_RESERVATION",
        "process id",
        parse_text,
        "",
        "The launcher inside whose reserved devices this process may attach; set by poprun.",
        "tremula.machine",
    ),
    Variable(
        "TREMULA_POPRUN",
        "process id",
        parse_text,
        "",
        "The launcher that started this process as an instance; set by poprun, which refuses to start inside another.",
        "tremula.launch, poptorch.Options",
    ),
    Variable(
        "IPUOF_VIPU_API_PARTITION_ID",
        "name",
        parse_text,
        "",
        "The partition of the virtual system that programs and tools use (`vipu list partitions`); the only one "
        "by default.",
        "tremula.machine",
    ),
    Variable(
        "GCDA_OPTIONS",
        "JSON object",
        parse_gcda_options,
        None,
        "Options of device access: enableMonitoring, monitorUtilisation, simulateSOCError.errorList, "
        "simulateSOCError.triggerCount, simulateSOCError.rearmOnReset (docs/tools.md); and, without effect here, "
        "configFile, discoverUSBDevices, forceHSPPosted.",
        "tremula.machine",
    ),
    Variable(
        "GCDA_MONITOR",
        "flag",
        parse_flag,
        None,
        "0 leaves out the modelled power and temperatures in gc-monitor and its like; unset, they are shown.",
        "tremula.machine",
    ),
    Variable(
        "GCDA_SUPPRESS_UTILISATION_MEASUREMENT",
        "flag",
        parse_flag,
        False,
        "1 leaves out the utilisation in gc-monitor and its like.",
        "tremula.machine",
    ),
    Variable(
        "GCDA_CONFIG_FILE",
        "path",
        parse_text,
        "",
        "Another mapping of IPUs; as configFile in GCDA_OPTIONS.",
        "tremula.machine",
        "no effect: virtual IPUs are mapped by partitions (`vipu`)",
    ),
    Variable(
        "GCDA_NO_USB_IPU_DISCOVERY",
        "flag",
        parse_flag,
        False,
        "Do not look for devices at USB ports.",
        "tremula.machine",
        "no effect: virtual IPUs have no USB port",
    ),
    Variable(
        "GCDA_HSP_POSTED",
        "flag",
        parse_flag,
        False,
        "How the host waits for a device.",
        "tremula.machine",
        "no effect: there is no host sync proxy",
    ),
    Variable(
        "IPUOF_CONFIG_PATH",
        "path",
        parse_text,
        "",
        "File that describes a partition.",
        "tremula.machine",
        "no effect: IPUOF_VIPU_API_PARTITION_ID names the partition of virtual IPUs",
    ),
    Variable(
        "VIPU_CLI_API_HOST",
        "name",
        parse_text,
        "",
        "Where the V-IPU server is, for the vipu command.",
        "tremula.machine",
        "no effect: there is no V-IPU server; partitions are this machine's own (`vipu`)",
    ),
    Variable(
        "IPU_APP_EVENT_RECORD_PATH",
        "path",
        parse_text,
        "",
        "Folder for the record of the last fault that a program met, which gcipuinfo reads.",
        "tremula.machine",
    ),
    Variable(
        "TREMULA_HARDWARE_PATH",
        "paths",
        parse_text,
        "",
        "Folders with chip, machine and system files of your own, separated as in PATH.",
        "tremula.hardware",
    ),
    Variable(
        "TREMULA_CHIP_MODEL",
        "`auto`, `off`, `compile` or `asked`",
        one_of("auto", "off", "compile", "asked"),
        "auto",
        "When the chip model looks at a program: `compile`: at each compilation; `asked`: when a figure of it is "
        "asked for; `off`: never; `auto`: at compilation for programs that take it about a second, else when asked.",
        "tremula.estimate",
    ),
    Variable(
        "TREMULA_ESTIMATE",
        "`off`, `table`, `advice` or `stop`",
        one_of("off", "table", "advice", "stop"),
        "off",
        "What a program tells about each model when it is compiled, as `tremula estimate` would: `table`: the figures; "
        "`advice`: what to change as well; `stop`: both, and the program ends there.",
        "poptorch executor",
    ),
    Variable(
        "TREMULA_ESTIMATE_OPTIONS",
        "options",
        parse_text,
        "",
        "Options of `tremula estimate` for TREMULA_ESTIMATE, such as `--ipus 1,2,4 --target bow`.",
        "poptorch executor",
    ),
    Variable(
        "TREMULA_OUT_OF_MEMORY",
        "`warn` or `error`",
        one_of("warn", "error"),
        "warn",
        "What becomes of a program that would not fit the modelled IPUs: `warn`: one warning, then it runs; `error`: "
        "compilation fails, as on hardware.",
        "tremula.estimate",
    ),
    Variable(
        "TREMULA_LOG_LEVEL",
        "log level",
        parse_level,
        None,
        "Level of our own lines (`tremula`); unset, they follow the level of the PopTorch lines.",
        "tremula.log",
    ),
    Variable(
        "TREMULA_SUMMARY",
        "flag",
        parse_flag,
        True,
        "0 leaves out the lines that sum up a run when the program ends; 1 prints them even when standard "
        "error is not a terminal.",
        "tremula.machine",
    ),
    Variable(
        "TREMULA_STATE_DIR",
        "path",
        parse_text,
        "",
        "Folder of the record of runs, and of the cache's key and locks; unset, the state folder of the user.",
        "tremula.machine",
    ),
    Variable(
        "TREMULA_CUSTOM_OPS",
        "module names",
        parse_text,
        "",
        "Modules, separated by commas, that register custom ops; imported when the first one is used.",
        "tremula.frontends.torch.ops",
    ),
    Variable(
        "TREMULA_LEGACY_TORCH",
        "flag",
        parse_flag,
        False,
        "Accept a few habits of programs for older torch that this one refuses.",
        "tremula.frontends.torch.data",
    ),
    Variable(
        "TREMULA_THREADS",
        "whole number",
        parse_count,
        0,
        "Number of host threads that compute; 0 leaves the choice to torch (and OMP_NUM_THREADS).",
        "tremula.frontends.torch.execute",
    ),
    Variable(
        "TREMULA_EXECUTION",
        "`auto`, `quick` or `compiled`",
        one_of("auto", "quick", "compiled"),
        "auto",
        "How programs are run on the host: `auto` begins at once in the quick form and changes to compiled code "
        "when a program runs long enough; `quick` never compiles; `compiled` waits for the compiler first.",
        "tremula.frontends.torch.execute",
    ),
    Variable(
        "TREMULA_CACHE_DIR",
        "path",
        parse_text,
        "",
        "Folder for compiled code of programs that name no cache; empty means one in the user's cache folder.",
        "tremula.cache",
    ),
    Variable(
        "TREMULA_CACHE_LIMIT",
        "size",
        parse_bytes,
        4 << 30,
        "How much an executable cache may hold (bytes, or with K, M, G or T); the least recently used entries "
        "make room.",
        "tremula.cache",
    ),
)
