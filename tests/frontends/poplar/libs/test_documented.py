"""docs/poplar-libs.md lists what the packages have, and nothing that they have not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import gcl
import popops
import poprand
import poputil
from popops._elementwise import NAMES

PAGE = (Path(__file__).parents[4] / "docs" / "poplar-libs.md").read_text(encoding="utf-8")
THERE = PAGE.split("## Functions")[1].split("## Behaviour")[0]
#: forms and helpers that the page describes together
_TOGETHER = re.compile(r"InPlace|WithOutput|ToDestination|^create|^grouped|^[A-Z]|^addCodelets$|concatChunks")


@pytest.mark.parametrize("package", [poputil, popops, poprand, gcl], ids=lambda each: each.__name__)
def test_every_function_is_on_the_page(package) -> None:
    names = [name for name in package.__all__ if not _TOGETHER.search(name)]
    assert [name for name in names if not re.search(rf"\b{name}\b", THERE)] == []
    assert set(package.__all__) <= set(dir(package))


def test_every_name_of_the_page_is_there() -> None:
    places = (poputil, popops, poprand, gcl, popops.expr, popops.rearrange, popops.embedding, poputil.graphfn)
    names = set(re.findall(r"`(?:\w+\.)?([a-z]\w+)`", THERE)) - {
        *("f", "fInPlace", "fWithOutput", "grouped"),
        *("poputil", "popops", "poprand", "gcl"),
    }
    assert [name for name in sorted(names) if not any(hasattr(place, name) for place in places)] == []
    assert set(NAMES) <= names
