"""Paths of modules: dotted in one framework, with slashes in another; the engine reads both."""

import pytest

from tremula.module_paths import around, first_parts, is_inside, parts, shared


@pytest.mark.parametrize("dot", [".", "/"])
def test_a_path_is_split_and_shortened_at_its_own_separator(dot):
    path = dot.join(["encoder", "layers", "3", "dense"])
    assert parts(path) == ["encoder", "layers", "3", "dense"]
    assert first_parts(path, 3) == dot.join(["encoder", "layers", "3"])
    assert around(path) == first_parts(path, 3)
    assert shared(path, dot.join(["encoder", "layers", "4"])) == dot.join(["encoder", "layers"])
    assert is_inside(path, first_parts(path, 1))
    assert is_inside(path, path)


def test_names_with_dots_stay_whole_between_slashes():
    assert parts("block1.conv/bn") == ["block1.conv", "bn"]


def test_a_longer_name_is_no_part_of_a_shorter_one():
    assert not is_inside("dense_1/kernel", "dense")
    assert not is_inside("layers.10", "layers.1")


def test_outside_of_modules_there_are_no_parts():
    assert parts("") == []
    assert around("encoder") == ""
    assert shared("", "encoder/dense") == ""
