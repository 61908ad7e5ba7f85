"""PopXL programs as users write them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import popart
import popart._internal.ir as _ir
import popxl
from popxl import ops
from tremula.frontends.popxl.modelled import modelled_run


def run(ir: popxl.Ir, *tensors: popxl.Tensor, inputs: dict | None = None) -> list[np.ndarray]:
    """The values of tensors of the main graph after one run."""
    with ir.main_graph:
        streams = [popxl.d2h_stream(each.shape, each.dtype) for each in tensors]
        for stream, each in zip(streams, tensors, strict=True):
            ops.host_store(stream, each)
    with popxl.Session(ir, "ipu_model") as session:
        outputs = session.run(inputs)
    return [outputs[stream] for stream in streams]


X = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)
UNARY = {
    "abs": torch.abs,
    "gelu": lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
    "geluerf": torch.nn.functional.gelu,
    "relu": torch.relu,
    "swish": torch.nn.functional.silu,
    "tanh": torch.tanh,
    "cos": torch.cos,
    "negate": torch.neg,
    "l1": lambda x: x.abs().sum(),
    "l2": lambda x: x.square().sum().sqrt(),
    "mean": torch.mean,
    "logsumexp": lambda x: torch.logsumexp(x, (0, 1)),
    "median": torch.median,
    "max": torch.max,
}


def test_ops_of_one_tensor_are_torchs() -> None:
    ir = popxl.Ir()
    with ir.main_graph:
        x = popxl.variable(X)
        found = [getattr(ops, name)(x) for name in UNARY]
    for name, value in zip(UNARY, run(ir, *found), strict=True):
        np.testing.assert_allclose(
            value, UNARY[name](torch.tensor(X)).numpy(), rtol=1e-5, atol=1e-6, err_msg=name
        )


def test_operators_and_slices_of_tensors() -> None:
    ir = popxl.Ir()
    with ir.main_graph:
        x = popxl.variable(X)
        found = [
            x + 1,
            1 - x,
            x * x,
            x / 2,
            x**2,
            x @ x.T,
            x[1],
            x[:, 1:3],
            x[-1],
            x[::2, ::-1],
            x[[0, 2]],
            -x,
        ]
    expected = [
        X + 1,
        1 - X,
        X * X,
        X / 2,
        X**2,
        X @ X.T,
        X[1],
        X[:, 1:3],
        X[-1],
        X[::2, ::-1],
        X[[0, 2]],
        -X,
    ]
    for value, wanted in zip(run(ir, *found), expected, strict=True):
        np.testing.assert_allclose(value, wanted, rtol=1e-5, atol=1e-6)


def test_a_linear_layer_learns() -> None:
    ir = popxl.Ir()
    data = np.random.default_rng(1).normal(size=(8, 4)).astype(np.float32)
    with ir.main_graph, popxl.in_sequence():
        stream = popxl.h2d_stream((8, 4), popxl.float32)
        x = ops.host_load(stream)
        w = popxl.variable(np.zeros((4, 1), np.float32), name="w")
        target = popxl.constant(data @ np.array([[1.0], [2.0], [3.0], [4.0]], np.float32))

        def loss_of(x: popxl.Tensor, w: popxl.Tensor, target: popxl.Tensor) -> popxl.Tensor:
            return ops.mean((x @ w - target) ** 2.0)

        graph = ir.create_graph(loss_of, x, w, target)
        call = ops.call_with_info(graph, x, w, target)
        info = popxl.transforms.autodiff(graph, grads_required=[graph.inputs[1]])
        (gradient,) = ops.call(info.graph, 1.0, inputs_dict=info.inputs_dict(call))
        ops.scaled_add_(w, gradient, b=-0.1)
        loss = popxl.d2h_stream((), popxl.float32)
        ops.host_store(loss, call.outputs[0])
    with popxl.Session(ir, "ipu_hw") as session:
        losses = [float(session.run({stream: data})[loss]) for _ in range(100)]
        assert losses[-1] < losses[0] / 20
    assert abs(session.get_tensor_data(w) - [[1.0], [2.0], [3.0], [4.0]]).max() < 1.0


def test_a_repeat_takes_one_transfer_per_turn() -> None:
    ir = popxl.Ir()
    ir.num_host_transfers = 3
    with ir.main_graph:
        given, returned = popxl.h2d_stream((2,), popxl.float32), popxl.d2h_stream((2,), popxl.float32)
        total = popxl.variable(np.zeros(2, np.float32))

        def turn(total: popxl.TensorByRef) -> None:
            ops.var_updates.accumulate_(total, ops.host_load(given))
            ops.host_store(returned, total)

        ops.repeat(ir.create_graph(turn, total), 3, total)
    with popxl.Session(ir, "ipu_model") as session:
        outputs = session.run({given: np.ones((3, 2), np.float32)})
        assert outputs[returned].tolist() == [[1, 1], [2, 2], [3, 3]]
        assert session.get_tensor_data(total).tolist() == [3, 3]


def test_sharded_variables_are_joined_on_replicas_and_on_the_host() -> None:
    ir = popxl.Ir(replication=4)
    values = np.arange(10, dtype=np.float32)
    with ir.main_graph, popxl.in_sequence():
        var, shard = popxl.replica_sharded_variable(values, popxl.float32, "w")
        assert shard.shape == (3,)
        whole = ops.collectives.replicated_all_gather(shard)
        ops.add_(shard, popxl.constant(1.0))
    (found,) = run(ir, whole)
    assert found.tolist() == [values.tolist()] * 4
    assert var._pb_tensor.data.tolist() == (values + 1).tolist()


def test_integers_are_updated_in_place() -> None:
    ir = popxl.Ir()
    with ir.main_graph, popxl.in_sequence():
        x, y = popxl.variable([1, 2, 3]), popxl.variable([10, 20, 30])
        scaled = ops.scaled_add_(x, y, a=2.0, b=3.0)
        summed = ops.var_updates.accumulate_(y, popxl.constant([1, 1, 1]), 5.0)
    assert [each.tolist() for each in run(ir, scaled, summed)] == [[32, 64, 96], [15, 25, 35]]


def test_dropout_draws_the_same_mask_for_the_gradient() -> None:
    ir = popxl.Ir()
    with ir.main_graph:
        x, seed = popxl.variable(np.ones(100, np.float32)), popxl.variable(popxl.create_seeds(7))
        graph = ir.create_graph(lambda x, seed: ops.dropout(x, seed, 0.5), x, seed)
        info = popxl.transforms.autodiff(graph)
        call = ops.call_with_info(graph, x, seed)
        gradients = ops.call(
            info.graph, popxl.constant(np.ones(100, np.float32)), inputs_dict=info.inputs_dict(call)
        )
    dropped, gradient = run(ir, call.outputs[0], gradients[0])
    assert dropped.tolist() == gradient.tolist()
    assert 20 < np.count_nonzero(dropped) < 80


def test_float8_rounds_and_scales() -> None:
    ir = popxl.Ir()
    with ir.main_graph:
        x = popxl.variable([1.0, 1.06, 300.0], popxl.float32)
        there = ops.pow2scale_cast_to_fp8(x, popxl.constant(-1, popxl.int32), popxl.float8_143)
        back = ops.pow2scale_cast_from_fp8(there, popxl.constant(1, popxl.int32), popxl.float32)
    (found,) = run(ir, back)
    assert found.tolist() == [1.0, 1.0, 288.0]


def test_the_bindings_describe_ops() -> None:
    ir = popxl.Ir()
    with ir.main_graph:
        x = popxl.variable(X)
        ops.matmul(x, x.T) + 1
    found = ir._pb_ir.getMainGraph().getOps()
    assert [type(op) for op in found] == [_ir.op.TransposeOp, _ir.op.MatMulOp, _ir.op.AddOp]
    assert [op.opType() for op in found] == ["Transpose", "MatMul", "Add"]
    assert found[1].inTensor(0).info.shape() == [3, 4]
    with pytest.raises(AttributeError, match="no NotAnOp"):
        _ir.op.NotAnOp


def test_wrong_programs_are_refused() -> None:
    ir = popxl.Ir()
    with pytest.raises(RuntimeError, match="No graph has been selected"):
        popxl.variable(1)
    with ir.main_graph:
        x = popxl.variable(X)
        with pytest.raises(popart.popart_exception, match="MatMul cannot be applied"):
            x @ x
        graph = ir.create_graph(lambda a, b: a + b, x, x)
        with pytest.raises(ValueError, match="Not enough inputs"):
            ops.call(graph, x)
        with pytest.raises(ValueError, match="is not in the current graph"):
            graph.inputs[0] + 1
        stream = popxl.h2d_stream((2,), popxl.float32)
        ops.host_load(stream)
    session = popxl.Session(ir, "ipu_model")
    with pytest.raises(ValueError, match="must be attached"):
        session.run()
    with session, pytest.raises(ValueError, match="Missing"):
        session.run()
    with pytest.raises(ValueError, match="Incorrect device type"):
        popxl.Session(ir, "no_such_device")


def test_figures_are_modelled(monkeypatch: pytest.MonkeyPatch) -> None:
    ir = popxl.Ir()
    with ir.main_graph:
        x, w = popxl.variable(np.ones((64, 256), np.float32)), popxl.variable(np.ones((256, 256), np.float32))
        y = ops.gelu(x @ w)
        ops.host_store(popxl.d2h_stream(y.shape, y.dtype), y)
    monkeypatch.setenv("TREMULA_CHIP_MODEL", "compile")
    session = popxl.Session(ir, "ipu_hw")
    found = session._program.device.modelled
    assert found is not None
    assert found.known is not None
    assert found.brief().startswith("modelled for")


def test_popxl_addons_finds_its_ops() -> None:
    import importlib

    module = importlib.import_module("popxl_addons.ops.rotary_pos_embed.rotary_pos_embed_binding")
    ir = popxl.Ir()
    with ir.main_graph as graph:
        x = popxl.variable(np.arange(8, dtype=np.float32).reshape(1, 2, 1, 4))
        angles = np.array([[[0.0, 0.0], [np.pi / 2, np.pi]]], np.float32)
        sin, cos = popxl.constant(np.sin(angles)), popxl.constant(np.cos(angles))
        op = module.RotaryPosEmbedOp.createOpInGraph(
            graph._pb_graph, {0: x.id, 1: sin.id, 2: cos.id}, {0: "turned"}, 4, _ir.Settings()
        )
        turned = popxl.Tensor._from_pb_tensor(op.outTensor(0))
    (found,) = run(ir, turned)
    np.testing.assert_allclose(found[0, :, 0], [[0, 1, 2, 3], [-5, 4, -6, -7]], atol=1e-5)


def test_the_chip_model_describes_programs_with_collectives() -> None:
    ir = popxl.Ir(replication=2)
    with ir.main_graph:
        x = popxl.variable(X)
        ops.collectives.replicated_all_reduce(ops.matmul(x, x.transpose((1, 0))))
    assert modelled_run(ir._pb_ir).cycles_per_call() > 0


@pytest.mark.parametrize("taken", [True, False])
def test_conditionals_are_differentiated(taken: bool) -> None:
    """Each branch reads what it computes inside, and one input goes to both."""
    ir = popxl.Ir()
    rng = np.random.default_rng(3)
    a, b, c = (rng.normal(size=(2, 3)).astype(np.float32) for _ in range(3))

    def first(x: popxl.Tensor, y: popxl.Tensor) -> popxl.Tensor:
        return ops.exp(x * y) * y

    def second(x: popxl.Tensor, z: popxl.Tensor) -> popxl.Tensor:
        return ops.tanh(x) * ops.tanh(x) - z

    def whole(condition: popxl.Tensor, x: popxl.Tensor, y: popxl.Tensor, z: popxl.Tensor) -> popxl.Tensor:
        branches = [ir.create_graph(first, x, y), ir.create_graph(second, x, z)]
        (chosen,) = ops.conditional(condition, *branches, then_inputs=[x, y], else_inputs=[x, z])
        return ops.sum(chosen * x)

    with ir.main_graph, popxl.in_sequence():
        tensors = [popxl.constant(taken, popxl.bool), *(popxl.variable(each) for each in (a, b, c))]
        graph = ir.create_graph(whole, *tensors)
        call = ops.call_with_info(graph, *tensors)
        backward = popxl.transforms.autodiff(graph, grads_required=graph.inputs[1:])
        seed = popxl.constant(1.0)
        found = ops.call(backward.graph, seed, inputs_dict=backward.inputs_dict(call))
    values = run(ir, *found)
    x, y, z = (torch.tensor(each, requires_grad=True) for each in (a, b, c))
    chosen = torch.exp(x * y) * y if taken else torch.tanh(x) ** 2 - z
    (chosen * x).sum().backward()
    for value, leaf in zip(values, (x, y, z), strict=True):
        wanted = torch.zeros_like(leaf) if leaf.grad is None else leaf.grad
        np.testing.assert_allclose(value, wanted.numpy(), rtol=1e-5, atol=1e-6)
