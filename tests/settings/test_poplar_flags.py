"""TF_POPLAR_FLAGS: what is accepted, what it means, and what is said of the rest."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tremula.errors import Error
from tremula.settings.environment import Environment
from tremula.settings.poplar_flags import FLAGS, BadFlag, by_name, parse
from tremula.settings.variables import VARIABLES


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("", {}),
        ("  --use_ipu_model  ", {"use_ipu_model": True}),
        ("--use_ipu_model=false --help=1", {"use_ipu_model": False, "help": True}),
        ("--max_infeed_threads=-1", {"max_infeed_threads": -1}),
        ("--synthetic_data_categories=infeed,seed", {"synthetic_data_categories": ("infeed", "seed")}),
        (
            "--use_synthetic_data --synthetic_data_initializer=2",
            {"use_synthetic_data": True, "synthetic_data_initializer": 2.0},
        ),
        ("--executable_cache_path='/a b/c'", {"executable_cache_path": "/a b/c"}),
        ("--show_progress_bar=TRUE", {"show_progress_bar": "true"}),
    ],
)
def test_flags_have_types(text: str, values: dict[str, object]) -> None:
    assert parse(text) == values


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("--use_ipu_modle", "Did you mean --use_ipu_model?"),
        ("use_ipu_model", "unknown flag 'use_ipu_model'"),
        ("--executable_cache=/tmp", "Did you mean --executable_cache_path?"),
        ("--use_ipu_model=maybe", "takes no value, or true or false, not 'maybe'"),
        ("--log_cycle_count=x", "takes a whole number"),
        ("--on_demand_device_poll_time=99", "of 100 or more"),
        ("--synthetic_data_categories=feed", "not 'feed'"),
        ("--synthetic_data_initializer=random", "needs --use_synthetic_data"),
        ("--executable_cache_path", "needs a value"),
        ("--executable_cache_path='a", "unbalanced quotes"),
    ],
)
def test_what_cannot_be_followed_is_refused_with_a_hint(text: str, said: str) -> None:
    with pytest.raises(BadFlag) as caught:
        parse(text)
    assert said in str(caught.value)


def test_the_environment_names_the_variable() -> None:
    environment = Environment(VARIABLES, {"TF_POPLAR_FLAGS": "--use_synthetic_dta"})
    with pytest.raises(Error, match=r"TF_POPLAR_FLAGS.*Did you mean --use_synthetic_data\?"):
        environment.get("TF_POPLAR_FLAGS")


@given(st.sampled_from(FLAGS), st.integers(0, 30), st.characters(categories=["Ll"]))
def test_a_misspelt_name_is_never_taken_for_another(flag, place, letter) -> None:
    spelt = flag.name[:place] + letter + flag.name[place + 1 :]
    if any(spelt == each.name for each in FLAGS):
        return
    with pytest.raises(BadFlag, match="unknown flag"):
        parse(f"--{spelt}")


def test_every_flag_says_what_becomes_of_it() -> None:
    for flag in FLAGS:
        assert flag.effect in ("honoured", "recorded") or flag.effect.startswith("no effect: ")
        assert flag.meaning.endswith(".")
        assert by_name(flag.name) is flag
