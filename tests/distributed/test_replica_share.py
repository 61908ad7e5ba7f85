"""Which replicas of a run are in an instance."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tremula.distributed.replica_share import ReplicaShare
from tremula.errors import Error


@given(instances=st.integers(1, 6), local=st.integers(1, 5), data=st.data())
def test_instances_share_out_all_replicas(instances: int, local: int, data: st.DataObject) -> None:
    total = instances * local
    shares = [ReplicaShare(total, number * local, local) for number in range(instances)]
    for replica in range(total):
        assert [share.instance for share in shares if share.has(replica)] == [shares[0].owner(replica)]
    assignment = data.draw(st.lists(st.integers(0, 3), min_size=total, max_size=total))
    members = {
        group: {r // local for r, each in enumerate(assignment) if each == group} for group in assignment
    }
    for share in shares:
        assert share.crosses(assignment) == any(len(owners) > 1 for owners in members.values())
        assert share.several == (instances > 1)


@pytest.mark.parametrize("numbers", [(4, 0, 3), (4, 1, 2), (4, 4, 2), (0, 0, 1), (2, 0, 0)])
def test_numbers_that_do_not_fit_are_refused(numbers: tuple[int, int, int]) -> None:
    with pytest.raises(Error, match="replica"):
        ReplicaShare(*numbers)


def test_the_launcher_must_have_started_as_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POPDIST_NUM_TOTAL_REPLICAS", "4")
    monkeypatch.setenv("POPDIST_NUM_LOCAL_REPLICAS", "2")
    ReplicaShare(8, 4, 4).check_launched()
    with pytest.raises(Error, match="makes 4 instances; but 2 were started"):
        ReplicaShare(4, 0, 1).check_launched()
