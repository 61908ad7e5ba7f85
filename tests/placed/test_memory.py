"""Memory of placed programs: uses that add up, lifetimes, and code."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.placed.programs import copying, reading, runs, small_hardware, variables, vertices

from tremula.hardware.catalogue import chip
from tremula.memory.categories import STACK_BYTES_PER_TILE
from tremula.placed.estimate import PlacedEstimate
from tremula.placed.hardware import hardware_of
from tremula.placed.lifetimes import lifetimes_of, order_of
from tremula.placed.memory import VERTEX_CODE_BYTES, Use
from tremula.program.placed import ComputeSet, Copy, FieldRuns, Library, PlacedProgram
from tremula.program.placed_steps import Free, Repeat, RunCopy, RunLibrary, Steps
from tremula.program.work import MatMul

TILES = st.lists(st.integers(0, 15), min_size=1, max_size=40)


@given(TILES, st.integers(1, 8))
def test_variables_take_their_bytes_on_their_tiles(tiles: list[int], element_bytes: int) -> None:
    names = variables(tiles, element_bytes=element_bytes)
    estimate = PlacedEstimate(
        PlacedProgram("p", 1, 16, names, programs=[Free(0, "nothing")]), small_hardware()
    )
    expected = element_bytes * np.bincount(tiles, minlength=16)
    assert estimate.memory.tiles[Use.VARIABLES].tolist() == expected.tolist()


@given(TILES, st.booleans())
def test_a_tile_has_at_most_what_its_fullest_moment_needs(tiles: list[int], lasting: bool) -> None:
    names = variables(tiles, [0] * len(tiles), always_live=lasting)
    program = copying(names, [(runs((0, len(tiles), 1)), runs((len(tiles), len(tiles), 1)))])
    memory = PlacedEstimate(program, small_hardware()).memory
    assert (memory.most >= memory.total).all()
    assert memory.total.sum() == sum(int(each.sum()) for each in memory.tiles.values())


def test_variables_that_follow_each_other_share_their_place() -> None:
    # v0 -> v1 -> v2 -> v3, none of them needed any more
    names = variables(*([[0] * 100] * 4), always_live=False)
    steps = [(runs((100 * n, 100, 1)), runs((100 * (n + 1), 100, 1))) for n in range(3)]
    program = copying(names, steps)
    memory = PlacedEstimate(program, small_hardware()).memory
    assert memory.tiles[Use.VARIABLES].sum() == 0
    assert memory.tiles[Use.TEMPORARY_VARIABLES][0] == 800
    lasting = PlacedEstimate(copying(variables(*([[0] * 100] * 4)), steps), small_hardware()).memory
    assert lasting.tiles[Use.VARIABLES][0] == 1_600


def test_what_a_loop_needs_from_outside_is_alive_in_all_of_it() -> None:
    names = variables(*([[0] * 4] * 3), always_live=False)
    copies = [Copy("", runs((0, 4, 1)), runs((4, 4, 1))), Copy("", runs((4, 4, 1)), runs((8, 4, 1)))]
    body = Steps(3, (RunCopy(4, 1), Free(5, "a"), Free(6, "b")))
    program = PlacedProgram(
        "p", 1, 16, names, copies=copies, programs=[Steps(0, (RunCopy(1, 0), Repeat(2, 3, body)))]
    )
    order = order_of(program)
    found = lifetimes_of(program, order)
    assert order.nodes == (1, 4, 5, 6)
    assert (found.first.tolist(), found.last.tolist()) == ([0, 0, 1], [0, 3, 1])


def test_code_and_state_of_vertices() -> None:
    names = variables([1] * 6)
    field = FieldRuns("in", True, False, runs((0, 2, 1), (2, 2, 1), (4, 2, 1)), np.array([0, 0, 1]))
    joined = FieldRuns(
        "list",
        True,
        False,
        runs((0, 1, 1), (2, 1, 1), (4, 2, 1)),
        np.array([0, 0, 1]),
        edge=np.array([0, 0, 1]),
    )
    batch = vertices([1, 2], [5.0, 5.0], fields=(field, joined), state_bytes=np.array([8, 16]))
    program = PlacedProgram("p", 1, 16, names, [ComputeSet("cs", [batch])], programs=[Free(0, "nothing")])
    memory = PlacedEstimate(program, small_hardware()).memory
    assert memory.tiles[Use.VERTEX_STATE][:4].tolist() == [0, 12, 20, 0]
    # three edges for the first vertex (one has two parts), two for the second
    assert memory.tiles[Use.EDGE_POINTERS][:4].tolist() == [0, 24, 16, 0]
    assert memory.tiles[Use.VERTEX_CODE][:4].tolist() == [0, VERTEX_CODE_BYTES, VERTEX_CODE_BYTES, 0]
    assert set(memory.tiles[Use.STACKS].tolist()) == {STACK_BYTES_PER_TILE}


def test_a_model_that_does_not_size_code_has_none() -> None:
    names = variables([0] * 10, [1] * 10)
    program = reading(names, [2], [(0, 10, 1)])
    bare = hardware_of(chip("mk2").with_tiles(16), sized_code=False)
    memory = PlacedEstimate(program, bare).memory
    for use in (Use.VERTEX_CODE, Use.EXCHANGE_CODE, Use.CONTROL_CODE, Use.HOST_CODE):
        assert memory.tiles[use].sum() == 0
    assert PlacedEstimate(program, small_hardware()).memory.tiles[Use.EXCHANGE_CODE].sum() > 0


def test_what_comes_from_other_tiles_takes_a_buffer_while_it_is_needed() -> None:
    names = variables([0] * 10)
    memory = PlacedEstimate(reading(names, [2], [(0, 10, 1)]), small_hardware()).memory
    assert memory.tiles[Use.BUFFERS][:4].tolist() == [0, 0, 40, 0]


def test_library_functions_that_do_the_same_share_their_code() -> None:
    names = variables([0] * 10)
    work = MatMul(groups=1, rows=64, inner=64, columns=64, dtype="fp32")

    def code(*works: MatMul) -> tuple[int, int]:
        libraries = [Library("poplin::matMul", (each,)) for each in works]
        steps = Steps(0, tuple(RunLibrary(1 + number, number) for number in range(len(works))))
        program = PlacedProgram("p", 1, 16, names, libraries=libraries, programs=[steps])
        memory = PlacedEstimate(program, small_hardware()).memory
        listed = sum(size for size, _ in memory.vertex_types.values())
        return int(memory.tiles[Use.VERTEX_CODE].sum()), listed

    once, listed = code(work)
    assert once > 0
    assert 0.95 * once <= listed <= once
    assert code(work, work)[0] == once
    assert code(work, replace(work, rows=128))[0] > once
