"""Collectives give each replica of a group what NumPy gives on the tensors of all of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gcl
from gcl import CollectiveOperator as Op
from gcl import CommGroup, CommGroupType
from tremula.frontends.poplar.execute import values
from tremula.frontends.poplar.graph import mapping
from tremula.frontends.poplar.libs.errors import PoplibsError
from tremula.frontends.poplar.libs.gcl.groups import groups_of
from tremula.frontends.poplar.libs.gcl.links import between_ipus
from tremula.frontends.poplar.types import INT
from tremula.program.placed import BetweenIpus

from .running import LAYOUTS, Case, arrays

REPLICAS = 4


class Replicas(Case):
    """A graph of several replicas, each of which starts with numbers of its own."""

    def __init__(self) -> None:
        super().__init__(replicas=REPLICAS, ipus=REPLICAS)

    def different(self, shape: tuple[int, ...], layout: str = "plain", dtype: Any = np.float32) -> Any:
        """A tensor, and what each replica has in it."""
        view = self.tensor(np.zeros(shape, dtype), layout=layout)
        given = [np.rint(arrays(shape, seed)).astype(dtype) for seed in range(REPLICAS)]
        self.waiting = [*getattr(self, "waiting", []), (view, given)]
        return view, given

    def run(self, times: int = 1) -> Replicas:
        from ..conftest import started

        assert self.works is not None
        self.engine = started(self.graph, self.program)
        for view, given in getattr(self, "waiting", []):
            for arena, each in zip(self.engine._loaded.arenas, given, strict=True):
                values.writer(view, arena)(each)
        for _ in range(times):
            self.engine.run()
        return self

    def all(self, view: Any) -> list[np.ndarray]:
        """What each replica has."""
        return [values.reader(view, arena)().copy() for arena in self.engine._loaded.arenas]


def test_groups() -> None:
    def groups(*arguments: Any) -> list[list[int]]:
        return groups_of(CommGroup(*arguments), 8)

    assert groups() == [list(range(8))]
    assert groups(CommGroupType.CONSECUTIVE, 4) == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert groups(CommGroupType.ORTHOGONAL, 2) == [[0, 4], [1, 5], [2, 6], [3, 7]]
    assert groups(CommGroupType.CONSECUTIVE, 2, 2) == [[0, 2], [1, 3], [4, 6], [5, 7]]
    assert groups(CommGroupType.NONE) == [[each] for each in range(8)]
    with pytest.raises(PoplibsError, match="groups of 3"):
        groups(CommGroupType.CONSECUTIVE, 3)


REFERENCE = {
    Op.ADD: np.sum, Op.MEAN: np.mean, Op.MUL: np.prod, Op.MIN: np.min, Op.MAX: np.max,
    Op.SQUARE_ADD: lambda x, axis: np.sum(np.square(x), axis),
}  # fmt: skip


@pytest.mark.parametrize("operator", list(REFERENCE))
@pytest.mark.parametrize("layout", ["plain", "joined"])
def test_all_reduce_and_its_forms(operator: Any, layout: str) -> None:
    case = Replicas()
    view, given = case.different((3, 5), layout)
    twin, _ = case.different((3, 5), layout)
    pairs = CommGroup(CommGroupType.CONSECUTIVE, 2)
    made = gcl.allReduceCrossReplica(case.graph, view, operator, case.program)
    by_pair = gcl.allReduceCrossReplica(case.graph, [view, view], operator, case.program, pairs, "name", {})
    out = case.tensor(np.zeros((3, 5), np.float32), layout=layout)
    gcl.allReduceToDestinationCrossReplica(case.graph, view, out, operator, case.program, [], "name")
    gcl.allReduceInPlaceCrossReplica(case.graph, twin, operator, case.program)
    case.run()
    whole = REFERENCE[operator](np.stack(given), 0)
    for each in (made, out, twin):
        for result in case.all(each):
            np.testing.assert_allclose(result, whole, rtol=1e-6)
    for replica, result in enumerate(case.all(by_pair[1])):
        first = replica // 2 * 2
        np.testing.assert_allclose(
            result, REFERENCE[operator](np.stack(given[first : first + 2]), 0), rtol=1e-6
        )


@pytest.mark.parametrize("layout", LAYOUTS)
def test_scatter_gather_exchange_and_broadcast(layout: str) -> None:
    case = Replicas()
    vector, given = case.different((10,), layout)
    rows, tables = case.different((4, 3), layout, np.int32)
    across = CommGroup(CommGroupType.ORTHOGONAL, 2)
    scattered = gcl.reduceScatterCrossReplica(case.graph, vector, Op.ADD, case.program)
    own = gcl.reduceScatterCrossReplica(case.graph, vector, Op.LOCAL, case.program, None)
    back = gcl.allGatherCrossReplica(case.graph, scattered, case.program)
    gathered = gcl.allGatherCrossReplica(case.graph, rows, case.program, across)
    exchanged = gcl.allToAllCrossReplica(case.graph, rows, case.program)
    last = gcl.broadcastCrossReplica(case.graph, rows, case.program, CommGroup(), 3)
    case.run()
    total = np.zeros(12)
    total[:10] = np.sum(given, 0)
    for replica in range(REPLICAS):
        np.testing.assert_array_equal(case.all(scattered)[replica], total[replica * 3 : replica * 3 + 3])
        mine = np.append(given[replica], [0, 0])[replica * 3 : replica * 3 + 3]
        np.testing.assert_array_equal(case.all(own)[replica], mine)
        np.testing.assert_array_equal(case.all(back)[replica].ravel(), total)
        pair = [tables[replica % 2], tables[replica % 2 + 2]]
        np.testing.assert_array_equal(case.all(gathered)[replica], pair)
        np.testing.assert_array_equal(case.all(exchanged)[replica], [each[replica] for each in tables])
        np.testing.assert_array_equal(case.all(last)[replica], tables[3])


def test_collectives_within_a_replica_end_on_their_ipus() -> None:
    case = Case(ipus=2)
    x = arrays((2, 5), 0)
    view = case.tensor(x)
    summed = gcl.allReduceWithinReplica(case.graph, view, Op.ADD, case.program)
    chunks = gcl.reduceScatterWithinReplica(case.graph, view, Op.ADD, case.program)
    gathered = gcl.allGatherWithinReplica(case.graph, chunks, case.program, "name", {})
    case.run()
    np.testing.assert_allclose(case[summed], [x.sum(0)] * 2, rtol=1e-6)
    assert [each.tensor.shape for each in chunks.getChunks()] == [(3,), (2,)]
    np.testing.assert_allclose(case[gathered], [x.sum(0)] * 2, rtol=1e-6)
    tiles = mapping.tiles_of(case.graph.memory, summed).reshape(2, 5) // 16
    assert (tiles == [[0], [1]]).all()


def test_tiles_for_input_and_output_are_spread_and_do_not_overlap() -> None:
    case = Case()
    wide = Case(ipus=2)
    first, rest = gcl.perIPUTiles(case.graph, 0, 6), gcl.perIPUTiles(case.graph, 6, 10)
    assert sorted([*first, *rest]) == list(range(16))
    assert first == sorted(first)
    assert gcl.perIPUTiles(wide.graph, 0, 16) == list(range(16))
    assert gcl.getMinIoTiles(case.graph) == 16
    with pytest.raises(PoplibsError, match="17 tiles"):
        gcl.perIPUTiles(case.graph, 0, 17)


def test_what_cannot_be_exchanged_is_an_error() -> None:
    case = Replicas()
    rows, truth = case.tensor(arrays((3, 2), 0)), case.tensor(np.array([True]))
    for wrong, text in (
        (lambda: gcl.allToAllCrossReplica(case.graph, rows, case.program), "first dimension"),
        (lambda: gcl.reduceScatterCrossReplica(case.graph, rows, Op.ADD, case.program), "flatten"),
        (lambda: gcl.allReduceCrossReplica(case.graph, truth, Op.ADD, case.program), "type bool"),
        (lambda: gcl.broadcastCrossReplica(case.graph, rows, case.program, CommGroup(), 9), "no replica 9"),
        (
            lambda: gcl.allReduceToDestinationCrossReplica(
                case.graph, rows, case.graph.add_variable(INT, (6,)), Op.ADD, case.program
            ),
            "type int",
        ),
    ):
        with pytest.raises(PoplibsError, match=text):
            wrong()


def test_links_are_costed_with_the_data_of_each_replica() -> None:
    case = Replicas()
    view, _ = case.different((64, 64))
    gcl.allReduceCrossReplica(case.graph, view, Op.ADD, case.program)
    gcl.allReduceCrossReplica(case.graph, view, Op.ADD, case.program, CommGroup(CommGroupType.CONSECUTIVE, 2))
    gcl.allReduceCrossReplica(case.graph, view, Op.LOCAL, case.program)
    found = [between_ipus(each.call) for each in case.program.programs]
    assert found == [
        (BetweenIpus("all_reduce", 16384, 4),),
        (BetweenIpus("all_reduce", 16384, 2),),
        (),
    ]
    case.run()
    several, pair, local = list(case.engine.model.leaf_cycles().values())[-3:]
    assert several > pair > local
