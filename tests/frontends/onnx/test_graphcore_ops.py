"""The IPU's own operators: small cases with known answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

from tremula.errors import Error
from tremula.frontends.onnx.settings import Settings

from .models import graph_of, loaded, node, run_node, value


def own(type: str, *inputs: Any, **options: Any) -> list[torch.Tensor]:
    return run_node(type, *inputs, domain="ai.graphcore", **options)


def test_losses_reduce_as_they_say() -> None:
    values = np.array([1.0, -3.0], np.float32)
    assert own("IdentityLoss", values, reduction="Mean")[0].item() == -1.0
    assert own("L1", values, **{"lambda": 0.5}, reduction="Sum")[0].item() == 2.0
    assert own("L1", values, **{"lambda": 0.5}, reduction="NoReduction")[0].tolist() == [0.5, 1.5]


def test_ignored_labels_count_neither_in_the_sum_nor_in_the_mean() -> None:
    scores = torch.randn(4, 5)
    labels = torch.tensor([1, 3, 1, 0])
    (found,) = own("Nll", torch.softmax(scores, 1), labels.int(), reduction="Mean", ignoreIndex=1)
    wanted = functional.cross_entropy(scores, labels, ignore_index=1)
    assert torch.allclose(found, wanted)
    (logs,) = own("Nll", torch.log_softmax(scores, 1), labels.int(), reduction="Sum", inputIsLogProbability=1)
    assert torch.allclose(logs, functional.cross_entropy(scores, labels, reduction="sum"))


def test_labels_of_the_wrong_shape_are_refused() -> None:
    with pytest.raises(Error, match="the labels must have the shape"):
        own("Nll", np.ones((4, 5), np.float32), np.zeros((4, 1), np.int32))


def test_the_running_variance_is_that_of_a_sample() -> None:
    x, ones, zeros = torch.randn(3, 2, 4), torch.ones(2), torch.zeros(2)
    found = own("BatchNormalization", x, ones, zeros, zeros, ones, outputs=5, momentum=0.9)
    plain = run_node("BatchNormalization", x, ones, zeros, zeros, ones, outputs=5, momentum=0.9, opset=9)
    samples = x.transpose(0, 1).reshape(2, -1)
    assert torch.allclose(found[2], 0.9 + 0.1 * samples.var(1))
    assert torch.allclose(plain[2], 0.9 + 0.1 * samples.var(1, correction=0))
    assert torch.allclose(found[0], plain[0])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("spread", [0.0, 0.01, 1.0, 100.0])
def test_a_batch_norm_gives_the_statistics_of_the_batch(spread: float, dtype: torch.dtype) -> None:
    x = (torch.randn(8, 2, 16) * spread + torch.tensor([1.0, -2.0])[:, None]).to(dtype)
    ones, zeros = torch.ones(2), torch.zeros(2)
    found = run_node("BatchNormalization", x, ones, zeros, zeros, ones, outputs=5, momentum=0.5, opset=9)
    rows = x.double().transpose(0, 1).reshape(2, -1)
    rounding = {"rtol": 1e-5, "atol": 1e-8} if dtype is torch.float32 else {"rtol": 2e-3, "atol": 1e-6}
    torch.testing.assert_close(
        found[3].double(), rows.mean(1), rtol=rounding["rtol"], atol=rounding["rtol"] * spread
    )
    torch.testing.assert_close(found[4].double(), rows.var(1, correction=0), **rounding)
    torch.testing.assert_close(found[2].double(), 0.5 + 0.5 * rows.var(1, correction=0), **rounding)
    assert not any(each.requires_grad for each in found)


@pytest.mark.parametrize("strided", [False, True])
def test_groups_of_a_norm_are_neighbours_or_strided(strided: bool) -> None:
    x = torch.randn(2, 6, 3)
    scale, bias = torch.randn(6), torch.randn(6)
    result, mean, deviation = own(
        "GroupNormalization",
        x,
        scale,
        bias,
        outputs=3,
        num_groups=2,
        settings=Settings(strided_groups=strided),
    )
    group = x[:, ::2] if strided else x[:, :3]
    assert torch.allclose(mean[0], group[0].mean(), atol=1e-6)
    assert torch.allclose(deviation[0], 1 / (group[0].var(correction=0) + 1e-5).sqrt(), atol=1e-5)
    normed = (x[0, 0] - mean[0]) * deviation[0] * scale[0] + bias[0]
    assert torch.allclose(result[0, 0], normed, atol=1e-5)


def test_rounding_and_remainders() -> None:
    halves = np.array([-1.5, -0.5, 0.5, 1.5, 2.5], np.float32)
    assert own("Round", halves)[0].tolist() == [-2.0, -1.0, 1.0, 2.0, 3.0]
    assert own("NearbyInt", halves)[0].tolist() == [-2.0, 0.0, 0.0, 2.0, 2.0]
    first, second = np.array([-7.0, 7.0], np.float32), np.array([3.0, -3.0], np.float32)
    assert own("Fmod", first, second)[0].tolist() == [-1.0, 1.0]
    assert own("Remainder", first, second)[0].tolist() == [2.0, -2.0]
    counts = np.array([7, 2], np.uint32)
    assert own("IncrementMod", counts, increment=1.0, modulus=8.0)[0].tolist() == [0, 3]


def test_dynamic_parts_wrap_around_and_leave_their_tensor_alone() -> None:
    tensor = torch.arange(6.0).reshape(3, 2)
    offset = np.array([2], np.uint32)
    where = {"axes": [0], "sizes": [2]}
    assert own("DynamicSlice", tensor, offset, **where)[0].tolist() == [[4, 5], [0, 1]]
    update = own("DynamicUpdate", tensor, offset, np.full((2, 2), 9, np.float32), **where)[0]
    assert update.tolist() == [[9, 9], [2, 3], [9, 9]]
    assert own("DynamicAdd", tensor, offset, np.ones((2, 2), np.float32), **where)[0].tolist() == [
        [1, 2],
        [2, 3],
        [5, 6],
    ]
    assert own("DynamicZero", tensor, offset, **where)[0].tolist() == [[0, 0], [2, 3], [0, 0]]
    both = own("DynamicSlice", tensor, np.array([1, 1], np.uint32), axes=[0, 1], sizes=[1, 1])[0]
    assert both.tolist() == [[3]]
    assert tensor.flatten().tolist() == list(range(6))


@pytest.mark.parametrize(
    ("reduction", "wanted"),
    [
        ("sum", [3.0, 12.0, 0.0, 6.0]),
        ("max", [2.0, 5.0, 0.0, 6.0]),
        ("min", [1.0, 3.0, 0.0, 6.0]),
        ("mul", [2.0, 60.0, 1.0, 6.0]),
    ],
)
def test_scattered_elements_are_reduced(reduction: str, wanted: list[float]) -> None:
    source, index = np.array([1, 3, 2, 4, 5, 6], np.float32), np.array([0, 1, 0, 1, 1, 3], np.uint32)
    assert own("ScatterReduce", source, index, axis=0, axis_size=4, reduction=reduction)[0].tolist() == wanted


def test_groups_are_gathered_each_on_its_own() -> None:
    data = torch.arange(12.0).reshape(2, 3, 2)
    found = own("GroupedGather", data, np.array([[2, 0], [1, 1]], np.uint32), axis=1, group_size=2)[0]
    assert found.tolist() == [[[4, 5], [0, 1]], [[8, 9], [8, 9]]]


def test_sequences_are_copied_row_by_row() -> None:
    source, target = torch.arange(1.0, 7.0).reshape(6, 1), torch.full((4, 1), -1.0)
    counts, begin, to = (np.array(each, np.uint32) for each in ([1, 2], [0, 3], [0, 2]))
    assert own("SequenceSlice", source, target, counts, begin, to, zeroUnused=1)[0].flatten().tolist() == [
        1,
        0,
        4,
        5,
    ]
    assert own("SequenceSlice", source, target, counts, begin, to, zeroUnused=0)[0].flatten().tolist() == [
        1,
        -1,
        4,
        5,
    ]


def test_packed_sequences_are_padded_for_a_callback_and_packed_again() -> None:
    from tremula.frontends.onnx.interpreter import Interpreter

    callback = graph_of([node("ReduceSum", ["s"], ["r"], axes=[1], keepdims=1), node("Add", ["s", "r"], ["t"])],
                        [value("s", [1, 3, 1])], ["t"])  # fmt: skip
    names = ["d", "o", "l", "ro", "rl"]
    model = loaded(
        [
            node(
                "PackedDataBlock",
                names,
                ["y"],
                domain="ai.graphcore",
                maxSequenceLengths=[3],
                resultSize=3,
                callbackBatchSize=1,
                callback=callback,
            )
        ],
        [value(name, None) for name in names],
        ["y"],
        opset=11,
    )
    places, lengths = torch.tensor([0, 1]), torch.tensor([1, 2])
    values = dict(
        zip(names, (torch.tensor([[1.0], [2.0], [3.0]]), places, lengths, places, lengths), strict=True)
    )
    assert Interpreter(model.graph).run(values)["y"].flatten().tolist() == [2.0, 7.0, 8.0]


def test_convolutions_side_by_side_are_convolutions() -> None:
    data = [torch.randn(1, 2, 5, 5), torch.randn(1, 1, 4, 4)]
    weights = [torch.randn(3, 2, 3, 3), torch.randn(2, 1, 2, 2)]
    found = own(
        "MultiConv",
        data[0],
        weights[0],
        None,
        data[1],
        weights[1],
        torch.ones(2),
        outputs=2,
        strides=[1, 1, 2, 2],
        pads=[1, 1, 1, 1, 0, 0, 0, 0],
    )
    assert torch.allclose(found[0], functional.conv2d(data[0], weights[0], padding=1), atol=1e-6)
    assert torch.allclose(
        found[1], functional.conv2d(data[1], weights[1], torch.ones(2), stride=2), atol=1e-6
    )


def test_splines_of_degree_one_are_linear() -> None:
    basis, places = own(
        "SplineBasis",
        np.array([[0.25]], np.float32),
        np.array([5], np.int32),
        np.array([1], np.uint8),
        outputs=2,
        degree=1,
    )
    assert basis.tolist() == [[0.0, 1.0]] or basis.tolist() == [[1.0, 0.0]]
    assert places.tolist() == [[1, 2]]
    weights = torch.arange(5.0).reshape(5, 1, 1)
    (found,) = own("SplineWeighting", np.array([[2.0]], np.float32), weights, basis, places)
    assert found.item() == 2.0


def test_a_channel_of_zeros_is_added_to_images() -> None:
    image = np.full((1, 1, 3), 255, np.uint8)
    offsets, scales = np.full(3, 1, np.float16), np.full(3, 4, np.float16)
    (found,) = own("NormalizeImage", image, offsets, scales, scale=1 / 255)
    assert found.dtype is torch.float16
    assert found.flatten().tolist() == [0.0, 0.0, 0.0, 0.0]


def test_an_abort_is_an_error_where_its_condition_holds() -> None:
    from tremula.frontends.onnx.interpreter import Interpreter

    model = loaded(
        [node("Abort", ["c"], [], domain="ai.graphcore"), node("Neg", ["c"], ["y"])], [value("c", [])], ["y"]
    )
    interpreter = Interpreter(model.graph)
    assert interpreter.run({"c": torch.tensor(0.0)})["y"] == 0
    with pytest.raises(Error, match="Abort Program"):
        interpreter.run({"c": torch.tensor(1.0)})


def test_beam_search_and_ctc_loss_take_unsigned_lengths() -> None:
    logs = torch.log_softmax(torch.randn(5, 2, 4), 2)
    targets = np.array([[1, 2], [3, 1]], np.uint32)
    lengths, sizes = np.array([5, 5], np.uint32), np.array([2, 1], np.uint32)
    (loss,) = own("Ctc", logs, targets, lengths, sizes, reduction="Mean", blank=0)
    wanted = functional.ctc_loss(
        logs, torch.tensor([[1, 2], [3, 1]]), torch.tensor([5, 5]), torch.tensor([2, 1]), blank=0
    )
    assert torch.allclose(loss, wanted)
    probabilities, counts, labels = own(
        "CtcBeamSearchDecoder", logs, lengths, outputs=3, beam_width=5, top_paths=2
    )
    assert probabilities.shape == counts.shape == (2, 2)
    assert labels.shape == (2, 2, 5)


def test_scattered_values_go_into_larger_initial_ones() -> None:
    source, index = torch.randn(8, 16, 7), torch.randint(0, 8, (8, 1, 1))
    initial = torch.zeros(8, 17, 7)
    (found,) = own("ScatterReduce", source, index, initial, axis=0, axis_size=8, reduction="sum")
    expected = initial.clone()
    for row in range(8):
        expected[int(index[row])] += torch.nn.functional.pad(source[row], (0, 0, 0, 1))
    torch.testing.assert_close(found, expected)
