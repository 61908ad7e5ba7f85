"""Which virtual IPUs a machine has: default, configuration file, environment."""

import pytest

from tremula.errors import Error
from tremula.machine import systems


@pytest.fixture(autouse=True)
def unchosen(machine, monkeypatch):
    """Nobody has chosen a system."""
    monkeypatch.delenv("TREMULA_SYSTEM")


def test_a_bow_pod16_by_default():
    found = systems.current()
    assert (found.name, found.ipus, found.chosen_by) == ("bow-pod16", 16, "default")
    assert found.hardware.chip.name == "bow"
    assert not systems.model_only()


def test_a_choice_lasts_until_it_is_forgotten():
    systems.choose("pod64")
    assert systems.current().ipus == 64
    assert systems.current().chosen_by == str(systems.config_file())
    systems.forget()
    systems.forget()
    assert systems.current().name == "bow-pod16"


def test_the_environment_goes_before_the_file(monkeypatch):
    systems.choose("pod64")
    monkeypatch.setenv("TREMULA_SYSTEM", "bow-pod256")
    assert systems.current().ipus == 256
    monkeypatch.setenv("TREMULA_VIRTUAL_IPUS", "16")
    assert (systems.current().name, systems.current().ipus) == ("bow-pod16", 16)
    monkeypatch.setenv("TREMULA_VIRTUAL_IPUS", "2")
    assert (systems.current().name, systems.current().ipus) == ("bow2000:2", 2)


def test_a_chip_stands_for_its_smallest_system(monkeypatch):
    monkeypatch.setenv("TREMULA_SYSTEM", "mk1")
    assert systems.current().name == "c2"


@pytest.mark.parametrize("name", ["POPTORCH_IPU_MODEL", "POPTORCH_SMALL_IPU_MODEL"])
def test_a_model_on_request(monkeypatch, name):
    monkeypatch.setenv(name, "1")
    assert systems.model_only()


def test_no_ipus_at_all(monkeypatch):
    monkeypatch.setenv("TREMULA_VIRTUAL_IPUS", "0")
    assert systems.current() is None
    assert systems.model_only()


def test_what_does_not_exist_is_refused_and_changes_nothing(monkeypatch):
    systems.choose("pod16")
    with pytest.raises(Error, match="no system or chip called 'pod17'"):
        systems.choose("pod17")
    assert systems.current().name == "pod16"
    monkeypatch.setenv("TREMULA_VIRTUAL_IPUS", "257")
    with pytest.raises(Error, match="at most 256"):
        systems.current()


@pytest.mark.parametrize("text", ["system = 3", "system = ", "\xff", "other = 'pod16'"])
def test_a_broken_choice_is_named(text):
    path = systems.config_file()
    path.parent.mkdir(parents=True)
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(Error, match=r"machine\.toml"):
        systems.current()


def test_a_word_gives_folders_of_its_own(monkeypatch):
    shared = systems.folder_of(systems.current())
    monkeypatch.setenv("TREMULA_OWN_SYSTEM", "../mine" + "x" * 300)
    own = systems.folder_of(systems.current())
    assert own != shared
    assert own.parent == shared.parent
