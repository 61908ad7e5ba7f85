"""Custom ops: registration, values, gradients, shapes, messages."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from tremula.errors import Error
from tremula.frontends.torch.ops import custom

DOMAIN = "org.example"


@pytest.fixture
def double() -> Iterator[str]:
    custom.register(DOMAIN, "Double", lambda x, factor=2.0: x * factor)
    yield "Double"
    custom.unregister(DOMAIN, "Double")


def apply(name: str, *inputs: torch.Tensor, **attributes: Any) -> list[torch.Tensor]:
    return custom.call(inputs, DOMAIN, name, custom.encode_attributes(attributes))


def test_forward_with_attributes(record: Any, double: str) -> None:
    recorded = record(lambda w, x: apply(double, x, factor=3.0)[0] + 1, torch.zeros(2))
    assert recorded(torch.tensor([1.0, 2.0]))[0].tolist() == [4.0, 7.0]


def test_torch_differentiates_where_no_backward_is_given(record: Any, double: str) -> None:
    def loss(weight: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.mse_loss(apply(double, weight * x)[0], torch.zeros(1))

    _, gradient = record(loss, torch.ones(1), training=True)(torch.tensor([3.0]))
    assert gradient.item() == pytest.approx(2 * (2 * 2 * 3) * 2 * 3)


def test_a_backward_of_ones_own_is_used(record: Any) -> None:
    custom.register(
        DOMAIN, "Odd", lambda x, y: (x + y, x), backward=lambda grads, ins, attrs: [grads[0] * 100, None]
    )

    def loss(weight: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.l1_loss(apply("Odd", weight * x, x)[0], torch.zeros(1))

    try:
        _, gradient = record(loss, torch.ones(1), training=True)(torch.tensor([3.0]))
    finally:
        custom.unregister(DOMAIN, "Odd")
    assert gradient.item() == 300.0


def test_shapes_are_those_of_the_implementation(record: Any) -> None:
    custom.register(DOMAIN, "Total", lambda x: torch.tensor(float(x.numpy().sum())))
    try:
        recorded = record(lambda w, x: apply("Total", x)[0] * w, torch.zeros(3))
        (result,) = recorded(torch.tensor([1.0, 2.0, 3.0]))
    finally:
        custom.unregister(DOMAIN, "Total")
    assert (result.shape, result.item()) == ((), 12.0)


def test_an_op_may_return_its_input(record: Any) -> None:
    custom.register(DOMAIN, "Same", lambda x: x)
    x = torch.ones(2)
    try:
        (result,) = record(lambda w, a: apply("Same", a)[0].add_(1), x)(x)
    finally:
        custom.unregister(DOMAIN, "Same")
    assert (result.tolist(), x.tolist()) == ([2.0, 2.0], [1.0, 1.0])


def test_an_unknown_op_is_named_with_the_users_line(record: Any) -> None:
    with pytest.raises(
        Error, match=r"custom op Missing of domain org\.example.*test_custom\.py:\d+"
    ) as caught:
        record(lambda w, x: apply("Missing", x)[0], torch.zeros(1))
    assert 'register("org.example", "Missing"' in caught.value.message
    assert custom.MODULES_VARIABLE in caught.value.message


def test_an_attribute_that_the_implementation_does_not_take_is_named(record: Any, double: str) -> None:
    with pytest.raises(
        Error, match=r"Double of domain org\.example, used at .*, has no attribute scale"
    ) as caught:
        record(lambda w, x: apply(double, x, scale=3.0)[0] + 1, torch.zeros(2))
    assert "test_custom.py" in caught.value.message
    assert "Its implementation for this host takes the attributes: factor." in caught.value.message


def test_too_many_inputs_are_refused_before_the_op_runs(record: Any, double: str) -> None:
    with pytest.raises(Error, match="cannot be called so: too many positional arguments"):
        record(lambda w, x: apply(double, x, x, x)[0] + 1, torch.zeros(2))


def test_results_must_be_tensors(record: Any) -> None:
    custom.register(DOMAIN, "Word", lambda x: "no tensor")
    try:
        with pytest.raises(Error, match="returned a str"):
            record(lambda w, x: apply("Word", x)[0], torch.zeros(1))
    finally:
        custom.unregister(DOMAIN, "Word")


@pytest.mark.parametrize(("value", "word"), [(-sys.float_info.max, "low"), (sys.float_info.max, "high")])
def test_floats_must_fit_the_device(value: float, word: str) -> None:
    for attribute in (value, [1.0, value]):
        with pytest.raises(Error, match=rf"1\.79769e\+308 is too {word} for a Popart float attribute\."):
            custom.encode_attributes({"scalar": attribute})


def test_modules_of_the_variable_are_imported_at_the_first_use(
    record: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_plugin_ops.py").write_text(
        "from tremula.custom_ops import register\nregister('org.plugin', 'Neg', lambda x: -x)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv(custom.MODULES_VARIABLE, "my_plugin_ops")
    recorded = record(lambda w, x: custom.call([x], "org.plugin", "Neg", "{}")[0], torch.zeros(1))
    assert recorded(torch.ones(1))[0].item() == -1.0
    custom.unregister("org.plugin", "Neg")


def test_a_missing_module_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(custom.MODULES_VARIABLE, "no_such_module_here")
    with pytest.raises(Error, match="no_such_module_here"):
        custom.find(DOMAIN, "x")


def test_the_plugin_for_the_public_test_suite(record: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    monkeypatch.setenv(custom.MODULES_VARIABLE, "vendor_like_ops")

    def both(weight: torch.Tensor, x: torch.Tensor) -> list[torch.Tensor]:
        cubed = custom.call([x, x], "com.acme", "Cube", "{}")
        total = custom.call([x], "test.poptorch", "ReduceOp", custom.encode_attributes({"reduction": "mean"}))
        return [*cubed, *total]

    results = record(both, torch.zeros(2))(torch.tensor([1.0, 2.0]))
    assert [result.tolist() for result in results] == [[2.0, 10.0], [1.0, 8.0], 1.5]


def test_gradients_reach_weights_when_a_wrapped_model_trains(double: str) -> None:
    import poptorch

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(1))

        def forward(self, x: torch.Tensor) -> Any:
            (y,) = poptorch.custom_op([self.weight * x], double, DOMAIN, 1, example_outputs=[x])
            return y, poptorch.identity_loss((y - 6.0) ** 2, reduction="mean")

    model = Model()
    training = poptorch.trainingModel(model, optimizer=poptorch.optim.SGD(model.parameters(), lr=0.05))
    for _ in range(20):
        training(torch.ones(1))
    assert model.weight.item() == pytest.approx(3.0, abs=1e-3)
