"""PopXL programs in several instances compute what one instance with all replicas does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from .poprun_program import Failed, poprun

#: groups inside of instances and across them, shards, a branch that some replicas take, and a training step
_PROGRAM = """
import popxl
from popxl import ops

ir = popxl.Ir("popdist")
first, local = popdist.getReplicaIndexOffset(), ir.instance_replication_factor
assert ir.replication_factor == 4
pairs, across = ir.replica_grouping(group_size=2), ir.replica_grouping(stride=2, group_size=2)
alone = ir.replica_grouping(group_size=1)
with ir.main_graph, popxl.in_sequence():
    stream = popxl.h2d_stream((3,), popxl.float32)
    x = ops.host_load(stream)
    w = popxl.variable(np.ones(3, np.float32), name="w")
    own = popxl.variable(np.arange(12, dtype=np.float32).reshape(4, 3), replica_grouping=alone, name="own")
    seen = popxl.variable(
        np.zeros((2, 3), np.float32), replica_grouping=across, retrieval_mode="all_replicas", name="seen"
    )
    sharded, shard = popxl.replica_sharded_variable(
        np.arange(6, dtype=np.float32), name="sharded", shard_over=2
    )
    results = [
        ops.collectives.replicated_all_reduce(x, op, group)
        for op, group in (("add", None), ("mean", pairs), ("max", across), ("mul", alone))
    ]
    part = ops.collectives.replicated_reduce_scatter(x * own, group=across)
    results.append(ops.collectives.replicated_all_gather(part, group=across))
    results.append(ops.collectives.replicated_all_gather(shard, group=pairs))

    def summed(t):
        return ops.collectives.replicated_all_reduce(t, group=pairs)

    def same(t):
        return t + 0.0

    positive = ops.greater(ops.slice(own, 0, 1, axis=0), popxl.constant([4.0]))  # on replicas 2 and 3 only
    condition = ops.cast(positive.reshape(()), popxl.bool)
    branches = [ir.create_graph(each, x) for each in (summed, same)]
    (chosen,) = ops.conditional(condition, *branches, then_inputs=[x], else_inputs=[x])
    results.append(chosen)
    gradient = ops.collectives.replicated_all_reduce(x * w, "mean")
    ops.scaled_add_(w, gradient, b=-0.5)
    ops.add_(own, x)
    ops.add_(seen, results[2])
    ops.add_(shard, popxl.constant(10.0))
    streams = [popxl.d2h_stream(each.shape, each.dtype) for each in results]
    for out, each in zip(streams, results):
        ops.host_store(out, each)

data = np.random.RandomState(1).rand(4, 3).astype(np.float32)[first : first + local]
with popxl.Session(ir, "ipu_hw") as session:
    outputs = session.run({stream: data})
    held = session.get_tensors_data([w, own, seen, sharded])
leave(
    **{f"out{n}": outputs[out].reshape(local, -1) for n, out in enumerate(streams)},
    **{tensor.name: value for tensor, value in held.items()},
)
"""


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, np.ndarray]:
    """What one instance with all replicas computes."""
    return poprun(tmp_path_factory.mktemp("alone"), _PROGRAM, 1, 4)[0]


@pytest.mark.parametrize("instances", [2, 4])
def test_outputs_and_variables_are_those_of_one_instance(
    alone: dict[str, np.ndarray], tmp_path: Path, instances: int
) -> None:
    found = poprun(tmp_path, _PROGRAM, instances, 4)
    for name, value in alone.items():
        if name.startswith("out"):
            whole = np.concatenate([each[name] for each in found])
            np.testing.assert_array_equal(whole, value, err_msg=name)
        else:  # every instance has all of them
            for each in found:
                np.testing.assert_array_equal(each[name], value, err_msg=name)
    assert alone["seen"].shape == (4, 3)
    assert alone["sharded"].tolist() == [10.0, 11.0, 12.0, 13.0, 14.0, 15.0]


def test_one_instance_computes_what_was_meant(alone: dict[str, np.ndarray]) -> None:
    data = np.random.RandomState(1).rand(4, 3).astype(np.float32)
    own = np.arange(12, dtype=np.float32).reshape(4, 3)
    np.testing.assert_allclose(alone["out0"], np.tile(data.sum(0), (4, 1)), rtol=1e-6)
    np.testing.assert_allclose(alone["out2"][0], np.maximum(data[0], data[2]))
    np.testing.assert_allclose(alone["out4"][1, :3], (data * own)[1] + (data * own)[3], rtol=1e-6)
    np.testing.assert_allclose(alone["out6"], [data[0], data[1], *[data[2] + data[3]] * 2], rtol=1e-6)
    np.testing.assert_allclose(alone["w"], 1 - 0.5 * data.mean(0), rtol=1e-6)


def test_instances_with_other_programs_are_told_apart(tmp_path: Path) -> None:
    program = """
    import popxl
    from popxl import ops

    ir = popxl.Ir("popdist")
    with ir.main_graph:
        x = popxl.variable(np.ones(2 + popdist.getInstanceIndex(), np.float32), name="x")
        ops.collectives.replicated_all_reduce_(x)
    with popxl.Session(ir, "ipu_hw") as session:
        session.run()
    """
    with pytest.raises(Failed, match=r"x: Variable float32 \[2\].* on instance 0, Variable float32 \[3\]"):
        poprun(tmp_path, program, 2, 2)
