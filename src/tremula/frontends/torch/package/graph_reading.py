"""A captured program from the JSON data and tensors that `graph_writing` made.

Reading trusts nothing: operators come from a list (`allowed_ops`), arguments are plain values, names of
nodes are made again, and every op is run once on fake tensors, so that the shapes and dtypes of a program that
was read are the ones that torch itself derives.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensorMode

from tremula import checked_json
from tremula.errors import Error
from tremula.frontends.torch.graphs.program import (
    RECORD,
    Annotation,
    Interface,
    Record,
    TorchProgram,
    tensors_of,
)
from tremula.frontends.torch.graphs.verify import verify
from tremula.frontends.torch.package import allowed_ops
from tremula.frontends.torch.package.container import BadData
from tremula.frontends.torch.package.graph_writing import GRAPHS, INTERFACE_NAMES
from tremula.frontends.torch.package.operand_data import operand_tags
from tremula.frontends.torch.package.operand_rules import broken_rule
from tremula.frontends.torch.package.plain_data import Fields, decode, read_dtype, read_shape
from tremula.program.loops import Loops
from tremula.program.op import Phase, Placement, SourceLine
from tremula.program.verify import InvalidProgram


def decode_program(data: Any, tensors: Mapping[str, torch.Tensor]) -> TorchProgram:
    """The program that `graph_writing.encode_program` was given.

    Raises BadData if the data is not that of a sound program.
    """
    fields = Fields(data, "its program")
    training = fields.take("training", bool)
    interface = _decode_interface(fields.take("interface"))
    records = [_decode_record(item) for item in fields.take("records", list)]
    graphs = {
        name: None if graph is None else _GraphReader(name, records, tensors).read(graph)
        for name, graph in ((name, fields.take(name)) for name in GRAPHS)
    }
    if graphs["step"] is None:
        raise BadData("its program has no step")
    mutated_inputs = fields.take("mutated_inputs", list)
    if not all(type(i) is int and 0 <= i < len(interface.inputs) for i in mutated_inputs):
        raise BadData("its program is malformed")
    program = TorchProgram(
        training=training,
        step=graphs["step"],
        interface=interface,
        loops=_decode_loops(fields.take("loops")),
        accumulate=graphs["accumulate"],
        update=graphs["update"],
        mutated_buffers=frozenset(fields.strings("mutated_buffers")),
        mutated_inputs=frozenset(mutated_inputs),
        uses_random=fields.take("uses_random", bool),
    )
    fields.done()
    try:
        verify(program)
    except (InvalidProgram, RuntimeError, KeyError, IndexError) as problem:
        raise BadData(f"its program is not sound ({problem})") from problem
    return program


def _decode_interface(data: Any) -> Interface:
    fields = Fields(data, "the interface of its program")
    interface = Interface(**{name: fields.strings(name) for name in INTERFACE_NAMES})
    fields.done()
    return interface


def _decode_loops(data: Any) -> Loops:
    loops = checked_json.decode(Loops, data)
    if not all(1 <= value < 1 << 32 for value in vars(loops).values() if value is not False):
        raise BadData("the loops of its program are out of range")
    if loops.replicas % loops.input_group_size:
        raise BadData("the loops of its program do not fit together")
    return loops


def _decode_record(data: Any) -> Record:
    fields = Fields(data, "a record of its program")
    phases = {phase.value: phase for phase in Phase}
    phase = phases.get(fields.take("phase", str))
    place = fields.take("placement", list)
    sound = (
        len(place) == 4
        and all(type(n) is int and n >= 0 for n in place[:3])
        and type(place[3]) in (str, type(None))
    )
    if phase is None or not sound:
        raise BadData("a record of its program is malformed")
    attributes = decode(fields.take("attributes"))
    if not isinstance(attributes, dict) or not all(type(key) is str for key in attributes):
        raise BadData("a record of its program is malformed")
    annotation = Annotation(
        Placement(*place), fields.strings("scope"), attributes, fields.take("module", str)
    )
    source = fields.take("source", list, type(None))
    if source is not None:
        if [type(item) for item in source] != [str, int, str]:
            raise BadData("a source line of its program is malformed")
        source = SourceLine(*source)
    fields.done()
    return Record(phase, annotation, source)


class _GraphReader:
    """Builds one graph, node by node, and computes its shapes on the way."""

    def __init__(self, label: str, records: list[Record], tensors: Mapping[str, torch.Tensor]) -> None:
        self._label = label
        self._records = records
        self._tensors = tensors
        self._graph = fx.Graph()
        self._root = torch.nn.Module()
        self._nodes: list[fx.Node] = []
        self._mode = FakeTensorMode()
        self._constants = 0
        self._tags = operand_tags(self._node)

    def read(self, data: Any) -> fx.GraphModule:
        """The graph as a module that can be run."""
        if not isinstance(data, list):
            raise BadData("a graph of its program is malformed")
        readers = {
            "input": self._input,
            "constant": self._constant,
            "call": self._call,
            "output": self._output,
        }
        finished = False
        for item in data:
            fields = Fields(item, "an op of its program")
            kind = fields.take("kind", str)
            if finished or kind not in readers:
                raise BadData("a graph of its program is malformed")
            node = readers[kind](fields)
            fields.done()
            self._nodes.append(node)
            finished = kind == "output"
        if not finished:
            raise BadData("a graph of its program has no result")
        broken = broken_rule(self._graph)
        if broken is not None:
            raise BadData(f"its program {broken}")
        return fx.GraphModule(self._root, self._graph)

    def _node(self, payload: Any) -> fx.Node:
        if type(payload) is not int or not 0 <= payload < len(self._nodes):
            raise BadData("an op of its program uses a value that does not exist")
        return self._nodes[payload]

    # Names are made here and owe nothing to the file: torch turns them into source code.
    def _input(self, fields: Fields) -> fx.Node:
        if any(node.op != "placeholder" for node in self._nodes):
            raise BadData("a graph of its program is malformed")
        metas = _metas(fields)
        if len(metas) != 1:
            raise BadData("an input of its program is malformed")
        ((shape, dtype),) = metas
        node = self._graph.placeholder(f"input_{len(self._nodes)}")
        with self._mode:
            node.meta["val"] = torch.empty(shape, dtype=dtype)
        return node

    def _constant(self, fields: Fields) -> fx.Node:
        key = fields.take("tensor", str)
        if key not in self._tensors:
            raise BadData("a constant of its program is missing")
        name = f"_constant_{self._constants}"
        self._constants += 1
        self._root.register_buffer(name, self._tensors[key])
        node = self._graph.get_attr(name)
        node.meta["val"] = self._mode.from_tensor(self._tensors[key])
        return node

    def _call(self, fields: Fields) -> fx.Node:
        name = fields.take("op", str)
        target = allowed_ops.operator_from_file(name)
        args = decode(fields.take("args", list), self._tags)
        kwargs = decode(fields.take("kwargs"), self._tags)
        record = fields.take("record", int)
        if not isinstance(kwargs, dict) or not 0 <= record < len(self._records):
            raise BadData(f"the op {name} of its program is malformed")
        if target is operator.getitem:
            if len(args) != 2 or not isinstance(args[0], fx.Node) or type(args[1]) is not int or kwargs:
                raise BadData("a selection in its program is malformed")
        else:
            known = {argument.name for argument in target._schema.arguments}
            if not kwargs.keys() <= known or not all(
                _is_literal(value) for value in [*args, *kwargs.values()]
            ):
                raise BadData(f"the op {name} of its program is called with arguments that it does not take")
        node = self._graph.call_function(target, tuple(args), kwargs)
        node.meta[RECORD] = self._records[record]
        node.meta["val"] = self._computed(name, target, args, kwargs)
        claimed = [(tuple(tensor.shape), tensor.dtype) for tensor in tensors_of(node)]
        if claimed != _metas(fields):
            raise BadData(f"the op {name} of its program does not match the description in the file")
        return node

    def _computed(self, name: str, target: Any, args: Any, kwargs: Any) -> Any:
        """The op's result on fake tensors: torch checks the arguments and derives the shapes."""
        fake_args, fake_kwargs = fx.node.map_arg((tuple(args), kwargs), lambda node: node.meta["val"])
        try:
            with self._mode, torch.no_grad():
                return target(*fake_args, **fake_kwargs)
        except Error:
            raise  # a custom op that is not registered here
        except Exception as problem:
            raise BadData(f"the op {name} of its program cannot be run ({problem})") from problem

    def _output(self, fields: Fields) -> fx.Node:
        values = decode(fields.take("values", list), self._tags)
        for value in values:
            if not isinstance(value, fx.Node) or not isinstance(value.meta["val"], torch.Tensor):
                raise BadData("a graph of its program returns something that is not a tensor")
        node: fx.Node = self._graph.output(values)
        return node


def _metas(fields: Fields) -> list[tuple[tuple[int, ...], torch.dtype]]:
    metas = []
    for item in fields.take("result", list):
        if not isinstance(item, list) or len(item) != 2:
            raise BadData("a shape in its program is malformed")
        metas.append((read_shape(item[0]), read_dtype(item[1])))
    return metas


def _is_literal(value: Any) -> bool:
    """Whether torch's code generator writes this value down as a literal, or by a name of its own."""
    if isinstance(value, list | tuple):
        return all(_is_literal(item) for item in value)
    plain = (fx.Node, bool, int, float, str, torch.dtype, torch.device, torch.layout, torch.memory_format)
    return value is None or isinstance(value, plain)
