"""Device ids follow the numbering law that real logs show."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tremula.errors import Error
from tremula.machine.device_ids import child_of, device, devices, of_size

SIZES = st.sampled_from([1, 2, 4, 8, 16, 64, 128, 256])


def test_ids_in_a_partition_of_64():
    # ids of a pod64 as its users list them; "Attached to device 96" (4 IPUs) and 120 (16) in published logs
    assert [of_size(size, 64)[0].id for size in (1, 2, 4, 8, 16, 32, 64)] == [0, 64, 96, 112, 120, 124, 126]
    assert len(devices(64)) == 127


def test_the_four_ipus_of_one_machine():
    # gc-info on one IPU-Machine: 0 to 3, two pairs, and 6 for all four
    assert [each.ipus for each in devices(4)] == [(0,), (1,), (2,), (3,), (0, 1), (2, 3), (0, 1, 2, 3)]


@given(SIZES)
def test_every_id_leads_to_its_device_and_back(size):
    for each in devices(size):
        assert device(each.id, size) == each
        assert each in of_size(len(each.ipus), size)


@given(SIZES, st.data())
def test_children_share_their_parent_out(size, data):
    parent = data.draw(st.sampled_from(devices(size)))
    part = data.draw(st.sampled_from([n for n in (1, 2, 4, 8) if n <= len(parent.ipus)]))
    children = [child_of(parent.id, part, i, size) for i in range(len(parent.ipus) // part)]
    assert tuple(ipu for child in children for ipu in child.ipus) == parent.ipus
    with pytest.raises(Error, match="is not among them"):
        child_of(parent.id, part, len(children), size)


def test_an_id_that_is_not_there():
    with pytest.raises(Error, match=r"no device 7: 4 IPU\(s\) have the ids 0 to 6"):
        device(7, 4)
    with pytest.raises(Error, match="no device -1"):
        device(-1, 4)


def test_a_number_of_ipus_that_is_no_power_of_two():
    assert [each.ipus for each in devices(3)] == [(0,), (1,), (2,), (0, 1)]
    assert of_size(3, 4) == ()
