"""Arrays between instances: sums in one order, and exchanges that have names."""

from __future__ import annotations

from typing import Any


def test_sums_keep_types_and_shapes(run: Any) -> None:
    finished = run(
        """
        import numpy as np
        from tremula.distributed import arrays
        own = popdist.getInstanceIndex() + 1
        given = [np.full((2, 1), own, np.float32), np.array(own, np.int16), np.ones(3, np.float32), np.zeros(0)]
        sums = arrays.sums(given)
        leave([
            [(str(each.dtype), each.shape, each.tolist()) for each in sums],
            arrays.gathered(np.array([own])).tolist(),
            [each.tolist() for each in given[:2]],
        ])
        """
    )
    assert [each.code for each in finished] == [0, 0], finished[0].err
    for number, each in enumerate(finished):
        sums, gathered, given = each.left
        assert [tuple(s[:2]) for s in sums] == [
            ("float32", (2, 1)), ("int16", ()), ("float32", (3,)), ("float64", (0,)),
        ]  # fmt: skip
        assert [s[2] for s in sums] == [[[3.0], [3.0]], 3, [2.0, 2.0, 2.0], []]
        assert gathered == [[1], [2]]
        assert given == [[[number + 1.0]] * 2, number + 1]


def test_names_match_in_any_order(run: Any) -> None:
    finished = run(
        """
        import numpy as np
        from tremula.distributed.named_exchange import BROADCAST, CONCATENATE, SUM, exchange
        from tremula.errors import Error
        own = popdist.getInstanceIndex()
        talk = exchange()
        names = ["first", "second", "second"]
        order = [0, 1, 2] if own else [1, 2, 0]  # those of one name keep their order
        tickets = {n: talk.post(names[n], np.array([n, own]), SUM) for n in order}
        found = {n: talk.collect(tickets[n]).tolist() for n in reversed(order)}
        root = talk.post("root", np.array(own), BROADCAST, 1)
        unequal = talk.post("unequal", np.full(own, own), CONCATENATE)
        differs = talk.post("differs", np.zeros(own + 1), SUM)
        found["root"], found["unequal"] = talk.collect(root).tolist(), talk.collect(unequal).tolist()
        try:
            talk.collect(differs)
        except Error as problem:
            found["error"] = str(problem)
        leave(found)
        """
    )
    assert [each.code for each in finished] == [0, 0], finished[0].err
    for each in finished:
        assert [each.left[n] for n in range(3)] == [[0, 1], [2, 1], [4, 1]]
        assert (each.left["root"], each.left["unequal"]) == (1, [1])
        assert "float64 [1] on instance 0, sum of float64 [2] on instance 1" in each.left["error"]
