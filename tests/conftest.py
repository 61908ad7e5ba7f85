"""What every test gets: one thread, a fixed seed and a state folder of its own."""

from __future__ import annotations

import importlib
import importlib.util
import os
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

# Before torch is imported: with several threads, OpenMP's spinning barriers slow small tests down manyfold.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Tests wrap models without running them; the end of the test run is not a place to remark on it.
os.environ["TREMULA_SUMMARY"] = "0"

import hypothesis
import pytest
import torch

# Tests send Ctrl-C to programs, which would inherit that it is ignored where a shell runs the tests in the background.
if (
    signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    and threading.current_thread() is threading.main_thread()
):
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A loaded machine is not a failed property.
hypothesis.settings.register_profile("tremula", deadline=None, max_examples=50)
hypothesis.settings.load_profile("tremula")


@pytest.fixture(autouse=True, scope="session")
def state_directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Keep the user's own run ledger, cache and IPUs out of the tests, and theirs out of them."""
    path = tmp_path_factory.mktemp("state")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TREMULA_STATE_DIR", str(path))
        # models that fixtures keep alive hold their IPUs, so there have to be enough
        patch.setenv("TREMULA_VIRTUAL_IPUS", "64")
        patch.setenv("TREMULA_CACHE_DIR", str(path / "executables"))
        yield path


@pytest.fixture(autouse=True)
def seed() -> None:
    """Each test starts from the same random state, alone or in company."""
    torch.manual_seed(0)


@pytest.fixture(scope="session")
def layered() -> Callable[..., Any]:
    """Builds a stack of linear layers as a flat program, without a capture; see tests/programs.py."""
    builder: Callable[..., Any] = _beside("programs").layered
    return builder


@pytest.fixture(scope="session")
def numpy_front_end() -> Any:
    """A front end without a framework: `NumpyExecutable` and `NumpyProgram` of tests/numpy_executable.py."""
    return _beside("numpy_executable")


def _beside(name: str) -> Any:
    """A module in the folder of tests, which is not a package."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).parent / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config) -> Callable[[str], Any]:
    """Imports a module of `benchmarks`, which is outside the package, by its name."""
    monkeypatch.syspath_prepend(str(pytestconfig.rootpath))
    return lambda name: importlib.import_module(f"benchmarks.{name}")


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A browser for all tests of a run; see tests/browser.py."""
    module = _beside("browser")
    executable = next((found for name in module.BROWSERS if (found := shutil.which(name))), None)
    if executable is None:
        # a contributor may do without; continuous integration installs one (make browser)
        assert not os.environ.get("CI"), "no Chromium: the tests of pages would prove nothing"
        pytest.skip("no Chromium on this machine (apt-get install chromium): pages are not opened")
    found = module.Browser(executable, tmp_path_factory.mktemp("browser"))
    yield found
    found.close()


@pytest.fixture(scope="session")
def hostile_texts() -> tuple[str, ...]:
    """Names that a viewer must not obey; see tests/browser.py."""
    texts: tuple[str, ...] = _beside("browser").HOSTILE
    return texts


@pytest.fixture(scope="session")
def profile_file(layered: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The profile of a small pipeline that trains on two IPUs, with four replicas. Not to be changed."""
    from tremula.estimate import estimate
    from tremula.hardware.catalogue import system
    from tremula.profile import model
    from tremula.program.loops import Loops
    from tremula.recording import write_profile
    from tremula.schedule.deployment import Deployment

    program = layered(6, stages=2, loops=Loops(gradient_accumulation=8, replicas=4))
    deployment = Deployment(execution="pipelined", ipus_per_replica=2, recompute="all")
    found = estimate(program, deployment, system("pod16"))
    path = tmp_path_factory.mktemp("profiles") / "training" / "profile.pop"
    advice = [
        model.Advice(f"Change number {n}", 1.5 / n, 1.2 / n, 1.5 / n, 0.4, "yes", 8, "host call: 1 ms less",
                     "Latency grows.", model.Json(f'["options.change({n})"]'))
        for n in (1, 2, 3, 4)
    ]  # fmt: skip
    options = {"autoReport.all": "true"}
    return write_profile(found, path, engine_options=options, run={"model": "stack"}, advice=advice)


@pytest.fixture(scope="session")
def rewrite_profile() -> Callable[..., Path]:
    """Copies a profile row by row, each row changed by a function (None leaves it out); and frame by frame."""
    from tremula.profile import Profile, ProfileWriter
    from tremula.profile.frames import FRAMES
    from tremula.profile.schema import COLUMNAR, META, TABLES

    def rewrite(
        source: Path,
        target: Path,
        change: Callable[[Any], Any] = lambda row: row,
        change_frame: Callable[[str, dict[str, Any]], dict[str, Any]] = lambda _name, columns: columns,
    ) -> Path:
        with Profile(source) as profile, ProfileWriter(target) as writer:
            for table in (*TABLES.values(), *COLUMNAR.values()):
                if table is META:
                    continue
                for row in profile.rows(table.row):
                    changed = change(row)
                    if changed is not None:
                        writer.add(changed)
            for name in FRAMES.keys() - {table.name for table in COLUMNAR.values()}:
                frame = profile.frame(name)
                writer.frame(name).add(change_frame(name, {c: frame.column(c) for c in frame.columns}))
        return target

    return rewrite
