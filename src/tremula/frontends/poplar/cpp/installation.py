"""The C++ libraries, compiled once for a compiler and a Python, in a folder of the user's.

The folder has what a program needs: include/, lib/ with the libraries and the files for CMake, and enable.sh. Its name
is made of the content of all sources, the compiler and the Python, so a new version of any of them gets another one.
"""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from tremula.atomic_files import write_text_atomically
from tremula.errors import Error
from tremula.frontends.poplar.codelets.cpp import compiler
from tremula.frontends.poplar.codelets.cpp.compiler import Compiler
from tremula.frontends.poplar.cpp import cmake, wire
from tremula.frontends.poplar.cpp.shell import enable_script
from tremula.private_files import Untrusted, make_code_directory
from tremula.progress import ProgressCallback
from tremula.settings import env

_HERE = Path(__file__).parent
INCLUDE = _HERE / "include"
SOURCE = _HERE / "source"
#: libraries with files of their own; the rest of the files is libpoplar, which all others need
_OWN_FILES = {
    "pva": ("pva.cpp",),
    "pvti": ("pvti.cpp",),
    "popart": ("popart.cpp", "popart_calls.cpp"),
    "tremula_user_ops": ("user_ops.cpp",),
}
#: libraries whose functions are in their headers; programs link them by name
_THIN = ("poputil", "popops", "poplin", "popnn", "poprand", "popsparse", "popfloat", "gcl")
_THIN_FILE = "thin.cpp"
LIBRARIES = ("poplar", *_THIN, *_OWN_FILES)
_FLAGS = ("-std=c++14", "-fPIC", "-w", "-fno-strict-aliasing")
OPTIMISED = "-O2"
_DONE = "complete"


@dataclass(frozen=True)
class Flags:
    """A compiler, and how far it optimises."""

    compiler: Compiler
    optimisation: str

    def run(self, arguments: Sequence[str], source: str = "") -> None:
        """Run the compiler, with a source as its input; a failure raises CalledProcessError."""
        subprocess.run(
            [*self.compiler.command, *arguments],
            input=source, check=True, capture_output=True, text=True, errors="replace",
            env={**os.environ, "LC_ALL": "C"},
        )  # fmt: skip


@dataclass(frozen=True)
class Installation:
    """A folder with headers and libraries."""

    root: Path

    @property
    def include(self) -> Path:
        """The folder of the headers."""
        return self.root / "include"

    @property
    def lib(self) -> Path:
        """The folder of the libraries."""
        return self.root / "lib"

    @property
    def script(self) -> Path:
        """What a shell reads to find both."""
        return self.root / "enable.sh"


def install(
    directory: Path | None = None,
    progress: ProgressCallback | None = None,
    optimisation: str = OPTIMISED,
) -> Installation:
    """Compile the libraries, unless that was done; into `directory`, or a folder of the user's.

    Raises:
        Error: there is no compiler, it fails, or the folder cannot be written.
    """
    found = compiler.find()
    if found is None:
        raise Error(
            "There is no C++ compiler: install one (apt install g++), or name one with TREMULA_CXX.",
            type="command_error",
        )
    key = _key(found, optimisation)
    root = directory or default_root() / key[:20]
    try:
        if _complete(root, key):
            return Installation(root)
        make_code_directory(root.parent)
        _build(Flags(found, optimisation), root, key, progress or (lambda what, share: None))
    except Untrusted as problem:
        raise Error(
            f"The libraries are not kept in {root.parent}: {problem}. Name another folder with --dir.",
            type="command_error",
        ) from None
    except subprocess.CalledProcessError as problem:
        raise Error(f"A library does not compile:\n{problem.stderr}", type="command_error") from None
    except OSError as problem:
        where = problem.filename or root
        raise Error(
            f"The libraries cannot be written: {problem.strerror or problem} ({where})", type="command_error"
        ) from None
    return Installation(root)


def default_root() -> Path:
    """Where the libraries are kept when the user names no folder."""
    return Path(platformdirs.user_cache_dir("tremula", appauthor=False)) / "cpp"


def sources() -> list[Path]:
    """All files that the libraries are made of."""
    return sorted(each for folder in (INCLUDE, SOURCE) for each in folder.rglob("*") if each.is_file())


def _key(found: Compiler, optimisation: str) -> str:
    total = hashlib.sha256()
    for each in sources():
        total.update(f"{each.relative_to(_HERE)}\0".encode())
        total.update(hashlib.sha256(each.read_bytes()).digest())
    for text in (
        found.identity,
        _python(),
        optimisation,
        *_FLAGS,
        str(wire.VERSION),
        enable_script(Path("/")),
    ):
        total.update(f"{text}\0".encode())
    return total.hexdigest()


def _complete(root: Path, key: str) -> bool:
    try:
        return (root / _DONE).read_text(encoding="ascii").strip() == key
    except (OSError, UnicodeDecodeError):
        return False


def _build(flags: Flags, root: Path, key: str, progress: ProgressCallback) -> None:
    """Build beside the final place, then take that place in one step."""
    root.parent.mkdir(parents=True, exist_ok=True)
    place = Path(tempfile.mkdtemp(prefix=f".{root.name}.", suffix=".part", dir=root.parent))
    try:
        made = Installation(place)
        shutil.copytree(INCLUDE, made.include)
        made.lib.mkdir()
        _libraries(flags, made.lib, progress)
        cmake.write(made.lib / "cmake", LIBRARIES)
        write_text_atomically(made.script, enable_script(root.absolute()))
        write_text_atomically(place / _DONE, key + "\n")
        place.chmod(0o755)
        _take_place(place, root)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _take_place(place: Path, root: Path) -> None:
    old = None
    if root.exists():
        if not (root / _DONE).exists() and any(root.iterdir()):
            raise Error(
                f"{root} has other files in it: name an empty folder, or one that `tremula cpp enable` made.",
                type="command_error",
            )
        old = Path(tempfile.mkdtemp(prefix=f".{root.name}.", suffix=".old", dir=root.parent))
        os.replace(root, old / "old")
    try:
        os.replace(place, root)
    except OSError:
        if not (root / _DONE).exists():  # else another process was faster, with the same result
            raise
    finally:
        if old is not None:
            shutil.rmtree(old, ignore_errors=True)


def _libraries(flags: Flags, lib: Path, progress: ProgressCallback) -> None:
    own = {name for names in _OWN_FILES.values() for name in names}
    core = [each.name for each in sorted(SOURCE.glob("*.cpp")) if each.name not in {*own, _THIN_FILE}]
    units = {"poplar": core, "thin": [_THIN_FILE], **_OWN_FILES}
    objects = lib / "objects"
    objects.mkdir()
    done = 0

    def compiled(name: str) -> Path:
        """All files of a library together: most of the time goes to headers, which are read once."""
        nonlocal done
        target = objects / f"{name}.o"
        text = "".join(f'#include "{SOURCE / each}"\n' for each in units[name])
        flags.run(
            [
                *_FLAGS, flags.optimisation, _python_macro(), f"-I{INCLUDE}", "-x", "c++", "-c", "-", "-o",
                str(target),
            ],
            text,
        )  # fmt: skip
        done += 1
        progress(f"compiling {name}", done / (len(units) + 1))
        return target

    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        made = dict(zip(units, pool.map(compiled, units), strict=True))
    link = functools.partial(_link, flags, lib)
    link("poplar", made["poplar"], ["-pthread"])
    for name in _THIN:
        link(name, made["thin"], ["-Wl,--no-as-needed", "-lpoplar"])
    for name in _OWN_FILES:
        link(name, made[name], ["-Wl,--no-as-needed", "-lpoplar"])
    shutil.rmtree(objects)


def _python() -> str:
    """The Python that programs start beside them."""
    return env.get("TREMULA_PYTHON") or sys.executable


def _python_macro() -> str:
    text = _python().replace("\\", "\\\\").replace('"', '\\"')
    return f'-DTREMULA_PYTHON="{text}"'


def _link(flags: Flags, lib: Path, name: str, object_file: Path, libraries: Sequence[str]) -> None:
    target = lib / f"lib{name}.so"
    flags.run(
        [
            "-shared", "-o", str(target), str(object_file), f"-L{lib}", *libraries,
            f"-Wl,-soname,{target.name}", "-Wl,-rpath,$ORIGIN",
        ],
    )  # fmt: skip
