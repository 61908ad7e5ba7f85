"""Partitions: a system is whole until somebody divides it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tremula.errors import Error
from tremula.machine import systems
from tremula.machine.partitions import create, named, partitions, remove, selected
from tremula.machine.systems import folder_of


@pytest.fixture
def pod16(machine, monkeypatch):
    monkeypatch.setenv("TREMULA_SYSTEM", "bow-pod16")
    return systems.current()


def test_an_undivided_system_is_one_partition(pod16):
    (whole,) = partitions(pod16)
    assert (whole.name, whole.first_ipu, whole.size, whole.reconfigurable) == ("p16", 0, 16, True)
    assert selected(pod16) == whole
    with pytest.raises(Error, match="undivided"):
        remove(pod16, "p16")


def test_partitions_take_the_first_place_that_fits(pod16):
    assert [create(pod16, f"p{i}", size).first_ipu for i, size in enumerate((4, 8, 4))] == [0, 8, 4]
    with pytest.raises(Error, match=r"no room for 1 IPU\(s\): 16 of the 16 IPUs.*p0, p1, p2"):
        create(pod16, "more", 1)
    assert remove(pod16, "p2").first_ipu == 4
    assert create(pod16, "again", 2, index=3).first_ipu == 6
    assert [each.name for each in partitions(pod16)] == ["p0", "again", "p1"]


def test_which_one_a_program_uses(pod16, monkeypatch):
    create(pod16, "mine", 4)
    assert selected(pod16).name == "mine"
    create(pod16, "theirs", 4)
    with pytest.raises(Error, match=r"2 partitions \(mine, theirs\).*IPUOF_VIPU_API_PARTITION_ID"):
        selected(pod16)
    monkeypatch.setenv("IPUOF_VIPU_API_PARTITION_ID", "theirs")
    assert selected(pod16).name == "theirs"
    assert selected(pod16, "mine").name == "mine"
    with pytest.raises(Error, match="no partition 'other'; the partitions are mine, theirs"):
        named(pod16, "other")


def test_a_name_from_another_cluster_is_told_and_not_followed(pod16, monkeypatch, caplog):
    monkeypatch.setenv("IPUOF_VIPU_API_PARTITION_ID", "from-another-cluster")
    assert selected(pod16).name == "p16"


@pytest.mark.parametrize(
    ("name", "size", "more", "why"),
    [
        ("p", 3, {}, "power of two"),
        ("p", 0, {}, "power of two"),
        ("p", 32, {}, "fewer than 32"),
        ("a b", 4, {}, "is not a valid partition name"),
        ("", 4, {}, "is not a valid partition name"),
        ("p", 4, {"gcds": 3}, "graph compile domains"),
        ("p", 4, {"sync_type": "fast"}, "Unknown sync type 'fast'"),
        ("p", 4, {"index": 4}, "no room"),
    ],
)
def test_what_cannot_be(pod16, name, size, more, why):
    with pytest.raises(Error, match=why):
        create(pod16, name, size, **more)
    assert [each.name for each in partitions(pod16)] == ["p16"]


def test_a_name_is_given_once(pod16):
    create(pod16, "p", 4)
    with pytest.raises(Error, match="already"):
        create(pod16, "p", 4)


@pytest.mark.parametrize(
    "text",
    ["", "[]", '{"partitions": 3}', '{"partitions": [{"name": "p"}]}', '{"partitions": [null]}', "\x00"],
)
def test_a_file_that_is_no_list(pod16, text):
    (folder_of(pod16) / "partitions.json").write_text(text)
    with pytest.raises(Error, match=r"partitions\.json"):
        partitions(pod16)


@given(
    st.fixed_dictionaries(
        {
            "name": st.text(max_size=8),
            "first_ipu": st.integers() | st.none(),
            "size": st.integers(-1, 64),
            "gcds": st.integers(0, 4),
            "allocation": st.text(max_size=3),
            "sync_type": st.sampled_from(["c2-compatible", "x"]),
            "reconfigurable": st.booleans(),
        }
    )
)
def test_what_is_read_lies_within_the_system(tmp_path_factory, entry):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TREMULA_STATE_DIR", str(tmp_path_factory.mktemp("state")))
        patch.setenv("TREMULA_SYSTEM", "bow-pod16")
        system = systems.current()
        (folder_of(system) / "partitions.json").write_text(json.dumps({"partitions": [entry]}))
        try:
            (found,) = partitions(system)
        except Error:
            return
        assert found.first_ipu >= 0
        assert found.first_ipu + found.size <= 16
