"""What goes wrong in real programs on a static graph: the line, the reason, the fix, and nothing broken."""

import inspect
import re
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

import poptorch
from tremula import log


def quiet(**settings):
    options = poptorch.Options().showCompilationProgressBar(False)
    for name, value in settings.items():
        getattr(options, name)(value)
    return options


@pytest.fixture(autouse=True)
def hints_come_again():
    log.forget_once()


class Network(torch.nn.Module):
    """Trains on good input; each `trouble` is a line that a static graph has no answer for."""

    def __init__(self, features=4):
        super().__init__()
        self.layer = torch.nn.Linear(features, features)
        self.register_buffer("shift", torch.ones(features))
        self.scale = torch.full((features,), 2.0)

    def forward(self, x, y, trouble=""):
        x = self.layer(x) + self.shift
        if trouble:
            x = getattr(self, trouble)(x)
        return x, F.mse_loss(x, y)

    def if_(self, x):
        if x.sum() > 0:
            return -x
        return x

    def while_(self, x):
        while x.abs().max() > 1:
            x = x / 2
        return x

    def assert_(self, x):
        assert not torch.isnan(x).any()
        return x

    def item(self, x):
        return x * x.mean().item()

    def int_(self, x):
        return x[: int(x.sum())]

    def float_(self, x):
        return x * float(x.sum())

    def tolist(self, x):
        return x + x[0].tolist()[0]

    def numpy(self, x):
        return x * x.detach().numpy().mean()

    def range_(self, x):
        return sum(x * i for i in range(x.sum().long()))

    def slice_(self, x):
        return x[: x.argmax()]

    def equal(self, x):
        return -x if torch.equal(x, x) else x

    def mask(self, x):
        return x[x > 0]

    def nonzero(self, x):
        return x[:, x.sum(0).nonzero().squeeze()]

    def unique(self, x):
        return x.long().unique()

    def select(self, x):
        return torch.masked_select(x, x > 0)

    def attribute(self, x):
        return x * self.scale

    def made_on_host(self, x):
        return torch.index_select(x, 1, torch.LongTensor([0, 1]))

    def to_cpu(self, x):
        return x * x.cpu()

    def buffer(self, x):
        self.shift = self.shift + 1
        return x

    def bug(self, x):
        return x @ x

    def minus_mask(self, x):
        return x * (1 - (x > 0))

    def lookup(self, x):
        return F.embedding(x.argmax(1) + 9, self.layer.weight)

    def misuse(self, x):
        return x.scatter(0, x, x, reduce=3)

    def key(self, x):
        return {}["missing"]


TROUBLES = {
    "if_": ("if, while", "torch.where"),
    "while_": ("if, while", "poptorch.for_loop"),
    "assert_": ("assert", "torch.where"),
    "item": ("item()", "outside the model"),
    "int_": ("int(tensor)", "tensor.int()"),
    "float_": ("float(tensor)", "tensor.float()"),
    "tolist": ("tolist()", "outside the model"),
    "numpy": ("numpy()", "poptorch.CPU"),
    "range_": ("range", "poptorch.for_loop"),
    "slice_": ("slice bound", "poptorch.dynamic_slice"),
    "equal": ("torch.equal", "(a == b).all()"),
    "mask": ("boolean mask", "torch.where(mask, x, 0)"),
    "nonzero": ("nonzero", "torch.where(mask, x, 0)"),
    "unique": ("unique", "fixed when the graph is compiled"),
    "select": ("masked_select", "masked_fill"),
    "attribute": ("Expected an IPU tensor", 'register_buffer("scale"'),
    "made_on_host": ("Expected an IPU tensor but got tensor(device=cpu, shape=[2], dtype=Long)", '"ipu"'),
    "to_cpu": ("cannot go to the host", "poptorch.CPU"),
}

X, Y = torch.rand(4, 4), torch.rand(4, 4)


def kept(model):
    return {name: value.clone() for name, value in model.state_dict().items()}


def assert_kept(model, before):
    after = model.state_dict()
    assert after.keys() == before.keys()
    for name, value in before.items():
        torch.testing.assert_close(after[name], value, rtol=0, atol=0)


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("trouble", TROUBLES)
def test_help_for_what_a_static_graph_cannot_do(trouble, training):
    model = Network()
    before = kept(model)
    wrapped = (poptorch.trainingModel if training else poptorch.inferenceModel)(model, quiet())
    with pytest.raises(poptorch.Error) as caught:
        wrapped(X, Y, trouble)
    text = str(caught.value)
    for expected in TROUBLES[trouble]:
        assert expected in text
    lines, first = inspect.getsourcelines(getattr(Network, trouble))
    reported = int(re.search(rf"at {re.escape(__file__)}:(\d+) in ", text)[1])
    assert first < reported < first + len(lines)
    assert len(text) < 900
    assert "FakeTensor" not in text
    assert_kept(model, before)
    # the model is as good as new
    output, _ = wrapped(X, Y)
    torch.testing.assert_close(output, X @ before["layer.weight"].T + before["layer.bias"] + 1)


def test_dynamic_shapes_are_also_what_torch_raises():
    from torch._subclasses.fake_tensor import DynamicOutputShapeException

    with pytest.raises(DynamicOutputShapeException, match="Shapes are fixed"):
        poptorch.inferenceModel(Network(), quiet())(X, Y, "mask")


@pytest.mark.parametrize(
    ("trouble", "kind"), [("bug", RuntimeError), ("misuse", TypeError), ("key", KeyError)]
)
def test_bugs_of_the_program_keep_their_type_and_name_the_line(trouble, kind, capfd):
    model = Network()
    before = kept(model)
    wrapped = poptorch.trainingModel(model, quiet())
    with pytest.raises(kind) as caught:
        wrapped(X[:2], Y[:2], trouble)
    assert not isinstance(caught.value, poptorch.Error)
    line = inspect.getsourcelines(getattr(Network, trouble))[1] + 1
    assert not hasattr(caught.value, "__notes__")
    said = capfd.readouterr().err
    assert f"{kind.__name__} in forward(), at {__file__}:{line} in {trouble}" in said
    assert "Traceback" not in said
    assert "FakeTensor" not in said + str(caught.value)
    assert_kept(model, before)
    wrapped(X, Y)


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize(("trouble", "kind"), [("minus_mask", RuntimeError), ("lookup", IndexError)])
def test_an_op_that_fails_when_it_runs_names_the_line_it_was_captured_at(trouble, kind, training, capfd):
    model = Network()
    before = kept(model)
    wrapped = (poptorch.trainingModel if training else poptorch.inferenceModel)(model, quiet())
    with pytest.raises(kind) as caught:
        wrapped(X, Y, trouble)
    line = inspect.getsourcelines(getattr(Network, trouble))[1] + 1
    said = capfd.readouterr().err
    assert f"captured at {__file__}:{line} in {trouble}: {caught.value}" in said
    assert f"{kind.__name__} in the op " in said
    assert not hasattr(caught.value, "__notes__")
    wrapped.destroy()
    assert_kept(model, before)


class WeightedLoss(torch.nn.Module):
    """Makes its loss of an unreduced one, and may forget to mark it."""

    def __init__(self, marked):
        super().__init__()
        self.layer = torch.nn.Linear(4, 3)
        self.marked = marked

    def forward(self, x, target):
        scores = self.layer(x)
        each = F.cross_entropy(scores, target, reduction="none")
        loss = (each * each).mean()
        return scores, poptorch.identity_loss(loss, reduction="none") if self.marked else loss


LINE_OF_LOSS = inspect.getsourcelines(WeightedLoss.forward)[1] + 2


def test_a_loss_of_several_values_is_refused_with_its_line():
    wrapped = poptorch.trainingModel(WeightedLoss(marked=False), quiet())
    with pytest.raises(poptorch.Error, match=r"must be a scalar tensor.* shape \[4\]") as caught:
        wrapped(X, torch.tensor([0, 1, 2, 0]))
    assert f"computed at {__file__}:{LINE_OF_LOSS} in forward" in str(caught.value)
    assert "poptorch.identity_loss(loss, reduction='mean')" in str(caught.value)
    marked = poptorch.trainingModel(WeightedLoss(marked=True), quiet())
    marked(X, torch.tensor([0, 1, 2, 0]))


@pytest.mark.parametrize("marked", [False, True])
def test_an_unreduced_loss_of_one_sample_that_is_used_further_is_announced(marked, capfd):
    poptorch.trainingModel(WeightedLoss(marked), quiet())(X[:1], torch.tensor([2]))
    said = capfd.readouterr().err
    assert ("which is not trained" in said) is not marked
    assert (f"{__file__}:{LINE_OF_LOSS}" in said) is not marked


def test_an_unreduced_loss_of_one_sample_that_is_returned_is_the_loss(capfd):
    class Plain(torch.nn.Linear):
        def forward(self, x, target):
            return F.cross_entropy(super().forward(x), target, reduction="none")

    poptorch.trainingModel(Plain(4, 3), quiet())(X[:1], torch.tensor([2]))
    assert "not trained" not in capfd.readouterr().err


def test_a_module_that_is_all_torchs_names_the_line_of_the_call(capfd):
    wrapped = poptorch.inferenceModel(torch.nn.Linear(3, 3), quiet())
    with pytest.raises(RuntimeError):
        wrapped(torch.rand(2, 5))
    assert f"RuntimeError in forward(), at {__file__}:" in capfd.readouterr().err


def test_a_reassigned_buffer_is_refused_and_put_back():
    model = Network()
    before = kept(model)
    wrapped = poptorch.inferenceModel(model, quiet())
    with pytest.raises(poptorch.Error, match="shift is reassigned within the model"):
        wrapped(X, Y, "buffer")
    assert_kept(model, before)
    wrapped(X, Y)


def test_len_shape_and_iteration_are_fine():
    class Static(torch.nn.Module):
        def forward(self, x):
            assert x.dim() == 2
            assert x.dtype is torch.float32
            return sum(row for row in x) * len(x) / x.shape[0]

    torch.testing.assert_close(poptorch.inferenceModel(Static(), quiet())(X), X.sum(0))


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((X[:2], Y), "Shape mismatch for x"),
        ((X.double(), Y), "Data type mismatch for x"),
        ((X, Y, "item"), "Value mismatch for trouble"),
        ((X, (Y,)), "Type mismatch for y"),
    ],
)
def test_a_changed_input_names_the_line_and_leaves_the_weights(args, message):
    model = Network()
    wrapped = poptorch.trainingModel(model, quiet())
    wrapped(X, Y, "")
    before = kept(model)
    with pytest.raises(poptorch.Error) as caught:
        wrapped(*args)  # here
    line = inspect.currentframe().f_lineno - 1
    text = str(caught.value)
    assert message in text
    assert "destroy()" in text
    assert f"at {__file__}:{line} in test_a_changed_input" in text
    assert_kept(model, before)
    wrapped(X, Y, "")
    assert not torch.equal(model.layer.weight, before["layer.weight"])


def test_backward_on_an_output_names_the_line():
    model = Network()
    wrapped = poptorch.trainingModel(model, quiet())
    _, loss = wrapped(X, Y)
    before = kept(model)
    with pytest.raises(poptorch.Error, match="backward") as caught:
        loss.backward()
    assert f"at {__file__}:{inspect.currentframe().f_lineno - 1} in" in str(caught.value)
    assert_kept(model, before)


def test_a_remainder_is_explained_with_the_arithmetic():
    model = Network()
    before = kept(model)
    wrapped = poptorch.inferenceModel(model, quiet(deviceIterations=3))
    with pytest.raises(AssertionError, match="Invalid batch dimension") as caught:
        wrapped(X, Y)
    assert "2 more samples or 1 fewer" in str(caught.value)
    assert_kept(model, before)
    wrapped(X[:3], Y[:3])


def test_a_remainder_that_the_loader_keeps_is_announced(capfd):
    dataset = torch.utils.data.TensorDataset(torch.rand(7, 4))
    poptorch.DataLoader(quiet(), dataset, batch_size=2, drop_last=False)
    assert "drop_last" in capfd.readouterr().err


@pytest.mark.parametrize(
    "convert", [lambda m: m.half(), lambda m: m.to("cpu"), lambda m: m.to(torch.float64)]
)
@pytest.mark.parametrize("wrap", [poptorch.inferenceModel, poptorch.trainingModel])
def test_converting_the_wrapper_returns_the_module_with_one_warning(convert, wrap, capfd):
    model = Network()
    wrapped = wrap(model, quiet())
    converted = convert(wrapped)
    assert isinstance(converted, Network)
    assert not isinstance(converted, poptorch.PoplarExecutor)
    said = capfd.readouterr().err
    assert said.count("returns the plain module") == 1
    assert f"{__file__}:" in said
    assert "keep the object" in said


def test_other_methods_of_the_module_are_reached_without_a_warning(capfd):
    wrapped = poptorch.inferenceModel(Network(), quiet())
    wrapped.eval()
    wrapped.state_dict()
    assert "plain module" not in capfd.readouterr().err


@pytest.mark.parametrize("method", ["eval", "train"])
@pytest.mark.parametrize("wrap", [poptorch.inferenceModel, poptorch.trainingModel])
def test_a_wrapper_that_its_module_takes_the_place_of_is_announced_at_the_line(method, wrap, capfd):
    model = wrap(Network(), quiet())
    model = getattr(model, method)()
    line = inspect.currentframe().f_lineno - 1
    assert type(model) is not poptorch.PoplarExecutor
    said = capfd.readouterr().err
    assert said.count(f"{method}() of a wrapped model, at {__file__}:{line}") == 1
    assert f"keep the object that {wrap.__name__} returned" in said


def test_a_wrapper_that_never_gets_a_name_is_announced(capfd):
    poptorch.inferenceModel(Network(), quiet()).eval()
    assert "eval() of a wrapped model, at" in capfd.readouterr().err


def test_a_wrapper_that_goes_out_of_scope_later_is_not_lost(capfd):
    wrapped = poptorch.inferenceModel(Network(), quiet())
    wrapped.eval()
    wrapped(X, Y)
    del wrapped
    assert "wrapped model" not in capfd.readouterr().err


def test_converting_the_module_after_wrapping_is_announced(capfd):
    model = Network()
    wrapped = poptorch.trainingModel(model, quiet())
    wrapped(X, Y)
    model.half()
    said = capfd.readouterr().err
    assert "after it had been wrapped" in said
    assert f"{__file__}:{inspect.currentframe().f_lineno - 3}" in said


def test_an_optimizer_stepped_on_the_host_is_announced(capfd):
    model = Network()
    optimizer = poptorch.optim.SGD(model.parameters(), lr=0.1)
    wrapped = poptorch.trainingModel(model, quiet(), optimizer=optimizer)
    wrapped(X, Y)
    optimizer.step()
    said = capfd.readouterr().err
    assert "optimizer.step() was called on the host" in said
    assert f"{__file__}:{inspect.currentframe().f_lineno - 3}" in said


def test_an_option_without_effect_is_announced_once(capfd):
    for _ in range(2):
        options = quiet()
        options._Popart.set("timeLimitScheduler", 10.0)
        poptorch.inferenceModel(Network(), options)(X, Y)
    assert capfd.readouterr().err.count("has no effect here") == 1


_PAGE = (Path(__file__).parents[2] / "docs" / "errors.md").read_text(encoding="utf-8")
_PRELUDE, *_SECTIONS = _PAGE.split("\n## ")


def _programs(text):
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


@pytest.mark.parametrize("section", [s for s in _SECTIONS if _programs(s)], ids=lambda s: s.splitlines()[0])
def test_the_page_of_errors_is_true(section):
    failing, working = _programs(section)
    start = "\n".join(_programs(_PRELUDE))
    with pytest.raises((poptorch.Error, AssertionError)):
        exec(start + failing, {"__name__": "program"})  # noqa: S102 (our own page)
    exec(start + working, {"__name__": "program"})  # noqa: S102
