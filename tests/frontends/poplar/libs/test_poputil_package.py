"""poputil on graphs of the Python package: mappings, regions, clones, broadcasts, graph functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import poplar
import popops
import poputil
from poplar import FLOAT, HALF, INT, Interval, TensorCloneMethod
from poplar.program import Sequence
from poputil import graphfn

TILES = 8


@pytest.fixture
def graph() -> poplar.Graph:
    """A graph of two IPUs with eight tiles each."""
    return poplar.Graph(poplar.IPUModel(numIPUs=2, tilesPerIPU=TILES).createDevice().getTarget())


def tiles(graph: poplar.Graph, tensor: Any) -> list[int]:
    """The tile of each element."""
    found = [-1] * tensor.numElements()
    for tile, intervals in enumerate(graph.getTileMapping(tensor)):
        for each in intervals:
            found[each.begin() : each.end()] = [tile] * each.size()
    return found


def ran(graph: poplar.Graph, program: Sequence, given: dict[str, Any], reads: list[Any]) -> list[np.ndarray]:
    """What tensors hold after a run, whose inputs are given by their handles."""
    for number, each in enumerate(reads):
        graph.createHostRead(f"out{number}", each)
    engine = poplar.Engine(graph, program)
    engine.load(poplar.IPUModel(numIPUs=2, tilesPerIPU=TILES).createDevice())
    for handle, values in given.items():
        engine.writeTensor(handle, values)
    engine.run()
    found = [np.zeros(tuple(each.shape), each.elementType().host_dtype) for each in reads]
    for number, each in enumerate(found):
        engine.readTensor(f"out{number}", each)
    return found


def variable(graph: poplar.Graph, shape: list[int], name: str = "", type: Any = FLOAT) -> Any:
    made = graph.addVariable(type, shape, name)
    poputil.mapTensorLinearly(graph, made)
    if name:
        graph.createHostWrite(name, made)
    return made


def test_linear_mappings_and_their_offsets(graph: poplar.Graph) -> None:
    t = graph.addVariable(FLOAT, [4, 32])
    poputil.mapTensorLinearly(graph, t)
    assert tiles(graph, t) == np.repeat(range(4), 32).tolist()
    poputil.mapTensorLinearly(graph, t, 64, 4)
    assert tiles(graph, t) == np.repeat(range(2), 64).tolist()
    poputil.mapTensorLinearlyWithOffset(graph, t, 15)
    assert tiles(graph, t) == np.repeat([15, 0, 1, 2], 32).tolist()
    poputil.mapTensorLinearlyWithOffset(graph, t, 1, False)
    assert tiles(graph, t) == np.repeat([14, 13, 12, 11], 32).tolist()
    poputil.mapTensorLinearlyWithOffset(graph, t, 64, 2, 3, True)
    assert tiles(graph, t) == np.repeat([3, 4], 64).tolist()


def test_mappings_are_calculated_without_being_set(graph: poplar.Graph) -> None:
    t, target = graph.addVariable(HALF, [130]), graph.getTarget()
    expected = [[Interval(0, 64)], [Interval(64, 130)]]
    assert poputil.calcLinearTileMapping(graph, t) == expected
    assert poputil.calcLinearTileMapping(target, [130], HALF) == expected
    assert poputil.calcLinearTileMapping(graph, [130], 64, 4) == expected
    moved = poputil.calcLinearTileMapping(graph, [130], 64, 4, 2, False)
    assert len(moved) == 16
    assert moved[13] == expected[0]
    assert moved[12] == expected[1]
    mapping, offset = poputil.calcLinearTileMappingAndNewOffset(graph, t, 15)
    assert mapping[15] == expected[0]
    assert mapping[0] == expected[1]
    assert offset == 1
    assert poputil.getTileImbalance(mapping) == 66 - 9
    poputil.mapTensorLinearly(graph, t)
    assert poputil.getTileImbalance(graph, t, 60) == 6
    assert 0 <= poputil.chooseMappingOffset(16, [3, 4]) < 16
    for tile in range(16):
        for ascending in (True, False):
            there = poputil.transformTileIndex(tile, 16, 5, ascending)
            assert poputil.invTransformTileIndex(there, 16, 5, ascending) == tile


def test_regions_are_split_in_whole_grains(graph: poplar.Graph) -> None:
    items = [Interval(0, 10), Interval(15, 20), Interval(33, 60)]
    parts = poputil.splitRegions(items, 4, 8, 6)
    assert [sum(each.size() for each in part) for part in parts] == [8, 12, 12, 10]
    assert parts[1] == [Interval(8, 10), Interval(15, 20), Interval(33, 38)]
    workers = poputil.splitRegionsBetweenWorkers(graph.getTarget(), items, 1)
    assert len(workers) == 6
    assert poputil.intervalSequenceNumElements(workers) == 42
    nested = poputil.splitRegions([items, [Interval(70, 72)]], 1, 2)
    assert [[len(one) for one in part] for part in nested] == [[3], [1, 1]]
    assert all(each.size() <= 4 for part in poputil.splitRegions(items, 2, 3, 0, 100, 5) for each in part)
    adjacent = [Interval(5, 8), Interval(0, 5), Interval(9, 9)]
    poputil.mergeAdjacentRegions(adjacent)
    assert adjacent == [Interval(0, 8)]
    assert poputil.flattenIntervals([items, adjacent]) == [*items, *adjacent]
    assert poputil.balancedPartition(11, 4) == [3, 3, 3, 2]
    shuffled = [Interval(4, 6), Interval(0, 4)]
    assert poputil.calculateUnshufflingIntervals(shuffled) == [Interval(2, 6), Interval(0, 2)]


@given(
    regions=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 40)), min_size=1, max_size=5),
    grain=st.integers(1, 8),
    most=st.integers(1, 9),
    smallest=st.integers(0, 30),
)
def test_parts_have_every_element_once(
    regions: list[tuple[int, int]], grain: int, most: int, smallest: int
) -> None:
    items, place = [], 0
    for gap, size in regions:
        items.append(Interval(place + gap, place + gap + size))
        place += gap + size
    parts = poputil.splitRegions(items, grain, most, smallest)
    every = [number for part in parts for each in part for number in range(each.begin(), each.end())]
    assert every == [number for each in items for number in range(each.begin(), each.end())]
    assert len(parts) <= most
    sizes = [sum(each.size() for each in part) for part in parts]
    assert all(size % grain == 0 for size in sizes[:-1])
    assert len(sizes) < 2 or min(sizes[:-1]) >= smallest


def test_clones_and_copies_go_to_other_ipus(graph: poplar.Graph) -> None:
    x = graph.addVariable(FLOAT, [4, 3], "x")
    graph.createHostWrite("x", x)
    for row in range(4):
        graph.setTileMapping(x[row], row + 2)
    program = Sequence()
    there = poputil.copyToIpu(graph, x, program, 1)
    copy, source, target = poputil.createIpuCopy(graph, x.reshape([1, 4, 3]).broadcast(2, 0), 1)
    program.add(poplar.program.Copy(source, target))
    twice = poputil.duplicate(graph, x, program)
    several = poputil.cloneN(graph, x, 3)
    values = np.arange(12, dtype=np.float32).reshape(4, 3)
    found = ran(graph, program, {"x": values}, [there, copy, twice])
    assert tiles(graph, there) == np.repeat([10, 11, 12, 13], 3).tolist()
    np.testing.assert_array_equal(found[0], values)
    np.testing.assert_array_equal(found[1], [values, values])
    np.testing.assert_array_equal(found[2], values)
    assert several.shape == (3, 4, 3)
    assert source.numElements() == 12
    assert tiles(graph, several[2]) == tiles(graph, x)
    assert poputil.dimIsSplitOverTiles(graph, x, 0)
    assert not poputil.dimIsSplitOverTiles(graph, x, 1)
    assert not poputil.dimIsSplitOverIPUs(graph, x, 0)
    assert poputil.dimIsSplitOverIPUs(graph, poplar.concat([x, there]), 0)
    with pytest.raises(poputil.poplibs_error, match="no IPU 2"):
        poputil.cloneToIpu(graph, x, 2)


def test_clones_in_other_graphs_and_without_aliases(graph: poplar.Graph) -> None:
    low, high = graph.createVirtualGraph(0, 4), graph.createVirtualGraph(4, 8)
    x = low.addVariable(FLOAT, [6])
    low.setTileMapping(x, 1)
    assert tiles(graph, poputil.cloneToGraph(low, high, x)) == [5] * 6
    clone, offset = poputil.cloneAndExpandAliasing(graph, x.reshape([1, 6]).broadcast(3, 0), 7)
    assert not clone.containsAliases()
    assert offset == 8
    assert tiles(graph, clone) == [1] * 6 + [7] * 12


def test_operands_lie_where_they_are_used(graph: poplar.Graph) -> None:
    whole = graph.addVariable(FLOAT, [8, 4])
    for row in range(8):
        graph.setTileMapping(whole[row], row)
    assert tiles(graph, poputil.createBroadcastOperand(graph, whole, FLOAT, 0)) == list(range(8))
    vector = poputil.createBroadcastOperand(graph, whole, HALF, 1, False, "name")
    assert set(tiles(graph, vector)) <= set(range(8))
    assert vector.elementType() is HALF
    t = graph.addVariable(FLOAT, [12])
    tracker = poputil.TensorUseTracker(16)
    assert tracker.empty()
    tracker.add(graph, 3, t[:6])
    tracker.add(graph, 5, t[6:])
    tracker.add(graph, 9, t[6:])
    tracker.mapTensorsByUse(graph, 1, 1)
    assert tiles(graph, t) == [3] * 6 + [5] * 3 + [9] * 3


def test_broadcasts_and_changes_of_shape(graph: poplar.Graph) -> None:
    a, b, c = (graph.addVariable(FLOAT, shape) for shape in ([3, 1], [4], [2, 1, 1]))
    assert [each.shape for each in poputil.broadcastToMatch(a, b)] == [(3, 4), (3, 4)]
    assert [each.shape for each in poputil.broadcastToMatch(a, b, c)] == [(2, 3, 4)] * 3
    assert poputil.broadcastToMatch(a, [5, 3, 4]).shape == (5, 3, 4)
    assert [each.shape for each in poputil.expandToMatchRanks(a, c)] == [(1, 3, 1), (2, 1, 1)]
    assert poputil.canBroadcastToMatch(a, b)
    assert not poputil.canBroadcastToMatch(b, graph.addVariable(FLOAT, [3]))
    with pytest.raises(poputil.poplibs_error, match="cannot be broadcast"):
        poputil.broadcastToMatch(a, [5, 4])
    t = graph.addVariable(FLOAT, [2, 6, 8])
    split = poputil.factorDims(t, [3, 4], 1)
    assert split.shape == (2, 2, 2, 3, 4)
    assert poputil.unfactorDims(split, 2, 1) == t
    order = np.arange(96).reshape(2, 6, 8)
    first = t.addresses().reshape(-1)[0]
    wanted = order.reshape(2, 2, 3, 2, 4).transpose(0, 1, 3, 2, 4)
    assert np.array_equal((split.addresses() - first) // 4, wanted)
    assert poputil.flattenIndex([2, 6, 8], poputil.unflattenIndex([2, 6, 8], 77)) == 77


def test_names_of_vertex_types() -> None:
    assert poputil.templateVertex("popops::Fill", HALF) == "popops::Fill<half>"
    name = poputil.templateVertex("A", poplar.UNSIGNED_INT, True, 3, "B", popops.BinaryOpType.ADD)
    assert name == "A<unsigned int,true,3,B,popops::expr::BinaryOpType::ADD>"
    assert poputil.templateVertex("A", popops.Operation.ADD) == "A<popops::Operation::ADD>"
    assert poputil.templateVertex("A") == "A"


def test_accuracy_of_halves(graph: poplar.Graph) -> None:
    target = graph.getTarget()
    assert poputil.castToDeviceHalfValue(target, 1.0004) == 1.0
    assert poputil.checkAccuracyWhenCast(target, 1.0004, FLOAT, HALF, 1e-3)
    assert not poputil.checkAccuracyWhenCast(target, 1.0004, FLOAT, HALF, 1e-5)
    assert not poputil.checkAccuracyWhenCast(target, 1e6, FLOAT, HALF, 0.5)
    assert poputil.checkAccuracyWhenCast(target, 1e6, HALF, FLOAT, 0)
    with pytest.raises(poputil.poplibs_error, match="int"):
        poputil.checkAccuracyWhenCast(target, 1, INT, HALF, 1)


def test_groupings_and_parts_in_memory(graph: poplar.Graph) -> None:
    t = graph.addVariable(FLOAT, [6, 16])
    assert poputil.detectInnermostGrouping(graph, t) == 16
    assert poputil.detectInnermostGrouping(graph, t.transpose()) == 1
    grouped = graph.addVariable(FLOAT, [4, 6, 4]).dimShuffle([1, 0, 2]).reshape([6, 16])
    assert poputil.detectInnermostGrouping(graph, grouped) == 4
    assert poputil.detectDimGroupings(graph, grouped) == [(1, 4), (0, 6), (1, 4)]
    assert poputil.detectDimGroupings(graph, t.transpose()) == [(0, 16), (1, 6)]
    made = poputil.createPartitionableTensor(graph, FLOAT, [5, 4], [2, 2])
    parts: list[Any] = []
    poputil.iterateTensorPartitions(made, [2, 2], lambda index, part: parts.append((index, part)))
    assert [index for index, _ in parts] == [[0, 0], [0, 1], [1, 0], [1, 1]]
    assert all(len(part.getContiguousRegions()) == 1 for _, part in parts)
    assert [tuple(part.shape) for _, part in parts] == [(3, 2), (3, 2), (2, 2), (2, 2)]


@pytest.mark.parametrize("inlined", [False, True])
def test_graph_functions_are_called_with_several_arguments(graph: poplar.Graph, inlined: bool) -> None:
    x, y = variable(graph, [4], "x"), variable(graph, [4], "y")

    def scale(args: list[Any], program: Sequence) -> None:
        popops.mulInPlace(graph, args[1], args[0], program)
        args[2] = popops.add(graph, args[0], 1.0, program)

    made = graphfn.VoidFunction(
        graph, [graphfn.input(x), graphfn.inout(y), graphfn.created()], scale, inlined
    )
    square = graphfn.TensorFunction(
        graph, [graphfn.input(x)], lambda args, program: popops.square(graph, args[0], program), inlined
    )
    program = Sequence()
    args = [x, y, None]
    made(args, program)
    made([y, x, None], program)
    squared = square([y], program)
    given_values = {"x": np.float32([1, 2, 3, 4]), "y": np.float32([2, 2, 2, 2])}
    found = ran(graph, program, given_values, [x, y, args[2], squared])
    np.testing.assert_array_equal(found[1], [2, 4, 6, 8])
    np.testing.assert_array_equal(found[0], [2, 8, 18, 32])
    np.testing.assert_array_equal(found[2], [2, 3, 4, 5])
    np.testing.assert_array_equal(found[3], [4, 16, 36, 64])


def test_unknown_names_name_the_page() -> None:
    with pytest.raises(AttributeError, match=r"docs/poplar-libs\.md"):
        poputil.frobnicate
    assert TensorCloneMethod.CREATE_NEW_ORDER
