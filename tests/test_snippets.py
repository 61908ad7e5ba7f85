"""The blocks of README, CONTRIBUTING and docs.

- `python`: it runs. `_PARTS` lists the few that cannot run alone, with the reason; `_ELSEWHERE` names other tests.
- Command lines of ours, in blocks without a language, `sh`, `bash` or `console`: the command's parser accepts them.
  They are not run, because most take files of the user, or minutes.
- `make TARGET`, `python -m MODULE` and `tremula[EXTRA]`, in text as well: the target, the module and the extra exist.
- `toml`, `yaml`: they can be parsed.
- `diff`: tests/apps/tutorials compares them with the programs.
- `lua`, `text`: not tested. A module file needs Lmod, and text is output.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import textwrap
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tremula.cli import parsers

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_BLOCK = re.compile(r"^( *)```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
#: pages whose snippets take a model and data for granted: tests/snippets/network.py
_WITH_NETWORK = {"advice", "cache", "chip-model", "estimate", "popdist", "scale", "testing"}
#: tested elsewhere
_ELSEWHERE = {
    "errors": "tests/poptorch/test_static_graph.py runs it, failing programs included",
    "tensorflow": "tests/frontends/tensorflow/test_snippets.py",
    "start-keras": "tests/frontends/tensorflow/test_snippets.py",
}
#: the first line of a block that is a part of something larger, and why it cannot run alone
_PARTS = {
    (
        "custom-ops",
        "op = my_ops.Scale.create_op_in_graph(",
    ): "needs a compiled library; tests/frontends/poplar/user_ops/test_parameterized_ops.py compiles one",
    (
        "popdist",
        "options = popart.SessionOptions()",
    ): "lines of a program; tests/popart run whole ones under poprun",
    ("poprun", "import popdist.tensorflow"): "lines of a TensorFlow 1 program",
    ("pva", "steps = report.execution.steps.to_dataframe()"): "needs pandas, which the tests do not install",
    ("pva", 'with pva.openReport("reports/training") as report:'): "states limits of one program",
    ("tools", "try:"): "needs a device that fails",
    ("tutorial", "def forward(self, images):"): "a method of step1_cpu.py",
    (
        "tutorial",
        "model = poptorch.trainingModel(model, poptorch.Options(), optimizer)",
    ): "lines of step6_half.py",
}


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    page: Path
    line: int
    language: str
    text: str


def blocks(page: Path) -> Iterator[Block]:
    """All fenced blocks of a page."""
    text = page.read_text(encoding="utf-8")
    for found in _BLOCK.finditer(text):
        line = text.count("\n", 0, found.start()) + 2
        yield Block(page, line, found[2], textwrap.dedent(found[3]))


def python_blocks(page: Path) -> list[Block]:
    """The blocks of a page that are to be run."""
    return [
        block
        for block in blocks(page)
        if block.language == "python" and (page.stem, block.text.splitlines()[0]) not in _PARTS
    ]


def run(block: Block, namespace: dict[str, Any]) -> None:
    """Run a block; a traceback names the line of the page."""
    code = compile("\n" * (block.line - 1) + block.text, str(block.page), "exec")
    with contextlib.redirect_stdout(io.StringIO()):
        exec(code, namespace)  # noqa: S102 (our own page)


def _setups(page: Path) -> list[Path]:
    """What runs before the blocks of a page."""
    folder = ROOT / "tests" / "snippets"
    found = [folder / "network.py"] if page.stem in _WITH_NETWORK else []
    return [*found, *folder.glob(f"{page.stem}.py")]


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if python_blocks(page) and page.stem not in _ELSEWHERE],
    ids=lambda p: p.stem,
)
def test_python_blocks_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {"__name__": "program"}
    for setup in _setups(page):
        run(Block(setup, 1, "python", setup.read_text(encoding="utf-8")), namespace)
    if page.stem in ("profile", "pva"):
        request.getfixturevalue("report_folder")
    if page.stem == "libpvti":
        request.getfixturevalue("trace_folder")
    for block in python_blocks(page):
        run(block, namespace)


def test_every_part_that_is_left_out_is_still_there() -> None:
    firsts = {
        (page.stem, block.text.splitlines()[0])
        for page in PAGES
        for block in blocks(page)
        if block.language == "python"
    }
    assert set(_PARTS) <= firsts


@dataclass(frozen=True)
class CommandLine:
    """A command line in a page."""

    page: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


_COMMANDS = "|".join(sorted(set(parsers.COMMANDS) - {"cosmictagger", "cosmoflow"}, key=len, reverse=True))
_COMMAND_LINE = re.compile(rf"(?:\$ )?(?:[A-Z_]+=(?:'[^']*'|\S*) )*((?:{_COMMANDS}) .*)")


def command_lines() -> Iterator[CommandLine]:
    """Every line of a block that begins with a command of ours."""
    for page in (*PAGES, ROOT / "CONTRIBUTING.md"):
        for block in blocks(page):
            if block.language not in ("", "sh", "bash", "console"):
                continue
            for number, line in enumerate(re.sub(r" \\\n *", " ", block.text).splitlines()):
                found = _COMMAND_LINE.fullmatch(line)
                if found and not _OUTPUT.match(line):
                    # what columns of a page explain begins after several blanks
                    yield CommandLine(page.stem, block.line + number, re.split(r"  +|\s#\s", found[1])[0])


#: every language of a block, and whether it is parsed here
_LANGUAGES: dict[str, Callable[[str], object] | None] = {
    "": None,
    "console": None,
    "diff": None,
    "lua": None,
    "python": None,
    "text": None,
    "toml": tomllib.loads,
    "yaml": yaml.safe_load,
}


def test_blocks_are_of_known_languages_and_can_be_parsed() -> None:
    for page in (*PAGES, ROOT / "CONTRIBUTING.md"):
        for block in blocks(page):
            parse = _LANGUAGES[block.language]
            if parse is not None:
                parse(block.text)


_TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
_EXTRAS = set(
    tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
)
#: in blocks and in running text; `make` alone, and the targets of other projects, have no word behind
_MAKE = re.compile(r"(?:^|`|\$ )make ([a-z][a-z-]+)(?=[ `\n]|$)", re.MULTILINE)
_RUN_MODULE = re.compile(r"python -m ((?:benchmarks|fuzz|tremula|release)[\w.]*)")
_EXTRA = re.compile(r"(?:tremula|\.)\[([a-z,]+)\]")


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=lambda p: p.stem)
def test_targets_modules_and_extras_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    prose = re.sub(r"^make", "", _BLOCK.sub("", text), flags=re.MULTILINE)
    found = "\n".join([prose, *(block.text for block in blocks(page))])
    assert set(_MAKE.findall(found)) - _TARGETS == set()
    assert {name for found in _EXTRA.findall(text) for name in found.split(",")} - _EXTRAS == set()
    folders = (ROOT, ROOT / "src")
    for name in set(_RUN_MODULE.findall(text)):
        path = name.rstrip(".").replace(".", "/")
        assert any(
            (folder / f"{path}.py").exists() or (folder / path / "__main__.py").exists() for folder in folders
        ), name


#: lines that a command printed, which begin with its name
_OUTPUT = re.compile(r"gc-monitor {2}\d|\S+ {2,}\S+$|.*…")


@pytest.mark.parametrize("given", list(command_lines()), ids=str)
def test_command_lines_are_accepted(given: CommandLine, capsys: pytest.CaptureFixture[str]) -> None:
    if "..." in given.text:
        pytest.skip("shortened")
    words = shlex.split(re.split(r"\s(?:>>?|\|) ?", given.text)[0], comments=True)
    parser = parsers.parser(words[0])
    code: object = 0
    try:
        parser.parse_args(words[1:])
    except SystemExit as stopped:  # argparse has printed the mistake
        code = stopped.code
    accepted = "refused" not in _explanation(given)
    assert (code == 0) is accepted, capsys.readouterr().err


def _explanation(given: CommandLine) -> str:
    page = next(page for page in (*PAGES, ROOT / "CONTRIBUTING.md") if page.stem == given.page)
    return page.read_text(encoding="utf-8").splitlines()[given.line - 1].partition("#")[2]


@pytest.fixture
def report_folder(profile_file: Path, tmp_path: Path, trace_folder: Path) -> Path:
    """`reports/training/profile.pop`, and a trace, below the current folder."""
    import shutil

    shutil.copytree(profile_file.parent, tmp_path / "reports" / "training")
    return tmp_path / "reports"


@pytest.fixture
def trace_folder(tmp_path: Path) -> Path:
    """A trace of a program with one thread, under the names that pages use."""
    import libpvti as pvti
    from tremula.settings.values import TraceOptions
    from tremula.trace import writer

    folder = tmp_path / "reports"
    folder.mkdir()
    writer.restart(TraceOptions(directory=str(folder)))
    channel = pvti.createTraceChannel("application")
    with pvti.Tracepoint(channel, "step"):
        pass
    writer.close()
    (path,) = folder.glob("*.pvti")
    path.rename(folder / "....pvti")
    (folder / "Tue_Nov_24_11:59:17_2020_GMT_4532.pvti").write_bytes((folder / "....pvti").read_bytes())
    return folder
