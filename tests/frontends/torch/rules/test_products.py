"""Matrix products: extents, roles, and the settings that hold for them."""

import itertools

import pytest
import torch
from torch.nn import functional

import poptorch
from tremula.program.lowered import LoweringSettings
from tremula.program.work import Elementwise, MatMul, Softmax


def products(ops):
    return [work for op in ops for work in op.works if isinstance(work, MatMul)]


def flops(work):
    return 2 * work.rows * work.inner * work.columns * work.groups


class Perceptron(torch.nn.Module):
    def __init__(self, *widths):
        super().__init__()
        pairs = itertools.pairwise(widths)
        self.layers = torch.nn.ModuleList(torch.nn.Linear(a, b) for a, b in pairs)

    def forward(self, x, y):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return functional.cross_entropy(x, y)


def test_a_training_step_takes_six_operations_per_weight_and_sample(lowered_step):
    batch, widths = 16, (20, 50, 30, 10)
    module = Perceptron(*widths)
    works = products(lowered_step(module, torch.randn(batch, 20), torch.zeros(batch, dtype=torch.long)))
    weights = [layer.weight.numel() for layer in module.layers]
    # the gradient of the model's input is not computed
    assert sum(map(flops, works)) == 6 * batch * sum(weights) - 2 * batch * weights[0]
    by_role = {role: [w for w in works if w.role == role] for role in {w.role for w in works}}
    assert {role: len(found) for role, found in by_role.items()} == {
        "forward": 3,
        "weight_gradient": 3,
        "input_gradient": 2,
    }
    assert MatMul(50, 16, 30, role="weight_gradient") in works
    assert MatMul(16, 30, 50, role="input_gradient") in works


class Attention(torch.nn.Module):
    def __init__(self, dropout=0.0):
        super().__init__()
        self.heads, self.dropout = 2, dropout
        self.projection = torch.nn.Linear(8, 24)

    def forward(self, x):
        batch, length, width = x.shape
        query, key, value = (
            part.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
            for part in self.projection(x).chunk(3, -1)
        )
        scores = torch.softmax(query @ key.transpose(-1, -2), -1)
        return poptorch.identity_loss((scores @ value).sum(), reduction="none")


def test_products_of_activations_have_roles_too(lowered_step):
    works = products(lowered_step(Attention(), torch.randn(3, 5, 8)))
    grouped = [w for w in works if w.groups > 1]
    assert [(w.rows, w.inner, w.columns, w.role) for w in grouped[:2]] == [
        (5, 4, 5, "forward"),
        (5, 5, 4, "forward"),
    ]
    assert sorted((w.rows, w.inner, w.columns, w.role) for w in grouped[2:]) == [
        (4, 5, 5, "weight_gradient"),  # of the keys, transposed
        (5, 4, 5, "input_gradient"),  # of the probabilities
        (5, 5, 4, "input_gradient"),  # of the queries
        (5, 5, 4, "weight_gradient"),  # of the values
    ]
    assert {w.groups for w in grouped} == {6}
    single = [w.role for w in works if w.groups == 1]
    assert sorted(single) == ["forward", "weight_gradient"]


def test_fused_attention_is_lowered_to_its_parts(lowered_step):
    class Fused(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = torch.nn.Parameter(torch.ones(()))

        def forward(self, q, k, v):
            return poptorch.identity_loss(
                functional.scaled_dot_product_attention(q * self.scale, k * self.scale, v * self.scale).sum(),
                reduction="none",
            )

    ops = lowered_step(Fused(), *[torch.randn(2, 3, 7, 4) for _ in range(3)])
    forward, backward = (op for op in ops if "scaled_dot_product" in op.op.target)
    assert [flops(w) for w in forward.works if isinstance(w, MatMul)] == [2 * 6 * 7 * 7 * 4] * 2
    assert Softmax(42, 7) in forward.works
    assert [flops(w) for w in backward.works if isinstance(w, MatMul)] == [2 * 6 * 7 * 7 * 4] * 4
    assert Softmax(42, 7, gradient=True) in backward.works


class Shared(torch.nn.Module):
    """A product whose memory the user limits, and one with the default."""

    def __init__(self):
        super().__init__()
        self.one, self.two = torch.nn.Linear(4, 5), torch.nn.Linear(5, 6)

    def forward(self, x):
        x = poptorch.set_available_memory(self.one(x), 0.1)
        return poptorch.identity_loss(self.two(x).sum(), reduction="none")


def test_the_share_of_memory_set_on_a_result_holds_for_its_product_and_gradients(lowered_step):
    works = products(lowered_step(Shared(), torch.randn(2, 3, 4)))
    first = {4, 5}
    assert len(works) == 5
    for work in works:
        extents = {work.rows, work.inner, work.columns} - {6}
        assert work.proportion == (0.1 if extents == first else 0.6), work


def test_types_of_partials_and_shares_come_from_the_settings(lowered_step):
    settings = LoweringSettings(partials="fp16", proportions={0: 0.3})
    half = products(lowered_step(Shared().half(), torch.randn(2, 4).half(), settings=settings))
    assert {w.partials for w in half} == {"fp16"}
    assert {w.dtype for w in half} == {"fp16"}
    assert {w.proportion for w in half} == {0.1, 0.3}
    single = products(lowered_step(Shared(), torch.randn(2, 4), settings=settings))
    assert {w.partials for w in single} == {"fp32"}


def test_shares_may_be_given_by_ipu_or_as_a_function():
    assert LoweringSettings(proportions={1: 0.2, -1: 0.5}).proportion(1) == 0.2
    assert LoweringSettings(proportions={1: 0.2, -1: 0.5}).proportion(0) == 0.5
    assert LoweringSettings(proportions={}).proportion(0) == 0.6
    assert LoweringSettings(proportions=lambda ipu: 0.1 * ipu).proportion(3) == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("mode", "part"),
    [("InputChannels", (4, 6, 10)), ("ReducingDim", (8, 3, 10)), ("OutputChannels", (8, 6, 5))],
)
def test_a_serialised_product_is_done_in_parts(lowered_step, mode, part):
    class Serialised(torch.nn.Module):
        def forward(self, x, y):
            return poptorch.serializedMatMul(x, y, getattr(poptorch.MatMulSerializationMode, mode), 2)

    ops = lowered_step(Serialised(), torch.randn(8, 6), torch.randn(6, 10), training=False)
    works = products(ops)
    assert [(w.rows, w.inner, w.columns) for w in works] == [part, part]
    sums = [w for op in ops for w in op.works if isinstance(w, Elementwise)]
    assert len(sums) == (mode == "ReducingDim")


class WrittenOut(torch.nn.Module):
    """Attention as products, with heads that are views of one projection."""

    def __init__(self):
        super().__init__()
        self.projection = torch.nn.Linear(8, 24)

    def forward(self, x):
        batch, length, _ = x.shape
        parts = self.projection(x).view(batch, length, 3, 2, 4)
        query, key, value = (part.transpose(1, 2) for part in parts.unbind(2))
        scores = torch.softmax(query @ key.transpose(-1, -2), -1)
        made = (scores @ value).transpose(1, 2).reshape(batch, length, 8)
        return poptorch.identity_loss(made, "sum")


def test_operands_of_attention_that_lie_against_the_grain(lowered_step):
    works = [work for work in products(lowered_step(WrittenOut(), torch.randn(3, 5, 8))) if work.groups > 1]
    lie = [(work.role, work.crossed) for work in works]
    # scores read queries and keys along the head; the weighted sum reads values across it
    assert lie[:2] == [("forward", ""), ("forward", "right")]
    # of the values, of the probabilities, of the queries and of the keys, in whatever order
    assert sorted(lie[2:]) == sorted(
        [
            ("weight_gradient", "both"),
            ("input_gradient", ""),
            ("weight_gradient", "both"),
            ("input_gradient", "right"),
        ]
    )
