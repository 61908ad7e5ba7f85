"""The four loss schemes: closed forms, an implementation of its own in NumPy, gradients and half precision."""

import math

import numpy as np
import pytest
import torch
from cosmictagger.losses import LossBalanceScheme, SegmentationLoss, one_hot

SCHEMES = [str(scheme) for scheme in LossBalanceScheme]


def by_hand(logits, labels, scheme):
    """The loss as the definition reads, pixel by pixel, in double precision."""
    total = 0.0
    for plane in range(3):
        scores = logits[plane].astype(np.float64)
        scores = scores - scores.max(axis=1, keepdims=True)
        chances = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
        weighted = weights = 0.0
        of_class = {each: int((labels[:, plane] == each).sum()) for each in range(3)}
        for place in np.ndindex(labels[:, plane].shape):
            true = int(labels[:, plane][place])
            chance = chances[place[0], true, place[1], place[2]]
            weight = {
                "none": 1.0,
                "focal": (1 - chance) ** 2 / 3,
                "light": (1.0, 1.5, 10.0)[true],
                "even": 0.3333 / (of_class[true] + 1),
            }[scheme]
            weighted -= weight * math.log(chance)
            weights += weight
        total += weighted / weights
    return total


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("classes", [3, 2, 1])
def test_the_loss_is_that_of_the_definition_also_when_a_class_is_absent(scheme, classes):
    logits = tuple(torch.randn(2, 3, 4, 5) * 2 for _ in range(3))
    labels = torch.randint(0, classes, (2, 3, 4, 5), dtype=torch.uint8)
    expected = by_hand([each.numpy() for each in logits], labels.numpy(), scheme)
    assert SegmentationLoss(scheme)(logits, labels).item() == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_network_that_knows_nothing_starts_at_three_times_log_three(scheme):
    labels = torch.randint(0, 3, (1, 3, 4, 4))
    logits = (torch.zeros(1, 3, 4, 4),) * 3
    assert SegmentationLoss(scheme)(logits, labels).item() == pytest.approx(3 * math.log(3))


def test_a_neutrino_pixel_weighs_ten_times_a_background_pixel():
    logits = torch.zeros(1, 3, 1, 2)
    logits[0, 0, 0, :] = 1.0
    labels = torch.tensor([[[0, 2]]])
    normal = math.log(math.e + 2)
    expected = (1 * (normal - 1) + 10 * normal) / 11
    assert SegmentationLoss("light").of_plane(logits, one_hot(labels)).item() == pytest.approx(expected)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_certain_and_right_everywhere_is_no_loss_and_no_nan(scheme):
    labels = torch.randint(0, 3, (1, 4, 4))
    logits = (one_hot(labels) * 200).requires_grad_()
    loss = SegmentationLoss(scheme).of_plane(logits, one_hot(labels))
    loss.backward()
    assert loss.item() == 0
    assert logits.grad.isfinite().all()


def test_focal_weights_are_constants_to_the_gradient():
    logits = torch.randn(1, 3, 2, 2, requires_grad=True)
    labels = torch.randint(0, 3, (1, 2, 2))
    SegmentationLoss("focal").of_plane(logits, one_hot(labels)).backward()
    chances = torch.softmax(logits.detach(), dim=1)
    weight = (one_hot(labels) * (1 - chances) ** 2).sum(dim=1, keepdim=True)
    expected = weight * (chances - one_hot(labels)) / weight.sum()
    torch.testing.assert_close(logits.grad, expected)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_logits_are_judged_in_single_precision(scheme, dtype):
    logits = tuple((torch.randn(1, 3, 64, 64) * 3).to(dtype) for _ in range(3))
    labels = torch.randint(0, 3, (1, 3, 64, 64), dtype=torch.int32)
    loss = SegmentationLoss(scheme)(logits, labels)
    assert loss.dtype == torch.float32
    assert torch.equal(loss, SegmentationLoss(scheme)([each.float() for each in logits], labels))


def test_an_unknown_scheme_is_refused():
    with pytest.raises(ValueError, match="none, focal, even, light"):
        SegmentationLoss("heavy")
