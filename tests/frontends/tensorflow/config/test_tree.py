"""Trees of options that a class declares in its `__init__`."""

from __future__ import annotations

import typing
from enum import Enum

import pytest

from tremula.frontends.tensorflow.config.metadata import matches
from tremula.frontends.tensorflow.config.tree import ConfigNode, deprecate_config_attribute


class Fruit(Enum):
    APPLE = 1
    PEAR = 2


@deprecate_config_attribute("old", "use number.")
class Inner(ConfigNode):
    def __init__(self):
        """How many there are."""
        self.number: int = 1
        self.old = "x"


class Root(ConfigNode):
    def __init__(self):
        """Which one."""
        self.fruit: Fruit = Fruit.APPLE
        self.several: typing.Union[int, typing.List[int]] = []  # noqa: UP006, UP007
        """All about numbers."""
        self.inner = Inner()
        self._finalize_base_config()


def test_annotations_are_types_and_the_texts_before_are_descriptions():
    root = Root()
    described = root.get_attribute_metadata("inner.number")
    assert (described.type, described.default, described.__doc__) == ("int", 1, "How many there are.")
    assert root.get_attribute_metadata("several").type == "typing.Union[int, typing.List[int]]"
    assert root.get_attribute_metadata("inner").type is None
    assert root.inner.get_attribute_metadata("old").deprecated_msg == "use number."
    assert ".. _inner.number:" in Root.__doc__


def test_only_what_is_declared_can_be_set():
    root = Root()
    root.several = [1, 2]
    root.inner.number = 5
    for act in (
        lambda: setattr(root, "fruit", 1),
        lambda: setattr(root, "several", [1.0]),
        lambda: setattr(root.inner, "number", True),
        lambda: setattr(root, "other", 1),
        lambda: setattr(root, "inner", Inner()),
    ):
        with pytest.raises((TypeError, ValueError)):
            act()
    assert root.to_dict() == {"fruit": 1, "several": [1, 2], "inner.number": 5, "inner.old": "x"}


def test_dicts_restore_enumerations():
    root = Root()
    root.from_dict({"fruit": 2, "inner.number": 7})
    assert root.fruit is Fruit.PEAR
    assert root.inner.number == 7
    with pytest.raises(ValueError, match="3 is not a valid Fruit"):
        root.from_dict({"fruit": 3, "inner.number": 8})
    assert root.inner.number == 7


@pytest.mark.parametrize(
    ("value", "hint", "fits"),
    [
        (1, int, True),
        (True, int, False),
        ([1, 2], list[int], True),
        ([1, "2"], list[int], False),
        ((1, "a"), tuple[int, str], True),
        ((1,), tuple[int, str], False),
        ((1, 2, 3), tuple[int, ...], True),
        ((), tuple[int, ...], True),
        ([1], tuple[int, ...], False),
        ("a", typing.Union[int, str], True),  # noqa: UP007
        (b"a", typing.Union[int, str], False),  # noqa: UP007
        ([[1], ["a"]], list[typing.Union[list[int], list[str]]], True),  # noqa: UP007
        ({}, dict, True),
        ([3], typing.List, True),  # noqa: UP006
    ],
)
def test_types_are_exact(value, hint, fits):
    assert matches(value, hint) is fits
