"""Which words of a command line are the command's, and which the program's."""

from __future__ import annotations

import shlex

import pytest

from tremula.cli.main import build_parser


def parsed(line: str) -> tuple[str, list[str], dict[str, object]]:
    found = vars(build_parser().parse_args(shlex.split(line)))
    return found.pop("subject", found.pop("program", "")), found.pop("arguments"), found


@pytest.mark.parametrize(
    ("line", "arguments", "options"),
    [
        ("scale unet.py --ipus 1,2 --out x", [], {"ipus": [1, 2], "out": "x"}),
        ("scale --ipus 1,2 unet.py --out=x", [], {"ipus": [1, 2], "out": "x"}),
        ("scale unet.py --out x --epochs 3", ["--epochs", "3"], {"out": "x"}),
        ("scale unet.py -- --out x", ["--out", "x"], {"out": None}),
        ("scale unet.py --ipus 2 -- --ipus 7 -- y", ["--ipus", "7", "--", "y"], {"ipus": [2]}),
        ("scale run -m package.unet --no-plots", ["-m", "package.unet"], {"no_plots": True}),
        ("estimate run lstm.py --no-advice", ["lstm.py"], {"no_advice": True}),
        ("estimate run --no-advice lstm.py", ["lstm.py"], {"no_advice": True}),
        ("estimate --no-advice run lstm.py --lr 0.1", ["lstm.py", "--lr", "0.1"], {"no_advice": True}),
        ("estimate run -m lstm --json -- --json", ["-m", "lstm", "--json"], {"json": True}),
        ("estimate run -- lstm.py --json", ["lstm.py", "--json"], {"json": False}),
        ("estimate model.py:make --ipus 4 --csv", [], {"ipus": [4], "csv": True}),
        ("estimate model.py:make --ipu 4", [], {"ipus": [4]}),
        ("profile lstm.py -o p --html", [], {"html": True}),
        ("profile lstm.py data -m x", ["data", "-m", "x"], {"module": False}),
        ("profile -m lstm --trace 3", ["3"], {"trace": True, "module": True}),
    ],
)
def test_options_of_the_command_stand_on_either_side_of_the_program(
    line: str, arguments: list[str], options: dict[str, object]
) -> None:
    _, words, found = parsed(line)
    assert words == arguments
    assert {name: found[name] for name in options} == options


@pytest.mark.parametrize(
    ("line", "ours", "own"),
    [
        (
            "scale unet.py --epochs 3 --out x",
            "tremula scale --out x unet.py --epochs 3",
            "tremula scale unet.py -- --epochs 3 --out x",
        ),
        (
            "estimate --csv run lstm.py data --no-advice",
            "tremula estimate --csv --no-advice run lstm.py data",
            "tremula estimate --csv run lstm.py -- data --no-advice",
        ),
        ("profile lstm.py -op", "tremula profile -op lstm.py", "tremula profile lstm.py -- -op"),
        ("scale unet.py --ipu 2", "tremula scale --ipu 2 unet.py", "tremula scale unet.py -- --ipu 2"),
    ],
)
def test_an_option_that_may_be_meant_for_either_is_refused_with_the_right_order(
    line: str, ours: str, own: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        parsed(line)
    said = capsys.readouterr().err.splitlines()
    assert f"  {ours}" in said
    assert f"  {own}" in said
    words = parsed(own.removeprefix("tremula "))
    assert words[1][-1] == line.split()[-1], "what is shown can be typed"
