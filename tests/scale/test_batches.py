"""Batches of a study: every layout of a size does the same work, and what cannot be divided is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from tremula.errors import Error
from tremula.program.stages import fewest_micro_batches
from tremula.scale.batches import Batches
from tremula.scale.question import STRONG, WEAK, ScaleQuestion

whole = some.integers(1, 64)


@given(whole, whole, whole, some.sampled_from([1, 2, 4, 8]))
def test_weak_scaling_gives_every_ipu_the_same_work(
    micro_batch: int, per_ipu: int, replicas: int, stages: int
) -> None:
    batches, ipus = Batches(micro_batch, per_ipu, 0), replicas * stages
    turns = batches.accumulation(WEAK, ipus, stages)
    assert turns * replicas * micro_batch == batches.samples(WEAK, ipus) == micro_batch * per_ipu * ipus


@given(whole, some.integers(1, 4096), whole, some.sampled_from([1, 2, 4, 8]))
def test_strong_scaling_shares_out_the_same_batch_or_says_that_it_cannot(
    micro_batch: int, batch: int, replicas: int, stages: int
) -> None:
    batches, ipus = Batches(micro_batch, 1, batch), replicas * stages
    if batch % (replicas * micro_batch):
        with pytest.raises(Error, match=f"{batch:,} cannot be divided"):
            batches.accumulation(STRONG, ipus, stages)
    else:
        turns = batches.accumulation(STRONG, ipus, stages)
        assert turns * replicas * micro_batch == batch == batches.samples(STRONG, ipus)


def test_a_pipeline_needs_its_micro_batches() -> None:
    """PopART's documentation of pipelining: S forward stages make 2S - 1 when training."""
    assert [fewest_micro_batches(stages, training=True) for stages in (1, 2, 4)] == [1, 3, 7]
    assert [fewest_micro_batches(stages, training=False) for stages in (1, 2, 4)] == [1, 2, 4]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"ipus": ()}, "ipus has no value"),
        ({"ipus": (0,)}, "ipus must be a whole number"),
        ({"ipus": (None,)}, "ipus must be whole numbers"),
        ({"ipus": (2, 2)}, "twice"),
        ({"ipus": (1_000_000,)}, "are too many"),
        ({"stages": (True,)}, "stages must be a whole number"),
        ({"mode": ("weakly",)}, "mode must be one of weak, strong"),
        ({"target": ()}, "target has no value"),
        ({"micro_batch": (1, 2)}, "one micro_batch"),
        ({"replicas": 2}, "chooses replicas"),
        ({"mode": ("weak",), "global_batch": 8}, "only weak scaling was requested"),
        ({"per_ipu": 0}, "per_ipu must be a whole number"),
        ({"precision": "fp8"}, "precision must be one of"),
        ({"recompute": "some"}, "recompute must be one of"),
        ({"ipus": tuple(range(1, 400))}, "at most 500"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused(asked: dict[str, object], said: str) -> None:
    with pytest.raises(Error, match=said):
        ScaleQuestion.of(**asked)  # type: ignore[arg-type]
