"""Accumulation and update: few passes per parameter, in an order that respects what they read."""

import pytest
import torch
from torch.nn import functional

import poptorch
from tremula.frontends.torch.graphs.listing import ops as listed
from tremula.frontends.torch.rules.lower import lower
from tremula.program.op import Phase
from tremula.program.work import Cast, Elementwise, Reduction

optim = poptorch.optim


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(6, 5, bias=False)

    def forward(self, x, y):
        return functional.cross_entropy(self.layer(x), y)


#: name -> (optimizer, passes over the weight's 30 elements)
OPTIMIZERS = {
    "sgd": (lambda p: optim.SGD(p, lr=0.1), 1),
    "momentum": (lambda p: optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.1), 2),
    "combined": (lambda p: optim.SGD(p, lr=0.1, momentum=0.9, use_combined_accum=True), 3),
    "adam": (lambda p: optim.Adam(p, lr=0.1), 4),
    "adamw": (lambda p: optim.AdamW(p, lr=0.1, weight_decay=0.1), 4),
    "lamb": (lambda p: optim.LAMB(p, lr=0.1, weight_decay=0.1), 4),
    "rmsprop": (lambda p: optim.RMSprop(p, lr=0.1), 3),
    "centred": (lambda p: optim.RMSprop(p, lr=0.1, centered=True, momentum=0.5), 5),
}


_PROGRAMS: dict[tuple, object] = {}


def program_of(training_program, name, half=False, accumulation=1):
    """A program per optimizer, compiled once."""
    key = (name, half, accumulation)
    if key not in _PROGRAMS:
        _PROGRAMS[key] = compiled(training_program, name, half, accumulation)
    return _PROGRAMS[key]


def compiled(training_program, name, half, accumulation):
    options = poptorch.Options()
    options.Training.gradientAccumulation(accumulation)
    samples = 4 * accumulation
    network, x = Network(), torch.randn(samples, 6)
    if half:
        network, x = network.half(), x.half()
    target = torch.zeros(samples, dtype=torch.long)
    return training_program(network, OPTIMIZERS[name][0], x, target, options=options)


@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_parameter_is_updated_in_few_passes(training_program, name, half):
    update = [op for op in lower(program_of(training_program, name, half)) if op.op.phase is Phase.UPDATE]
    over_weight = [
        w for op in update for w in op.works if isinstance(w, Elementwise | Cast) and w.elements == 30
    ]
    assert [type(w) for w in over_weight if isinstance(w, Elementwise)] == [Elementwise] * OPTIMIZERS[name][1]
    # a weight in half precision that is written back only after its velocity has changed takes a cast of its own
    assert sum(isinstance(w, Cast) for w in over_weight) == (half and name == "combined")
    assert sum(isinstance(w, Reduction) for op in update for w in op.works) == (2 if name == "lamb" else 0)
    assert not any(op.unknown for op in update)


@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_no_pass_reads_what_a_later_one_makes(training_program, name, half):
    """The last op of a pass stands for all of it, so all that it reads must be there by then."""
    lowered = lower(program_of(training_program, name, half))
    position = {op.op.name: index for index, op in enumerate(lowered)}
    done_at = {
        op.op.name: position[op.lowered.fused_into] if op.lowered.fused_into else position[op.op.name]
        for op in lowered
    }
    for index, op in enumerate(lowered):
        if op.op.phase not in (Phase.ACCUMULATE, Phase.UPDATE) or op.kind == "fused":
            continue
        for name in op.lowered.reads:
            maker = name.partition(":")[0]
            assert maker not in done_at or done_at[maker] < index or maker == op.op.name


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_nothing_is_overwritten_before_it_was_read(training_program, name):
    """Replays the update op by op and pass by pass, and compares the reads of every stored tensor."""
    program = program_of(training_program, name)
    lowered = [op for op in lower(program) if op.op.phase is Phase.UPDATE]
    members: dict[str, list] = {}
    for op in lowered:
        members.setdefault(op.lowered.fused_into or op.op.name, []).append(op)

    def trace(order):
        """For every op the version of each tensor's memory that it reads."""
        memory, version, seen = {}, {}, {}
        for op in order:
            node = op.op.node
            inputs = [memory.get(source, source) for source in node.all_input_nodes]
            seen[op.op.name] = [version.get(root, 0) for root in inputs]
            schema = getattr(node.target, "_schema", None)
            if schema is not None and schema.name.endswith("_") and node.args:
                first = node.args[0] if isinstance(node.args[0], list) else [node.args[0]]
                for written in first:
                    root = memory.get(written, written)
                    version[root] = version.get(root, 0) + 1
                    memory[node] = root
        return seen

    by_pass = [member for op in lowered if op.kind != "fused" for member in members[op.op.name]]
    assert trace(by_pass) == trace(lowered)


def test_mixed_types_are_one_pass(training_program):
    update = [
        op for op in lower(program_of(training_program, "adamw", half=True)) if op.op.phase is Phase.UPDATE
    ]
    weight = [w for op in update for w in op.works if getattr(w, "output_dtype", None) == "fp16"]
    assert [(w.operation, w.elements, w.dtype, w.in_place) for w in weight] == [
        ("mul+div+add", 30, "fp32", True)
    ]


def test_accumulation_is_one_scaled_addition_per_gradient(training_program):
    ops = lower(program_of(training_program, "adam", half=True, accumulation=3))
    works = [w for op in ops if op.op.phase is Phase.ACCUMULATE for w in op.works]
    assert works == [Elementwise("scaled_add", 30, works[0].dtype, operands=2, in_place=True)]


def test_intermediate_results_of_a_pass_are_never_in_memory(training_program):
    ops = {op.op.name: op for op in lower(program_of(training_program, "adam"))}
    inside = [op for op in ops.values() if op.op.phase is Phase.UPDATE and op.op.target == "aten::sqrt"]
    assert inside
    assert all(not op.lowered.stored for op in inside)
    for op in ops.values():
        if op.kind == "fused":
            assert ops[op.lowered.fused_into].works


def test_every_op_of_the_listing_is_there(training_program):
    program = program_of(training_program, "lamb", accumulation=2)
    assert [op.op.name for op in lower(program)] == [op.name for op in listed(program)]
