"""The files in locks/: every dependency that is declared, at a version that is allowed, by the hashes of its files."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from packaging.markers import Marker, default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS: dict[str, list[str]] = PROJECT["project"]["optional-dependencies"]

_ENTRY = re.compile(
    r"(?P<name>[a-z0-9-]+)==(?P<version>[0-9][A-Za-z0-9.]*)(?: ; (?P<marker>[^\\/@]+?))?(?P<hashes>(?: --hash=\S+)+)"
)
_HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}")
_MACHINES = [("linux", "Linux", "x86_64"), ("linux", "Linux", "aarch64"), ("darwin", "Darwin", "arm64")]
_MACHINES += [("win32", "Windows", "AMD64")]
#: the supported Pythons on the machines that torch has wheels for
ENVIRONMENTS = [
    {
        **default_environment(),
        "python_version": python,
        "python_full_version": f"{python}.0",
        "sys_platform": platform,
        "platform_system": system,
        "platform_machine": machine,
        "extra": "",
    }
    for python in ("3.11", "3.12", "3.13", "3.14")
    for platform, system, machine in _MACHINES
]


@dataclass(frozen=True)
class Entry:
    """One version of one package, and where it is installed."""

    name: str
    version: str
    marker: Marker | None

    def applies(self, environment: dict[str, str]) -> bool:
        return self.marker is None or self.marker.evaluate(environment)


def in_groups(*names: str) -> Iterator[str]:
    """The requirements of dependency groups, with those that they include."""
    for name in names:
        for each in PROJECT["dependency-groups"][name]:
            if isinstance(each, dict):
                yield from in_groups(each["include-group"])
            elif each.startswith("tremula["):
                yield from EXTRAS[Requirement(each).extras.pop()]
            else:
                yield each


BASE: list[str] = PROJECT["project"]["dependencies"]
#: what each file has to cover
DECLARED = {
    "build": PROJECT["build-system"]["requires"],
    "base": BASE,
    **{extra: BASE + wanted for extra, wanted in EXTRAS.items()},
    "dev": [*BASE, *in_groups(*PROJECT["dependency-groups"])],
}


def lines(name: str) -> list[str]:
    text = (ROOT / "locks" / f"{name}.txt").read_text(encoding="utf-8")
    joined = re.sub(r" \\\n +", " ", text)
    return [line for line in joined.splitlines() if not line.startswith("#")]


def entries(name: str) -> list[Entry]:
    found = [_ENTRY.fullmatch(line) for line in lines(name)]
    return [
        Entry(each["name"], each["version"], Marker(each["marker"]) if each["marker"] else None)
        for each in found
        if each
    ]


def test_there_is_one_file_for_each_way_to_install() -> None:
    assert {path.stem for path in (ROOT / "locks").iterdir()} == set(DECLARED)


@pytest.mark.parametrize("name", DECLARED)
def test_every_entry_is_one_version_with_hashes_and_names_no_place(name: str) -> None:
    assert lines(name)
    for line in lines(name):
        entry = _ENTRY.fullmatch(line)
        assert entry, f"no version with hashes alone, or the name of a host or a path: {line[:200]}"
        assert all(_HASH.fullmatch(word) for word in entry["hashes"].split()), line[:200]
    text = (ROOT / "locks" / f"{name}.txt").read_text(encoding="utf-8")
    assert not re.search(r"://|\bfile:|[@/]|--(?!hash=sha256:)", text)


@pytest.mark.parametrize("name", DECLARED)
def test_every_declared_dependency_is_covered_at_an_allowed_version(name: str) -> None:
    locked = entries(name)
    for text in DECLARED[name]:
        wanted = Requirement(text)
        for environment in ENVIRONMENTS:
            if wanted.marker is not None and not wanted.marker.evaluate(environment):
                continue
            ours = canonicalize_name(wanted.name)
            found = [each for each in locked if each.name == ours and each.applies(environment)]
            assert len(found) == 1, f"{text}: {found}; run: make lock"
            assert wanted.specifier.contains(found[0].version), f"{text}: {found[0].version}; run: make lock"


@pytest.mark.parametrize("name", DECLARED)
def test_no_environment_is_given_two_versions_of_a_package(name: str) -> None:
    for environment in ENVIRONMENTS:
        names = [each.name for each in entries(name) if each.applies(environment)]
        assert len(names) == len(set(names))
