"""The command line: every documented option, in every spelling, and what is said about mistakes."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from tremula.launch.command_line import parse
from tremula.launch.options import CHOICE, COUNT, FLAG, INDEX, OPTIONS, SWITCH, Option, Settings

DOCUMENTED = """\
--help --version --version-format --import-config --export-config --overwrite-config --debug --host --hostfile
--num-replicas --ipus-per-replica --num-instances --num-ilds --vipu-server-host --vipu-server-port
--vipu-server-timeout --vipu-partition --vipu-partition-attempts --update-partition --reset-partition
--remove-partition --vipu-cluster --vipu-allocation --executable-cache-path --mpi-global-args --mpi-local-args
--numa-aware --host-subnet --sync-type --only-output-from-instance --only-stdout-from-instance --print-topology
--offline-mode --allow-run-as-root --verbose --vv
"""


def good(*words: str) -> Settings:
    settings, problems = parse(words)
    assert problems == []
    return settings


def problems(*words: str) -> list[str]:
    return parse(words)[1]


def test_the_table_has_the_documented_options_and_settings_a_field_for_each() -> None:
    assert {f"--{option.name}" for option in OPTIONS} == set(DOCUMENTED.split())
    names = {field.name: field.default for field in fields(Settings)}
    for option in OPTIONS:
        assert names[option.attribute] == option.default


_SAMPLES: dict[str, tuple[str, Any]] = {
    COUNT: ("7", 7),
    INDEX: ("0", 0),
    FLAG: ("no", False),
    CHOICE: ("full-json", "full-json"),
    "text": ("some text", "some text"),
}


@pytest.mark.parametrize(
    "option", [each for each in OPTIONS if each.kind != SWITCH], ids=lambda each: each.name
)
def test_a_value_follows_in_the_next_word_or_behind_an_equals_sign(option: Option) -> None:
    text, value = _SAMPLES[option.kind]
    for words in ([f"--{option.name}", text], [f"--{option.name}={text}"]):
        settings = good(*words, "program")
        assert settings.get(option) == value
        assert settings.given == {option.name: "the command line"}
        assert settings.command == ["program"]


def test_switches() -> None:
    assert good("--help").help
    assert good("-h").help
    assert good("--version").version
    assert good().verbosity == 0
    assert good("-v", "p").verbosity == 1
    assert good("--verbose", "p").verbosity == 1
    assert good("-vv", "p").verbosity == 2
    assert good("--vv", "p").verbosity == 2
    assert good("-v", "-v", "p").verbosity == 2
    assert good("--debug", "p").verbosity == 2


@pytest.mark.parametrize("word", ["yes", "1", "true", "on", "YES", "True"])
def test_flags_say_yes(word: str) -> None:
    assert good("--offline-mode", word, "p").offline_mode
    assert good(f"--offline-mode={word}", "p").offline_mode


@pytest.mark.parametrize("word", ["no", "0", "false", "off"])
def test_flags_say_no(word: str) -> None:
    settings = good("--numa-aware", word, "p")
    assert settings.numa_aware is False
    assert settings.command == ["p"]


def test_a_flag_may_stand_alone() -> None:
    assert good("--print-topology", "python", "x.py").command == ["python", "x.py"]
    assert good("--print-topology", "--num-replicas", "2", "python").print_topology


def test_options_may_be_cut_short() -> None:
    assert good("--num-rep", "4", "p").num_replicas == 4
    assert good("--num-in=4", "p").num_instances == 4
    assert good("--ipus", "2", "p").ipus_per_replica == 2
    (problem,) = problems("--num", "4")
    for name in ("--num-replicas", "--num-instances", "--num-ilds"):
        assert name in problem


def test_hosts_in_short() -> None:
    for words in (["-H", "a,b"], ["-Ha,b"], ["-H=a,b"], ["--host", "a,b"], ["--host=a,b"]):
        assert good(*words, "p").host == "a,b"


def test_options_end_at_the_program() -> None:
    settings = good("--num-replicas", "2", "python", "--num-replicas", "9", "-v", "--", "--help")
    assert settings.command == ["python", "--num-replicas", "9", "-v", "--", "--help"]
    assert settings.num_replicas == 2
    assert settings.verbosity == 0
    assert good("-v", "--", "-odd-name", "-x").command == ["-odd-name", "-x"]
    assert good("-v", "--", "p", "--", "q").command == ["p", "--", "q"]


def test_a_value_may_look_like_an_option_of_somebody_else() -> None:
    settings = good("--mpi-global-args", "--tag-output", "--mpi-local-args=-x PATH -x HOME", "p")
    assert settings.mpi_global_args == "--tag-output"
    assert settings.mpi_local_args == "-x PATH -x HOME"


def test_all_mistakes_are_told_at_once() -> None:
    told = problems(
        *("--num-replicas", "two", "--num-instances=0", "--nun-ilds", "3", "--numa-aware=maybe", "--help=1"),
        *("--vipu-partition", "--host", "a", "--version-format", "xml", "--host", "b", "p"),
    )
    expected = [
        "--num-replicas takes a whole number of 1 or more, but 'two' was given.",
        "--num-instances takes a whole number of 1 or more, up to 1000000, but '0' was given.",
        "Unknown option --nun-ilds. Did you mean --num-ilds?",
        "--numa-aware takes yes or no (also 1, true, yes, on, 0, false, no, off), but 'maybe' was given.",
        "--help takes no value, but '1' was given.",
        "--vipu-partition needs a value (name).",
        "--version-format takes text, full-text or full-json, but 'xml' was given.",
        "--host was given twice; give it once.",
    ]
    assert told == expected


def test_what_a_terminal_would_act_on_is_not_repeated() -> None:
    (problem,) = problems("--num-replicas=\x1b[31m", "p")
    assert "\x1b" not in problem


#: as users' scripts write them
@pytest.mark.parametrize(
    ("line", "program"),
    [
        ("-vv --num-instances=16 --num-replicas=16 --executable-cache-path=/c python bin/exec.py --config-name=a21", 1),
        ("--offline-mode=on -vv --num-ilds 2 --num-instances 2 --num-replicas 32 --ipus-per-replica 4 "
         "--numa-aware=yes --mpi-global-args=--tag-output python run.py --compile-only", 1),
        ("-vv --host h0,h1 --numa-aware 1 --vipu-partition=p --update-partition=yes --reset-partition=no "
         "--vipu-server-host v --only-output-from-instance 0 --num-instances 2 --num-replicas 2 python3 t.py", 1),
        ("--vipu-partition popxl_test --update-partition yes --num-replicas 2 --num-instances 2 python m.py", 1),
    ],
)  # fmt: skip
def test_lines_of_real_scripts(line: str, program: int) -> None:
    assert good(*line.split()).command[0].startswith("python")
    assert len(good(*line.split()).command) > program
