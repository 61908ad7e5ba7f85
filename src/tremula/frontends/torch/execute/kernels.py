"""Which of the host's kernels compute three-dimensional convolutions of one sample: `convolution_forms` are timed
against the host's own choice, once per problem and process, and the graph is rewritten where one is clearly faster.
"""

from __future__ import annotations

import operator
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import torch
from torch import fx

from tremula.frontends.torch.execute import convolution_forms as forms
from tremula.frontends.torch.execute.convolution_forms import Problem
from tremula.frontends.torch.execute.insertion import InGraph
from tremula.frontends.torch.graphs.program import tensors_of

_ATEN = torch.ops.aten
_FORWARD = _ATEN.convolution.default
_BACKWARD = _ATEN.convolution_backward.default
_LIBRARY = _ATEN.mkldnn_convolution.default

#: smaller convolutions do not matter, whatever computes them
_LEAST_FLOPS = 5_000_000
#: larger ones are timed on a narrower volume, down to this width
_MEASURED_FLOPS = 250_000_000
_MEASURED_WIDTH = 16
_MEASURE_SECONDS = 1.0
_ROUNDS = 2
#: another form must take less than this share of the original's time
_WORTH = 0.8
#: what took this many times as long as the best so far in its first run is not run again
_HOPELESS = 1.5

_Form = Callable[..., Any]
#: what won, by problem, forms that took part, and number of threads
_CHOSEN: dict[tuple[Problem, tuple[_Form, ...], int], _Form] = {}


def pick_kernels(graph: fx.Graph, *, for_compiler: bool = False, seconds: float = _MEASURE_SECONDS) -> None:
    """Rewrite convolutions of `graph` for which this host has something faster (with `for_compiler`, that torch's
    compiler can take). Problems that would be measured after `seconds` of work stay as they are.
    """
    if not torch._C._has_mkldnn or not torch.backends.mkldnn.enabled:
        return
    if torch.are_deterministic_algorithms_enabled():
        return  # what is chosen, and with it the last bits, depends on the clock
    found = [
        (problem, node)
        for node in graph.nodes
        if node.op == "call_function"
        for problem in [_problem(node)]
        if problem is not None and problem.flops >= _LEAST_FLOPS and _host_is_slow(problem)
    ]
    _measure({problem for problem, _ in found}, for_compiler, seconds)
    for problem, node in found:
        original, *_ = candidates(problem)
        form = _CHOSEN.get(_key(problem, for_compiler), original)
        if form is not original:
            rewrite(graph, node, problem, form)


def _problem(node: fx.Node) -> Problem | None:
    """What a node computes, if other forms than its own exist."""
    if node.target is _FORWARD and len(node.args) == 9 and not node.kwargs:
        x, weight, bias, stride, padding, dilation, transposed, _, groups = node.args
        operands, wanted, result = [x, weight, bias], None, node
    elif node.target is _BACKWARD and len(node.args) == 11 and not node.kwargs:
        result, x, weight, _, stride, padding, dilation, transposed, _, groups, mask = node.args  # type: ignore[assignment]
        operands, bias = [result, x, weight], None
        wanted = (bool(mask[0]), bool(mask[1]), bool(mask[2]))  # type: ignore[index]
        if not any(wanted) or not _only_items(node, wanted):
            return None
    else:
        return None
    tensors = [t for operand in operands if isinstance(operand, fx.Node) for t in tensors_of(operand)]
    if transposed or groups != 1 or any(t.dtype is not torch.float32 for t in tensors):
        return None
    shapes = [tuple(tensors_of(each)[0].shape) for each in (x, weight, result)]  # type: ignore[arg-type]
    if any(len(shape) != 5 for shape in shapes) or shapes[0][0] != 1 or 0 in shapes[0]:
        return None
    if not all(isinstance(extent, int) for shape in shapes for extent in shape):
        return None
    return Problem(
        input=shapes[0],
        weight=shapes[1],
        output=shapes[2],
        stride=_of_three(stride),
        padding=_of_three(padding),
        dilation=_of_three(dilation),
        biased=bias is not None,
        wanted=wanted,
    )


def _of_three(values: Any) -> tuple[int, ...]:
    return tuple(values) if len(values) == 3 else (values[0],) * 3


def _only_items(node: fx.Node, wanted: tuple[bool, ...]) -> bool:
    """Whether nobody asks for more than single gradients that are computed."""
    return all(
        user.target is operator.getitem and (wanted[user.args[1]] or not user.users)  # type: ignore[index]
        for user in node.users
    )


def _host_is_slow(problem: Problem) -> bool:
    """Whether the host would not use its convolution library."""
    x, weight, bias = (torch.empty(()).expand(shape) for shape in _operand_shapes(problem))
    operands = (x, weight, bias if problem.biased else None)
    backend = torch._C._select_conv_backend(*operands, *problem.geometry(problem.padding))
    return "slow" in str(backend).lower()


def _operand_shapes(problem: Problem) -> tuple[tuple[int, ...], ...]:
    return problem.input, problem.weight, problem.weight[:1]


def candidates(problem: Problem, for_compiler: bool = False) -> tuple[_Form, ...]:
    """The forms that are right for a problem, the original first."""
    cut = forms.can_be_cut(problem)
    if problem.wanted is not None:
        return (forms.backward_as_is, *([forms.backward_in_slabs] if cut else []))
    if for_compiler:
        return (forms.forward_as_is, *([forms.forward_in_slabs] if cut else []))
    return (forms.forward_as_is, forms.forward_by_library)


def _measure(problems: Iterable[Problem], for_compiler: bool, seconds: float) -> None:
    clock = _clock()
    stop = clock() + seconds
    for problem in sorted(problems, key=lambda each: -each.flops):
        key = _key(problem, for_compiler)
        if key not in _CHOSEN and clock() < stop:
            _CHOSEN[key] = _fastest(problem, *candidates(problem, for_compiler))


def _key(problem: Problem, for_compiler: bool) -> tuple[Problem, tuple[_Form, ...], int]:
    return problem, candidates(problem, for_compiler), torch.get_num_threads()


def _fastest(problem: Problem, original: _Form, *others: _Form) -> _Form:
    if not others:
        return original
    sample = _narrower(problem)
    operands = [torch.ones(shape) for shape in _operand_shapes(sample)]
    if sample.wanted is not None:
        operands = [torch.ones(sample.output), *operands[:2]]
    elif not sample.biased:
        operands[2] = None  # type: ignore[call-overload]
    times: dict[_Form, float] = {}
    # the original comes last: it is slow as a rule, and then once is enough
    for form in (*others, original):
        best = min(times.values(), default=float("inf"))
        try:
            times[form] = _seconds(lambda form=form: form(_NOW, sample, *operands), best)  # type: ignore[misc]
        except RuntimeError:
            continue  # this torch lacks the operator
    return min(times, key=lambda form: times[form] / (1 if form is original else _WORTH), default=original)


def _clock() -> Callable[[], float]:
    # on a busy machine others take time from the clock on the wall, not from a thread's own
    return time.thread_time if torch.get_num_threads() == 1 else time.perf_counter


def _seconds(run: Callable[[], Any], best: float) -> float:
    clock = _clock()
    times: list[float] = []
    with torch.no_grad():
        for _ in range(1 + _ROUNDS):
            started = clock()
            run()
            times.append(clock() - started)
            if times[0] > _HOPELESS * best and len(times) == 1:
                break
    return min(times)


def _narrower(problem: Problem) -> Problem:
    """The same problem on less of the width: what the host chooses does not depend on it."""
    wide = problem.output[-1]
    width = max(_MEASURED_WIDTH, wide * _MEASURED_FLOPS // problem.flops)
    if width >= wide:
        return problem
    less = (wide - width) * problem.stride[-1]
    narrow = replace(
        problem,
        input=(*problem.input[:-1], problem.input[-1] - less),
        output=(*problem.output[:-1], width),
    )
    return narrow if narrow.input[-1] > 0 and _host_is_slow(narrow) else problem


def rewrite(graph: fx.Graph, node: fx.Node, problem: Problem, form: _Form) -> None:
    """Compute what `node` gives by a form; the node is gone afterwards."""
    operands = node.args[:3]
    with graph.inserting_before(node):
        values = form(InGraph(graph, node, _fake), problem, *operands)
    if problem.wanted is None:
        node.replace_all_uses_with(values)
    else:
        for item in list(node.users):
            if item.users:
                item.replace_all_uses_with(values[item.args[1]])
            graph.erase_node(item)
    graph.erase_node(node)


class _Now:
    """Operators called at once."""

    def call(self, op: torch._ops.OpOverload, *args: Any, **kwargs: Any) -> Any:
        return op(*args, **kwargs)

    def item(self, values: Any, index: int) -> Any:
        return values[index]


def _fake(op: torch._ops.OpOverload, args: Any, kwargs: Any) -> Any:
    if op is not _LIBRARY:
        return op(*args, **kwargs)
    # torch does not say what this one gives
    x, weight, bias, padding, stride, dilation, groups = args
    zeros = [0] * len(stride)
    return _FORWARD(x, weight, bias, stride, padding, dilation, False, zeros, groups)


_NOW = _Now()
