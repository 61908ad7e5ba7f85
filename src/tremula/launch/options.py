"""The options of `poprun` in one table: names, kinds and defaults as documented, and their effect here.

Parsing, help, configuration files and the table in docs/poprun.md use this table. Options for a V-IPU server are
accepted, because scripts use them, and warn once that they have no effect.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

#: kinds of values
TEXT, COUNT, INDEX, FLAG, SWITCH, CHOICE = "text", "count", "index", "flag", "switch", "choice"

GENERIC, CONFIGURATION, OUTPUT = "General", "Configuration", "Output"

_NO_SERVER = "virtual IPUs have no V-IPU server; the instances only receive the value"
_NO_PARTITIONING = "poprun does not create, change, reset or remove partitions; use `vipu create partition`"
_NO_SYNC = "virtual IPUs do not wait for each other over a sync network"

FLAG_WORDS: dict[str, bool] = {
    "1": True, "true": True, "yes": True, "on": True,
    "0": False, "false": False, "no": False, "off": False,
}  # fmt: skip


@dataclass(frozen=True)
class Option:
    """One option."""

    name: str  #: without the dashes
    kind: str  #: what value it takes
    default: Any  #: the value when it is not given
    help: str  #: what it does here
    group: str = CONFIGURATION  #: where help shows it
    short: str = ""  #: another spelling, with its dash
    value: str = ""  #: how help calls the value
    choices: tuple[str, ...] = ()  #: the words that a choice knows
    no_effect: str = ""  #: why it changes nothing here; empty for options that do something
    kept: bool = True  #: whether a configuration file may hold it
    any_word: bool = False  #: whether the next word is its value even where it is the name of an option

    @property
    def attribute(self) -> str:
        """Its name as a field of `Settings`."""
        return self.name.replace("-", "_")


OPTIONS: tuple[Option, ...] = (
    Option("help", SWITCH, False, "show this help and exit", GENERIC, short="-h", kept=False),
    Option("version", SWITCH, False, "show the version and exit", GENERIC, kept=False),
    Option(
        "version-format", CHOICE, "", "format of --version; full- adds the versions of dependencies", GENERIC,
        value="form", choices=("text", "full-text", "full-json"), kept=False,
    ),
    Option("import-config", TEXT, "", "read options from a JSON file; the command line overrides it", GENERIC,
           value="file", kept=False),
    Option("export-config", TEXT, "", "write the options of this run to a JSON file", GENERIC, value="file",
           kept=False),
    Option("overwrite-config", FLAG, False, "let --export-config replace an existing file", GENERIC, kept=False),
    Option("debug", FLAG, False, "like -vv, and also show all variables of the instances", GENERIC),
    Option("host", TEXT, "", "hosts to run on: host0,host1 or host[0-2,4]; default: this host", short="-H",
           value="hosts"),
    Option("hostfile", TEXT, "", "file with one host per line, optionally with slots=N; instead of --host",
           value="file"),
    Option("num-replicas", COUNT, 1, "replicas in total, divided evenly among the instances", value="n"),
    Option("ipus-per-replica", COUNT, 1, "IPUs of one replica", value="n"),
    Option("num-instances", COUNT, 1, "host processes in total, divided evenly among the hosts", value="n"),
    Option("num-ilds", COUNT, None, "IPU-Link domains (checked and shown); default: one per 64 IPUs", value="n"),
    Option("vipu-server-host", TEXT, "localhost", "address of the V-IPU server", value="host", no_effect=_NO_SERVER),
    Option("vipu-server-port", COUNT, 8090, "its port", value="port", no_effect=_NO_SERVER),
    Option("vipu-server-timeout", COUNT, 120, "seconds to wait for the V-IPU server", value="s", no_effect=_NO_SERVER),
    Option("vipu-partition", TEXT, "", "partition of the virtual system to take IPUs from", value="name"),
    Option("vipu-partition-attempts", COUNT, 1, "attempts to get an active partition", value="n",
           no_effect=_NO_PARTITIONING),
    Option("update-partition", FLAG, False, "change the partition if needed", no_effect=_NO_PARTITIONING),
    Option("reset-partition", FLAG, None, "reset the partition first", no_effect=_NO_PARTITIONING),
    Option("remove-partition", FLAG, True, "remove a partition that poprun created", no_effect=_NO_PARTITIONING),
    Option("vipu-cluster", TEXT, "", "cluster for a new partition (old name of --vipu-allocation)", value="name",
           no_effect=_NO_PARTITIONING),
    Option("vipu-allocation", TEXT, "", "allocation for a new partition", value="name",
           no_effect=_NO_PARTITIONING),
    Option("executable-cache-path", TEXT, "", "folder for the compiled programs of the instances", value="folder"),
    Option("mpi-global-args", TEXT, "", "global options for mpirun; mpirun then starts the instances",
           value="text", any_word=True),
    Option("mpi-local-args", TEXT, "", "options for mpirun for each instance, such as -x NAME", value="text",
           any_word=True),
    Option("numa-aware", FLAG, True, "bind instances to the host's NUMA nodes in turn"),
    Option("host-subnet", TEXT, "", "network between the hosts, such as 10.1.0.0/16", value="network"),
    Option("sync-type", TEXT, "", "sync type of a new partition", value="type", no_effect=_NO_SYNC),
    Option("offline-mode", FLAG, False, "run without reserving or attaching IPUs"),
    Option("allow-run-as-root", FLAG, False, "let mpirun start programs as root"),
    Option("print-topology", FLAG, False, "show the hosts with their instances and replicas", OUTPUT),
    Option("only-output-from-instance", INDEX, None, "show the output of one instance only", OUTPUT, value="i"),
    Option("only-stdout-from-instance", INDEX, None, "show stdout of one instance only, and stderr of all", OUTPUT,
           value="i"),
    Option("verbose", SWITCH, False, "log progress", OUTPUT, short="-v"),
    Option("vv", SWITCH, False, "log details", OUTPUT, short="-vv"),
)  # fmt: skip

BY_NAME: dict[str, Option] = {option.name: option for option in OPTIONS}
BY_SHORT: dict[str, Option] = {option.short: option for option in OPTIONS if option.short}


@dataclass
class Settings:
    """The settings from a command line and a configuration file."""

    help: bool = False
    version: bool = False
    version_format: str = ""
    import_config: str = ""
    export_config: str = ""
    overwrite_config: bool = False
    debug: bool = False
    host: str = ""
    hostfile: str = ""
    num_replicas: int = 1
    ipus_per_replica: int = 1
    num_instances: int = 1
    num_ilds: int | None = None
    vipu_server_host: str = "localhost"
    vipu_server_port: int = 8090
    vipu_server_timeout: int = 120
    vipu_partition: str = ""
    vipu_partition_attempts: int = 1
    update_partition: bool = False
    reset_partition: bool | None = None
    remove_partition: bool = True
    vipu_cluster: str = ""
    vipu_allocation: str = ""
    executable_cache_path: str = ""
    mpi_global_args: str = ""
    mpi_local_args: str = ""
    numa_aware: bool = True
    host_subnet: str = ""
    sync_type: str = ""
    offline_mode: bool = False
    allow_run_as_root: bool = False
    print_topology: bool = False
    only_output_from_instance: int | None = None
    only_stdout_from_instance: int | None = None
    verbose: bool = False
    vv: bool = False
    command: list[str] = field(default_factory=list)  #: the program and its arguments
    #: options that were set, and by what: `the command line` or a file
    given: dict[str, str] = field(default_factory=dict)

    @property
    def verbosity(self) -> int:
        """0: warnings and errors; 1: progress; 2: details."""
        return 2 if self.vv or self.debug else int(self.verbose)

    def put(self, option: Option, value: Any, source: str) -> None:
        """Set an option and record where it was set."""
        setattr(self, option.attribute, value)
        self.given[option.name] = source

    def get(self, option: Option) -> Any:
        """The value of an option."""
        return getattr(self, option.attribute)
