"""Rules for single kinds of ops: what is a view, what moves, in which pieces, and what is one op on the device."""

import pytest
import torch
from torch.nn import functional

import poptorch
from tremula.program.op import Phase
from tremula.program.work import (
    Cast,
    Copy,
    Elementwise,
    Fill,
    Gather,
    Norm,
    Pool,
    Random,
    Recurrent,
    Reduction,
    Scan,
    Scatter,
    Softmax,
    Sort,
    Unknown,
)


class Function(torch.nn.Module):
    """A function of tensors as a module; with `train`, its inputs are scaled by a parameter."""

    def __init__(self, function, train=False):
        super().__init__()
        self.function, self.train_it = function, train
        self.scale = torch.nn.Parameter(torch.ones(()))

    def forward(self, *inputs):
        if self.train_it:
            inputs = [x * self.scale if x.is_floating_point() else x for x in inputs]
        result = self.function(*inputs)
        return poptorch.identity_loss(result.sum(), reduction="none") if self.train_it else result


@pytest.fixture
def works_of_function(lowered_step):
    def run(function, *inputs):
        ops = lowered_step(Function(function), *inputs, training=False)
        return [work for op in ops for work in op.works]

    return run


X = torch.randn(4, 6)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: x + x, [Elementwise("add", 24, operands=2)]),
        (lambda x: x + 1, [Elementwise("add", 24, operands=2, broadcast_elements=1)]),
        (lambda x: x + x[0], [Elementwise("add", 24, operands=2, broadcast_elements=6, broadcast_inner=True)]),
        (lambda x: x * x[:, :1], [Elementwise("mul", 24, operands=2, broadcast_elements=4)]),
        (lambda x: torch.add(x, x, alpha=2), [Elementwise("scaled_add", 24, operands=2)]),
        (lambda x: x**2, [Elementwise("square", 24)]),
        (lambda x: x**2.5, [Elementwise("pow", 24, operands=2, broadcast_elements=1)]),
        (
            lambda x: x > 0,
            [Elementwise("gt", 24, operands=2, broadcast_elements=1, output_dtype="bool")],
        ),
        (lambda x: functional.gelu(x), [Elementwise("gelu", 24)]),
        (lambda x: x.sum(), [Reduction(1, 24, 1)]),
        (lambda x: x.mean(0), [Reduction(1, 4, 6)]),
        (lambda x: x.view(2, 2, 6).amax((0, 2)), [Reduction(2, 12, 1, operation="max")]),
        (lambda x: x.argmax(1), [Reduction(4, 6, 1, operation="argmax")]),
        (lambda x: x.cumsum(1), [Scan(4, 6)]),
        (lambda x: x.topk(2, 1)[0], [Sort(4, 6, k=2)]),
        (lambda x: torch.softmax(x, 1), [Softmax(4, 6)]),
        (lambda x: torch.log_softmax(x, 0), [Softmax(6, 4, logarithm=True)]),
        (lambda x: x.half(), [Cast(24, "fp32", "fp16")]),
        (lambda x: torch.cat([x, x], 1), [Copy(48, contiguous=6)]),
        (lambda x: torch.stack([x, x], 1), [Copy(48, contiguous=6)]),
        (lambda x: x.flip(0), [Copy(24, contiguous=6)]),
        (lambda x: x.t().contiguous(), [Copy(24, contiguous=1)]),
        (lambda x: x.view(2, 2, 6).transpose(0, 1).contiguous(), [Copy(24, contiguous=6)]),
        (lambda x: x.clone(), [Copy(24, contiguous=24, between_tiles=False)]),
        (lambda x: functional.pad(x, (1, 1)), [Fill(8), Copy(24, contiguous=6)]),
        (lambda x: x[torch.tensor([0, 2])], [Gather(4, 6, 2)]),
        (lambda x: x.gather(1, torch.zeros(4, 2, dtype=torch.long)), [Gather(24, 1, 8)]),
        (lambda x: functional.layer_norm(x, (6,)), [Norm("layer", 6, 4, 0)]),
        (lambda x: functional.max_pool1d(x[None], 2), [Pool("max", 1, 4, (1, 6), (1, 2), (1, 2))]),
        (lambda x: torch.rand_like(x) * x, [Random("uniform", 24), Elementwise("mul", 24, operands=2)]),
    ],
)  # fmt: skip
def test_an_op_becomes_the_work_that_the_libraries_do(works_of_function, function, expected):
    assert works_of_function(function, X) == expected


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.view(6, 4)[1:3].t().unsqueeze(0),
        lambda x: x.permute(1, 0).expand(2, 6, 4),
        lambda x: x.split(2, 0)[1].unbind(0)[0].detach(),
        lambda x: x[:, 2].reshape(2, 2),
    ],
)
def test_views_cost_nothing_and_share_memory(lowered_step, function):
    ops = lowered_step(Function(lambda x: function(x).sum()), X, training=False)
    *views, total = [op for op in ops if op.kind != "hint" and op.op.target != "aten::detach"]
    assert isinstance(total.works[0], Reduction)
    for op in views:
        assert op.kind == "view"
        assert op.works == ()
        assert set(op.lowered.shares) == {op.op.inputs[0]}


def test_an_operand_in_another_order_is_rearranged_first(works_of_function):
    square = torch.randn(5, 5)
    assert works_of_function(lambda x: x + x.t(), square) == [
        Copy(25, contiguous=1),
        Elementwise("add", 25, operands=2),
    ]
    # both in the same order: nothing to do
    assert works_of_function(lambda x: (x.t() + x.t()).sum(), square)[0] == Elementwise("add", 25, operands=2)


def test_what_is_computed_from_an_expanded_tensor_is_computed_before(works_of_function):
    works = works_of_function(lambda x: (x[:, :1].expand(4, 6) / 6).sum(), X)
    assert works[0] == Elementwise("div", 4, operands=2, broadcast_elements=1)


def test_64_bit_integers_are_32_bit_ones(lowered_step):
    ops = lowered_step(
        Function(lambda x, i: x + i.long()), X, torch.zeros(6, dtype=torch.int32), training=False
    )
    cast = next(op for op in ops if op.op.target == "aten::_to_copy")
    assert cast.kind == "view"
    assert not any(work.dtype == "int64" for op in ops for work in op.works)


def test_constants_are_the_compilers_work(lowered_step):
    ops = lowered_step(Function(lambda x: x + torch.arange(6, dtype=torch.float32) * 2), X, training=False)
    assert {op.op.target: op.kind for op in ops if op.kind == "constant"} == {
        "aten::arange": "constant",
        "aten::mul": "constant",
    }


def test_a_tensor_that_is_written_into_is_filled_in_every_step(lowered_step):
    def function(x):
        table = torch.zeros(10, 6)
        table.index_add_(0, torch.arange(4), x)
        return table

    works = [w for op in lowered_step(Function(function), X, training=False) for w in op.works]
    assert works[:2] == [Fill(60), Scatter(10, 6, 4)]


def test_dropout_is_one_op_and_its_mask_is_never_stored(lowered_step):
    ops = lowered_step(Function(lambda x: functional.dropout(x, 0.3), train=True), X)
    draws = [op for op in ops for work in op.works if isinstance(work, Random)]
    assert [(op.op.phase, op.works) for op in draws] == [
        (Phase.FORWARD, (Random("dropout", 24),)),
        (Phase.BACKWARD, (Random("dropout", 24),)),
    ]
    mask = [op for op in ops if op.kind == "fused"]
    assert [op.op.target for op in mask] == ["aten::empty_like", "aten::bernoulli_", "aten::div_"]
    assert all(op.lowered.fused_into == draws[0].op.name and not op.lowered.stored for op in mask)
    assert not {op.op.name for op in mask} & set(draws[0].lowered.reads + draws[1].lowered.reads)


def test_a_mask_per_channel_stays_a_mask(lowered_step):
    ops = lowered_step(Function(lambda x: functional.dropout2d(x, 0.3), train=True), torch.randn(2, 3, 4, 4))
    works = [w for op in ops if op.op.phase is Phase.FORWARD for w in op.works]
    assert Random("bernoulli", 6) in works
    assert Elementwise("mul", 96, operands=2, broadcast_elements=6) in works


def test_embeddings_are_looked_up_and_their_gradients_added(lowered_step):
    class Embedding(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.table = torch.nn.Embedding(50, 8)

        def forward(self, index):
            return poptorch.identity_loss(self.table(index).sum(), reduction="none")

    works = [w for op in lowered_step(Embedding(), torch.zeros(3, 7, dtype=torch.int32)) for w in op.works]
    assert Gather(50, 8, 21) in works
    assert works[-2:] == [Fill(400), Scatter(50, 8, 21)]


def test_a_scatter_by_an_expanded_index_moves_whole_rows(works_of_function):
    index = torch.zeros(4, dtype=torch.long)
    works = works_of_function(
        lambda x, i: torch.zeros(10, 6).scatter_add(0, i[:, None].expand(4, 6), x), X, index
    )
    assert Scatter(10, 6, 4) in works


def test_norms_and_their_gradients(lowered_step):
    class Norms(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.batch, self.group = torch.nn.BatchNorm2d(6), torch.nn.GroupNorm(2, 6)

        def forward(self, x):
            return poptorch.identity_loss(self.group(self.batch(x)).sum(), reduction="none")

    works = [w for op in lowered_step(Norms(), torch.randn(3, 6, 5, 5)) for w in op.works]
    assert [w for w in works if isinstance(w, Norm)] == [
        Norm("batch", 75, 6, 6),
        Norm("group", 75, 6, 6),
        Norm("group", 75, 6, 6, gradient=True),
        Norm("batch", 75, 6, 6, gradient=True),
    ]
    # running mean and variance
    assert works.count(Elementwise("axpby", 6, operands=2, in_place=True)) == 2


def test_cross_entropy_compares_every_class(lowered_step):
    ops = lowered_step(
        Function(lambda x, y: functional.cross_entropy(x, y), train=True), X, torch.zeros(4, dtype=torch.long)
    )
    works = [w for op in ops for w in op.works]
    assert Softmax(4, 6, logarithm=True) in works
    assert Reduction(4, 6, 1) in works
    assert works.count(Elementwise("eq+mul", 24, operands=2, broadcast_elements=4)) == 2


def test_an_lstm_is_one_recurrent_layer_per_direction(lowered_step):
    class Lstm(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.LSTM(6, 7)

        def forward(self, x):
            return poptorch.identity_loss(self.layer(x)[0].sum(), reduction="none")

    ops = lowered_step(Lstm(), torch.randn(9, 4, 6))
    assert [w for op in ops for w in op.works if isinstance(w, Recurrent)] == [
        Recurrent("lstm", 9, 4, 6, 7),
        Recurrent("lstm", 9, 4, 6, 7, gradient=True),
    ]


def test_hints_and_host_code_are_listed_without_work(lowered_step):
    def function(x):
        x = poptorch.recomputationCheckpoint(x + 1)
        return poptorch.ipu_print_tensor(x)

    ops = {op.op.target: op for op in lowered_step(Function(function), X, training=False)}
    assert ops["aten::alias"].kind == "hint"
    assert ops["tremula::print_tensor"].kind == "host"
    assert ops["tremula::print_tensor"].works == ()


def test_what_no_planner_knows_is_costed_by_what_it_reads_and_writes(lowered_step):
    from tremula.frontends.torch.rules.lower import unknown_work

    def function(x, grid):
        return functional.grid_sample(x, grid, align_corners=False)

    ops = lowered_step(Function(function), torch.randn(1, 2, 4, 4), torch.randn(1, 3, 3, 2), training=False)
    (unknown,) = [op for op in ops if op.unknown]
    assert unknown.works == (Unknown(unknown.op.target, 32 + 18, 18),)
    (reported,) = unknown_work(ops)
    assert (reported.target, reported.count) == (unknown.op.target, 1)
    assert reported.sources[0].file == __file__


def test_what_is_laid_out_for_a_product_is_left_to_its_plan(lowered_step):
    def attention(x):
        heads = x.view(2, 3, 2, 4).transpose(1, 2)
        return (heads @ heads.transpose(-1, -2) @ heads).transpose(1, 2).reshape(2, 3, 8)

    ops = lowered_step(Function(attention), torch.randn(2, 3, 8), training=False)
    clones = [op for op in ops if op.op.target == "aten::clone"]
    *operands, result = clones
    assert operands
    assert all(op.kind == "view" for op in operands)
    # what is returned has to be put in order by someone
    assert result.works == (Copy(48, contiguous=4),)
