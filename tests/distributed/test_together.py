"""What instances can do with each other besides training, and what they are told when they do not fit together."""

from __future__ import annotations

from typing import Any

import pytest
import torch

#: everything that one pair of processes is asked, for processes take long to start
_SCRIPT = """
import datetime
import torch.distributed as dist

found = {}
index = popdist.getInstanceIndex()

def told(action):
    try:
        action()
    except (poptorch.Error, RuntimeError) as error:
        return str(error)
    return ""

# -- popdist
before = popdist.isBackendInitialized()
popdist.init()
found["initialised"] = [before, popdist.isBackendInitialized()]
popdist.synchronize()
own = torch.tensor([1.0, 2.0]) * (index + 1)
found["sum"] = popdist.allReduceSum(own)
found["mean"] = popdist.allReduceMean(own)
found["broadcast"] = popdist.broadcast(own, root=1)
found["own"] = own
small = torch.tensor([index, 2], dtype=torch.int16)
found["small sum"] = told(lambda: popdist.allReduceSum(small))
found["sum afterwards"] = popdist.allReduceSum(small.int())
found["other types"] = [popdist.broadcast(small, root=1), popdist.broadcast(small > 0, root=1)]
popdist.registerCommunicator({1}, "second")
if index == 1:
    popdist.synchronize("second")
found["unknown"] = told(lambda: popdist.synchronize("third"))
found["on first"] = popdist.execute_on_instances({0}, lambda a, b: a + b, 1, b=2)
found["sum on second"] = popdist.execute_on_instances({1}, popdist.allReduceSum, own)
found["nobody"] = told(lambda: popdist.execute_on_instances({5}, print))

# -- torch's own group beside ours
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=60))
theirs = torch.tensor([index + 1.0])
dist.all_reduce(theirs)
found["theirs"] = theirs

# -- models that do not fit together
def training(model, options=None):
    options = options or popdist.poptorch.Options()
    wrapped = poptorch.trainingModel(model, options.showCompilationProgressBar(False), _momentum(model.parameters()))
    return wrapped

x, y = batches(4, 1)[0]
found["other shape"] = told(lambda: training(Dense(16 + index))(x, y))
found["other model"] = told(lambda: training([Dense, Blocks][index]())(x, y))
found["other batch"] = told(lambda: training(Dense())(x[: 4 - index], y[: 4 - index]))
found["only on the first"] = popdist.execute_on_instances({0}, lambda: told(lambda: training(Dense())(x, y)))
class Grouped(Dense):
    def __init__(self):
        super().__init__()
        self.whole = nn.Parameter(torch.ones(1))

grouped = training(Grouped())
grouped.whole.replicaGrouping(poptorch.CommGroupType.NoGrouping, 0, poptorch.VariableRetrievalMode.OnePerGroup)
found["grouped"] = told(lambda: grouped(x, y))

# -- two models in turn, new rates, checkpoints, weights on the host
torch.manual_seed(index)
models = [Dense(), Dense()]
wrapped = [training(model) for model in models]
for step in range(2):
    for each in wrapped:
        each(x + index, y)
wrapped[0].setOptimizer(torch.optim.SGD(models[0].parameters(), lr=0.5, momentum=0.9, weight_decay=0.01))
wrapped[0](x + index, y)
found["two models"] = [{k: v.clone() for k, v in model.state_dict().items()} for model in models]
checkpoint = found["two models"][1]
wrapped[0].load_state_dict(checkpoint)
found["loaded"] = {k: v.clone() for k, v in models[0].state_dict().items()}
wrapped[0](x + index, y)
found["after loading"] = {k: v.clone() for k, v in models[0].state_dict().items()}

# -- a compiled model in a file, written by one instance
path = os.path.join(os.path.dirname(sys.argv[1]), "model.poptorch")
if index == 0:
    wrapped[1].save(path)
popdist.synchronize()
read = poptorch.load(path)
read(x + index, y)
wrapped[1](x + index, y)
found["from a file"] = [{k: v.clone() for k, v in m.state_dict().items()} for m in (read.model, models[1])]

# -- plain options under the launcher are those of several processes, too
torch.manual_seed(index)
plain = Dense()
training(plain, poptorch.Options())(x + index, y)
found["plain options"] = {k: v.clone() for k, v in plain.state_dict().items()}

# -- inference concerns one instance only
if index == 0:
    options = popdist.poptorch.Options().showCompilationProgressBar(False)
    found["inference"] = poptorch.inferenceModel(Dense().eval(), options)(x).clone()

# -- data
options = popdist.poptorch.Options().randomSeed(3)
data = torch.utils.data.TensorDataset(torch.arange(22))
for mode in (poptorch.DataLoaderMode.Sync, poptorch.DataLoaderMode.Async):
    loader = poptorch.DataLoader(options, data, batch_size=2, shuffle=True, drop_last=True, mode=mode)
    found[f"data {mode.name}"] = [torch.cat([batch.clone() for batch, in loader]) for _ in range(2)]
    if mode is poptorch.DataLoaderMode.Async:
        loader.terminate()

popdist.finalizeBackend()
found["finalised"] = [popdist.isBackendInitialized(), told(lambda: wrapped[0](x, y))]
leave(found)
dist.destroy_process_group()
"""


@pytest.fixture(scope="module")
def both(run_once: Any) -> list[dict[str, Any]]:
    """What the two instances found."""
    left: list[dict[str, Any]] = run_once("both", _SCRIPT)
    return left


def test_the_backend_is_there_from_init_to_finalize(both: list[dict[str, Any]]) -> None:
    for found in both:
        assert found["initialised"] == [False, True]
        assert found["finalised"][0] is False
        assert "finalised" in found["finalised"][1]


def test_tensors_are_reduced_and_broadcast(both: list[dict[str, Any]]) -> None:
    for index, found in enumerate(both):
        assert found["sum"].tolist() == [3.0, 6.0]
        assert found["mean"].tolist() == [1.5, 3.0]
        assert found["broadcast"].tolist() == [2.0, 4.0]
        assert found["own"].tolist() == [1.0 + index, 2.0 + 2 * index]


def test_a_type_that_cannot_be_summed_is_named_and_breaks_nothing(both: list[dict[str, Any]]) -> None:
    for found in both:
        assert "type int16 cannot be summed" in found["small sum"]
        assert "tensor.int()" in found["small sum"]
        assert "without the others" not in found["small sum"]
        assert found["sum afterwards"].tolist() == [1, 4]


def test_any_type_is_broadcast(both: list[dict[str, Any]]) -> None:
    for found in both:
        small, truth = found["other types"]
        assert (small.dtype, small.tolist()) == (torch.int16, [1, 2])
        assert (truth.dtype, truth.tolist()) == (torch.bool, [True, True])


def test_a_communicator_must_be_known(both: list[dict[str, Any]]) -> None:
    assert "communicator third does not exist" in both[0]["unknown"]


def test_functions_run_on_some_instances_and_talk_among_them(both: list[dict[str, Any]]) -> None:
    assert [found["on first"] for found in both] == [3, None]
    assert both[0]["sum on second"] is None
    assert both[1]["sum on second"].tolist() == [2.0, 4.0]
    assert "no instance 5" in both[0]["nobody"]


def test_the_users_own_process_group_works_beside_ours(both: list[dict[str, Any]]) -> None:
    assert [found["theirs"].item() for found in both] == [3.0, 3.0]


@pytest.mark.parametrize(
    ("case", "where"),
    [
        ("other shape", "first.weight: [16, 6] float32 on instance 0, [17, 6] float32 on instance 1"),
        ("other model", "model: Dense on instance 0, Blocks on instance 1"),
        ("other batch", "[4, 6] float32 on instance 0, [3, 6] float32 on instance 1"),
    ],
)
def test_all_instances_hear_how_their_models_differ(
    both: list[dict[str, Any]], case: str, where: str
) -> None:
    for found in both:
        assert "instance 1 differs from instance 0" in found[case]
        assert where in found[case]


def test_a_training_model_is_not_for_some_of_the_instances(both: list[dict[str, Any]]) -> None:
    assert "execute_on_instances" in both[0]["only on the first"]
    assert both[1]["only on the first"] is None


def test_values_per_group_of_replicas_are_refused(both: list[dict[str, Any]]) -> None:
    assert "whole: replicaGrouping() is not supported" in both[0]["grouped"]


@pytest.mark.parametrize("case", ["two models", "loaded", "after loading", "from a file", "plain options"])
def test_weights_stay_the_same_on_both(both: list[dict[str, Any]], case: str) -> None:
    first, second = (found[case] if isinstance(found[case], list) else [found[case]] for found in both)
    for one, other in zip(first, second, strict=True):
        assert all(torch.equal(one[key], other[key]) for key in one)


def test_a_checkpoint_reaches_the_device(both: list[dict[str, Any]]) -> None:
    found = both[0]
    assert all(torch.equal(found["loaded"][key], value) for key, value in found["two models"][1].items())
    assert not torch.equal(found["after loading"]["first.weight"], found["loaded"]["first.weight"])


def test_a_model_from_a_file_goes_on_like_the_one_that_was_saved(both: list[dict[str, Any]]) -> None:
    read, saved = both[0]["from a file"]
    assert all(torch.equal(read[key], value) for key, value in saved.items())


def test_inference_needs_no_other_instance(both: list[dict[str, Any]]) -> None:
    assert both[0]["inference"].shape == (4, 4)


@pytest.mark.parametrize("mode", ["Sync", "Async"])
def test_data_are_dealt_out_without_repetition(both: list[dict[str, Any]], mode: str) -> None:
    orders = []
    for epoch in range(2):
        dealt = torch.cat([found[f"data {mode}"][epoch] for found in both]).tolist()
        assert len(dealt) == 20  # whole batches for both instances; two of 22 are left over
        assert len(set(dealt)) == 20
        assert set(dealt) <= set(range(22))
        orders.append(dealt)
    assert orders[0] != orders[1]
