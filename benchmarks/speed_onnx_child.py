"""What the speed benchmark of ONNX models measures inside one process of its own, for one row.

Both sides begin with the weights in the same file, and compute on the same data. A session runs operator by operator
at first, decides after two seconds whether a captured graph is faster, and may have it compiled; what is measured and
compared comes after.
"""

from __future__ import annotations

import copy
import pathlib
import statistics
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

import popart

from .models.resnet import ResNet
from .speed_models import Bert, WorkshopCnn
from .speed_times import Call, Times, interleaved, ratio

#: of a model that a builder goes on with, and of one that a session runs as it is
TRAINING_OPSET, INFERENCE_OPSET = 11, 17
MINIMAL_ROUNDS = 7
#: a session captures after this processor time and, beyond it, this number of steps; compiled code, if it comes, comes
#: later and is waited for
SETTLE_SECONDS, SETTLE_STEPS = 2.5, 7
#: steps of training whose losses are compared, and their rate: large enough for the losses to move
CHECKED_STEPS, CHECKED_RATE = 4, 1e-3
#: the rate of the steps that are timed: thousands of steps on one batch must not train it to vanishing gradients
RATE, MOMENTUM = 1e-6, 0.9
#: the largest difference beside the largest value. Where a network is so sensitive that PyTorch's own float32 losses
#: are further from those in float64, ours may be as far from these, times the factor
TOLERANCE, ROUNDING_FACTOR = 1e-3, 2.0
#: of the losses of networks with dropout
RANDOM_TOLERANCE = 0.2


@dataclass(frozen=True)
class Case:
    """A network, its inputs and its labels; classes are the second dimension of its output, or the last."""

    make: Callable[[], nn.Module]
    data: Callable[[], tuple[tuple[Tensor, ...], Tensor]]
    #: the output is the logarithm of a softmax
    log_probabilities: bool = False
    #: it draws random numbers in training: losses agree as closely as chance allows
    random: bool = False


def _bert_data() -> tuple[tuple[Tensor, ...], Tensor]:
    tokens = torch.randint(0, Bert.VOCABULARY, (1, 128))
    mask = (torch.arange(128) < 100).float()[None]
    return (tokens, mask), torch.randint(0, Bert.LABELS, (1, 128))


def _bert() -> nn.Module:
    """Without dropout: the losses of two programs could not be compared."""
    model = Bert(hidden=768, heads=12, layers=12)
    for module in model.modules():
        if hasattr(module, "dropout"):
            module.dropout = nn.Identity()
    return model


CASES = {
    "resnet50": Case(
        lambda: ResNet(50), lambda: ((torch.randn(1, 3, 224, 224),), torch.randint(0, 1000, (1,)))
    ),
    "bert": Case(_bert, _bert_data),
    "dropout-bert": Case(lambda: Bert(hidden=768, heads=12, layers=12), _bert_data, random=True),
    "cnn": Case(
        WorkshopCnn,
        lambda: ((torch.randn(16, 1, 28, 28),), torch.randint(0, 10, (16,))),
        log_probabilities=True,
    ),
}


def measure_inference(network: str, folder: pathlib.Path, seconds: float, wait: float) -> dict[str, Any]:
    """An inference session beside onnxruntime, on the same file."""
    import onnxruntime

    model, inputs, _ = _made(network)
    path = _exported(model.eval(), inputs, folder, training=False)
    feeds = _feeds(inputs)
    threads = torch.get_num_threads()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    other = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])

    flow = popart.DataFlow(1, {"output": popart.AnchorReturnType("All")})
    session = popart.InferenceSession(str(path), flow, _device())
    session.prepareDevice()
    anchors = session.initAnchorArrays()
    step = popart.PyStepIO({name: _as_popart(value) for name, value in feeds.items()}, anchors)
    runners: dict[str, Call] = {
        "ours": lambda: session.run(step),
        "theirs": lambda: other.run(None, feeds),
    }
    settled = _settle(runners["ours"], session, wait)
    difference = _difference(anchors["output"], runners["theirs"]()[0])
    return _report(runners, seconds, difference <= TOLERANCE, [difference], session, settled)


def measure_training(network: str, folder: pathlib.Path, seconds: float, wait: float) -> dict[str, Any]:
    """A training session beside the usual loop of PyTorch."""
    case = CASES[network]
    model, inputs, labels = _made(network)
    path = _exported(model.train(), inputs, folder, training=True)
    builder = popart.Builder(path.read_bytes())
    probabilities = "output" if case.log_probabilities else builder.aiOnnxOpset11.softmax(["output"], -1)
    named = builder.addInputTensor(popart.TensorInfo("INT32", list(labels.shape)), "labels")
    loss = builder.aiGraphcore.nllloss(
        [probabilities, named], popart.ReductionType.Mean, inputIsLogProbability=case.log_probabilities
    )
    flow = popart.DataFlow(1, {loss: popart.AnchorReturnType("All")})
    proto = builder.getModelProto()
    session = popart.TrainingSession(proto, flow, loss, _optimizer(RATE), _device())
    session.prepareDevice()
    session.weightsFromHost()
    anchors = session.initAnchorArrays()
    feeds = {**_feeds(inputs), "labels": labels.numpy()}
    step = popart.PyStepIO({name: _as_popart(value) for name, value in feeds.items()}, anchors)

    def ours() -> float:
        session.run(step)
        return float(anchors[loss].item())

    exact, _ = _loop(case, copy.deepcopy(model).double(), inputs, labels)
    theirs, sgd = _loop(case, model, inputs, labels)
    settled = _settle(ours, session, wait)
    session.updateOptimizerFromHost(_optimizer(CHECKED_RATE))
    session.weightsFromHost()  # the first weights again, and no velocity
    losses = {
        name: np.array([run() for _ in range(CHECKED_STEPS)])
        for name, run in (("ours", ours), ("theirs", theirs), ("float64", exact))
    }
    session.updateOptimizerFromHost(_optimizer(RATE))
    sgd.param_groups[0]["lr"] = RATE
    distances = [_difference(losses[name], losses["float64"]) for name in ("ours", "theirs")]
    agrees = distances[0] <= max(
        RANDOM_TOLERANCE if case.random else TOLERANCE, ROUNDING_FACTOR * distances[1]
    )
    report = _report({"ours": ours, "theirs": theirs}, seconds, agrees, distances, session, settled)
    return {**report, "losses": {name: values.tolist() for name, values in losses.items()}}


def _loop(
    case: Case, model: nn.Module, inputs: tuple[Tensor, ...], labels: Tensor
) -> tuple[Callable[[], float], torch.optim.Optimizer]:
    """The usual loop in the precision of the model, one step of it at each call, and its optimizer."""
    dtype = next(model.parameters()).dtype
    given = [value.to(dtype) if value.is_floating_point() else value for value in inputs]
    sgd = torch.optim.SGD(model.parameters(), lr=CHECKED_RATE, momentum=MOMENTUM)
    loss_of = functional.nll_loss if case.log_probabilities else functional.cross_entropy

    def step() -> float:
        sgd.zero_grad(set_to_none=True)
        value = loss_of(model(*given).flatten(0, -2), labels.flatten())
        value.backward()
        sgd.step()
        return value.item()

    return step, sgd


def _made(network: str) -> tuple[nn.Module, tuple[Tensor, ...], Tensor]:
    torch.manual_seed(0)
    model = CASES[network].make()
    torch.manual_seed(1)
    inputs, labels = CASES[network].data()
    return model, inputs, labels


def _exported(
    model: nn.Module, inputs: tuple[Tensor, ...], folder: pathlib.Path, *, training: bool
) -> pathlib.Path:
    path = folder / "model.onnx"
    mode = torch.onnx.TrainingMode.TRAINING if training else torch.onnx.TrainingMode.EVAL
    opset = TRAINING_OPSET if training else INFERENCE_OPSET
    running = {name: value.clone() for name, value in model.named_buffers()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of shapes that become constants, which is wanted
        torch.onnx.export(
            model, inputs, str(path), dynamo=False, opset_version=opset, training=mode,
            do_constant_folding=not training,
            input_names=[f"input{place}" for place in range(len(inputs))], output_names=["output"],
        )  # fmt: skip
    # the export of a model in training runs it: its running statistics have moved
    for name, value in model.named_buffers():
        value.copy_(running[name])
    return path


def _feeds(inputs: tuple[Tensor, ...]) -> dict[str, np.ndarray]:
    return {f"input{place}": value.numpy() for place, value in enumerate(inputs)}


def _as_popart(value: np.ndarray) -> np.ndarray:
    """Integers are of 32 bits on the device."""
    return value.astype(np.int32) if value.dtype == np.int64 else value


def _optimizer(rate: float) -> popart.Optimizer:
    return popart.SGD({"defaultLearningRate": (rate, False), "defaultMomentum": (MOMENTUM, True)})


def _device() -> Any:
    return popart.DeviceManager().createIpuModelDevice({})


def _settle(run: Call, session: Any, wait: float) -> float:
    """Run until the session has decided how it runs, at most `wait` seconds for compiled code; the seconds taken."""
    started = time.perf_counter()
    stop = time.thread_time() + SETTLE_SECONDS
    while time.thread_time() < stop:
        run()
    for _ in range(SETTLE_STEPS):
        run()
    while not session._session._step.settled and time.perf_counter() < started + wait:
        run()
    return time.perf_counter() - started


def _difference(mine: np.ndarray, other: np.ndarray) -> float:
    return float(np.abs(mine - other).max() / np.abs(other).max())


def _report(
    runners: dict[str, Call],
    seconds: float,
    agrees: bool,
    differences: list[float],
    session: Any,
    settled: float,
) -> dict[str, Any]:
    times: dict[str, Times] = interleaved(runners, seconds, MINIMAL_ROUNDS)
    ours, theirs = times["ours"], times["theirs"]
    return {
        "ours_ms": statistics.median(ours.clock) * 1000,
        "theirs_ms": statistics.median(theirs.clock) * 1000,
        "ratio": ratio(ours.clock, theirs.clock),
        "ratio_cpu": ratio(ours.processor, theirs.processor),
        #: of outputs from theirs; of losses from those in float64, and how far theirs are from these
        "differences": differences,
        "agrees": agrees,
        "form": _form(session),
        #: from the first step until the session ran as it does now, a compiler's work included
        "settled_seconds": settled,
    }


def _form(session: Any) -> str:
    """How the session's program runs."""
    form: str = session._session._step.form
    return form
