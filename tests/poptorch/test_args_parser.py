"""Binding arguments to a signature and checking them against those of the compilation."""

from __future__ import annotations

import inspect

import numpy
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from poptorch._args_parser import ArgsParser, ICustomArgParser, registerCustomArgParser
from tremula.errors import Error

a, b, c = torch.zeros(1), torch.zeros(2), torch.zeros(3)


def bind(function, *args, **kwargs):
    return ArgsParser(function)(args, kwargs)


def everything(x, y=2, *rest, z, k=4, **others):
    raise NotImplementedError


def test_positions_names_and_defaults():
    def forward(x, y, z=None, *, k=3):
        raise NotImplementedError

    bound = bind(forward, a, y=b)
    assert bound.args == [a, b, None]
    assert bound.arg_names == ["x", "y", "z"]
    assert bound.kwargs == {"k": 3}


def test_rest_and_others():
    bound = bind(everything, a, 5, b, c, z=1, more=a)
    assert bound.args == [a, 5, b, c]
    assert bound.arg_names == ["x", "y", "*rest[0]", "*rest[1]"]
    assert bound.kwargs == {"z": 1, "k": 4, "more": a}


@given(
    st.lists(st.integers(), max_size=5),
    st.dictionaries(st.sampled_from("xyzkpq"), st.integers(), max_size=6),
)
def test_binding_agrees_with_python(args, kwargs):
    signature = inspect.signature(everything)
    try:
        expected = signature.bind(*args, **kwargs)
    except TypeError:
        with pytest.raises((AssertionError, Error)):
            bind(everything, *args, **kwargs)
        return
    expected.apply_defaults()
    bound = bind(everything, *args, **kwargs)
    again = signature.bind(*bound.args, **bound.kwargs)
    again.apply_defaults()
    assert again == expected


def test_modules_and_functions_without_signature():
    class Model(torch.nn.Module):
        def forward(self, x, scale=2):
            return x * scale

    assert bind(Model(), a).arg_names == ["x", "scale"]
    assert bind(torch.nn.functional.logsigmoid, a, b).args == [a, b]
    with pytest.raises(TypeError, match="callable"):
        ArgsParser(3)


def test_what_cannot_be_bound():
    def forward(x, y):
        raise NotImplementedError

    with pytest.raises(AssertionError, match="Too many"):
        bind(forward, a, b, c)
    with pytest.raises(AssertionError, match="z is not a valid parameter"):
        bind(forward, a, z=b)
    with pytest.raises(AssertionError, match="x was passed more than once"):
        bind(forward, a, x=b)
    with pytest.raises(Error, match="Mandatory parameter y missing"):
        bind(forward, a)


def test_tensors_in_pieces_are_put_together_with_one_warning(caplog):
    def forward(x):
        raise NotImplementedError

    parser = ArgsParser(forward)
    pieces = torch.arange(6).reshape(2, 3).t()
    for _ in range(2):
        bound = parser(((pieces, [a]),), {}, True)
        assert bound.args[0][0].is_contiguous()
        assert torch.equal(bound.args[0][0], pieces)
        assert bound.args[0][1][0] is a
    assert caplog.text.count("contiguous copy") == 1


def test_a_dict_earns_a_hint_at_compilation_only(caplog):
    def forward(x):
        raise NotImplementedError

    parser = ArgsParser(forward)
    parser(([{"k": a}],), {}, True)
    assert "supports dicts only partly" not in caplog.text
    parser(([{"k": a}],), {})
    assert "supports dicts only partly" in caplog.text


def test_for_each_and_clone():
    bound = bind(everything, a, [b], z={"k": c})
    copy = bound.clone()
    bound.forEach(lambda tensor: tensor + 1)
    assert bound.args[1][0].sum() == 2
    assert bound.kwargs["z"]["k"].sum() == 3
    assert copy.args[0] is a
    assert [t.numel() for t in copy.asPackedFlatTuple()] == [1, 2, 3]
    assert copy.asTuple() == (a, [b])
    assert not copy.forEachTensorMatchedAtLeastOnce(lambda tensor: tensor.numel() > 3)
    assert copy.forEachTensorMatchedAtLeastOnce(lambda t: t.numel() == 3, lambda t: t - 1)
    assert copy.kwargs["z"]["k"].sum() == -3
    assert copy.args[0] is a


def test_flat_order_follows_the_compiled_arguments():
    def forward(x, **others):
        raise NotImplementedError

    compiled = bind(forward, {"p": a, "q": b}, u=a, v=b)
    given_ = bind(forward, {"q": b, "p": a}, v=b, u=a)
    compiled.validateInputs(given_)
    assert [t.numel() for t in given_.asPackedFlatTuple(compiled)] == [1, 2, 1, 2]


ALIKE = [
    (a, torch.ones(1)),
    (torch.nn.Parameter(a), torch.ones(1)),
    ((a, [b, 2, None]), (a, [b, 2, None])),
    ({"k": (a,)}, {"k": (torch.ones(1),)}),
    ("word", "word"),
    (1000.5, 1000.5),
    (numpy.arange(3), numpy.arange(3)),
]
DIFFERENT = [
    (
        a,
        torch.zeros(1, dtype=torch.int64),
        "Data type mismatch for x: expected torch.float32 but got torch.int64",
    ),
    (a, b, r"Shape mismatch for x: expected torch.Size\(\[1\]\) but got torch.Size\(\[2\]\)"),
    (a, None, "Type mismatch for x: expected .*Tensor.* but got .*None"),
    ((a,), [a], "Type mismatch for x"),
    ((a, b), (a,), "Length mismatch for x: expected 2 elements but got 1"),
    ((a, (b, 1)), (a, (b, 2)), r"Value mismatch for x\[1\]\[1\]: expected 1 but got 2"),
    ([a, 1], [a, 2], r"Value mismatch for x\[1\]"),
    ({"p": a}, {"p": b}, r"Shape mismatch for x\[p\]"),
    ({"p": a}, {"q": a}, r"Keys mismatch for x: Unexpected arguments: q. Missing arguments: p\."),
    (1, True, "Type mismatch"),
    (5, 3, "Value mismatch for x: expected 5 but got 3"),
    (numpy.arange(3), numpy.arange(1, 4), "Value mismatch"),
]


def one(x):
    raise NotImplementedError


@pytest.mark.parametrize(("compiled", "given_"), ALIKE)
def test_alike(compiled, given_):
    bind(one, compiled).validateInputs(bind(one, given_))


@pytest.mark.parametrize(("compiled", "given_", "message"), DIFFERENT)
def test_different(compiled, given_, message):
    with pytest.raises(Error, match=message) as caught:
        bind(one, compiled).validateInputs(bind(one, given_))
    assert "destroy()" in caught.value.message


def test_different_arguments():
    compiled = bind(everything, a, b, z=1, m=a)
    with pytest.raises(
        Error, match="Number of positional arguments mismatch: expected 2 arguments but got 3"
    ):
        compiled.validateInputs(bind(everything, a, b, c, z=1, m=a))
    with pytest.raises(Error, match=r"Keys mismatch for named arguments: Missing arguments: m\."):
        compiled.validateInputs(bind(everything, a, b, z=1))
    with pytest.raises(Error, match="Value mismatch for z: expected 1 but got 2"):
        compiled.validateInputs(bind(everything, a, b, z=2, m=a))


class Bag:
    def __init__(self, tensors):
        self.tensors = tensors


class BagParser(ICustomArgParser):
    def yieldTensors(self, struct):
        yield from struct.tensors

    def reconstruct(self, original_structure, tensor_iterator):
        return Bag([next(tensor_iterator) for _ in original_structure.tensors])


def test_types_of_the_users_own():
    registerCustomArgParser(Bag, BagParser())
    try:
        compiled = bind(one, Bag([a, b]))
        compiled.validateInputs(bind(one, Bag([torch.ones(1), torch.ones(2)])))
        with pytest.raises(Error, match=r"Shape mismatch for x\[1\]"):
            compiled.validateInputs(bind(one, Bag([a, c])))
        with pytest.raises(Error, match="Length mismatch for x: expected 2 elements but got 1"):
            compiled.validateInputs(bind(one, Bag([a])))
        compiled.forEach(lambda tensor: tensor + 1)
        assert compiled.args[0].tensors[1].sum() == 2
    finally:
        registerCustomArgParser(Bag, None)
    with pytest.raises(Error, match="Value mismatch"):
        bind(one, Bag([a])).validateInputs(bind(one, Bag([a])))


def test_a_parser_has_to_be_one():
    with pytest.raises(Error, match="must inherit from ICustomArgParser"):
        registerCustomArgParser(Bag, object())
