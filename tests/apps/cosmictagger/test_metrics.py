"""Metrics: counts against a plain loop, the original's definitions, sums over ranks, uncertainties, NaN."""

import json

import numpy as np
import pytest
import torch
from cosmictagger.losses import one_hot
from cosmictagger.metrics.bootstrap import estimates
from cosmictagger.metrics.on_device import confusion_counts, predicted_vertex, score_counts
from cosmictagger.metrics.report import Curve, make_report
from cosmictagger.metrics.summary import Totals, efficiency, iou, purity


@pytest.fixture
def counts():
    """Of eight images, as a fair classifier makes them."""
    random = np.random.default_rng(1)
    base = np.array([[900, 20, 5], [10, 80, 10], [5, 10, 40]])
    return random.poisson(base, size=(8, 3, 3, 3)).astype(float)


def segmented(true, predicted):
    """Logits whose largest is the predicted class, and one-hot truth."""
    return one_hot(predicted) * 5, one_hot(true)


def test_counts_are_those_of_a_loop_over_pixels():
    true = torch.randint(0, 3, (2, 5, 7), dtype=torch.uint8)
    logits = torch.randn(2, 3, 5, 7)
    expected = torch.zeros(2, 3, 3)
    for image, row, column in np.ndindex(2, 5, 7):
        expected[image, int(true[image, row, column]), int(logits[image, :, row, column].argmax())] += 1
    assert torch.equal(confusion_counts(logits, one_hot(true)), expected)


def test_of_equal_logits_the_first_class_is_taken_as_argmax_does():
    logits = torch.randint(0, 2, (1, 3, 16, 16)).float()
    true = torch.zeros(1, 16, 16, dtype=torch.uint8)
    counts = confusion_counts(logits, one_hot(true))
    assert counts[0, 0].tolist() == torch.bincount(logits.argmax(dim=1).flatten(), minlength=3).tolist()


def test_the_score_histogram_is_numpys():
    logits = torch.randn(1, 3, 20, 30) * 3
    true = torch.randint(0, 3, (1, 20, 30))
    found = score_counts(logits, one_hot(true))
    chances = torch.softmax(logits, dim=1)[0, 2]
    for each in range(3):
        expected, _ = np.histogram(chances[true[0] == each].numpy(), bins=32, range=(0, 1))
        assert found[0, each].tolist() == expected.tolist()


def test_metrics_are_those_of_the_definitions():
    true = torch.tensor([[[0, 0, 1, 1], [2, 2, 2, 0]]])
    predicted = torch.tensor([[[0, 1, 1, 1], [2, 0, 1, 0]]])
    one = confusion_counts(*segmented(true, predicted)).numpy()
    found = Totals.of(np.stack([one, one, one], axis=1)).metrics()
    assert found["plane1/Total_Accuracy"] == pytest.approx(5 / 8)
    assert found["plane1/Cosmic_IoU"] == pytest.approx(2 / 4)
    assert found["plane1/Neutrino_IoU"] == pytest.approx(1 / 3)
    assert found["plane1/mIoU"] == pytest.approx((2 / 4 + 1 / 3) / 2)
    assert found["plane1/Non_Bkg_Accuracy"] == pytest.approx(3 / 5)
    assert found["Average/mIoU"] == pytest.approx(found["plane1/mIoU"])
    assert purity(one[0]).tolist() == pytest.approx([2 / 3, 2 / 4, 1])
    assert efficiency(one[0]).tolist() == pytest.approx([2 / 3, 1, 1 / 3])


def test_averages_are_over_images_and_an_empty_union_counts_as_right():
    nothing = np.zeros((3, 3, 3))
    nothing[:, 0, 0] = 10
    half = nothing.copy()
    half[:, 2, 2], half[:, 2, 0] = 1, 1
    assert iou(nothing).tolist() == [[1, 1, 1]] * 3
    found = Totals.of([nothing, half]).metrics()
    assert found["Average/Neutrino_IoU"] == pytest.approx((1 + 1 / 2) / 2)
    assert found["Average/Non_Bkg_Accuracy"] == pytest.approx(1 / 2)


def test_sums_of_ranks_add_up_to_those_of_all_images(counts):
    together = Totals.of(counts, loss=2.0)
    apart = Totals.of(counts[:3], loss=1.0) + Totals.of(counts[3:], loss=2.6)
    assert apart.metrics() == pytest.approx(together.metrics())
    assert Totals.from_array(together.to_array()).metrics() == together.metrics()
    with pytest.raises(ValueError, match="a row of"):
        Totals.from_array([1.0, 2.0])


def test_nothing_at_all_is_not_defined_and_does_not_fail():
    found = Totals.of(np.zeros((0, 3, 3, 3))).metrics()
    assert all(np.isnan(value) for value in found.values())
    report = make_report(
        np.zeros((0, 3, 3, 3)),
        energies=[],
        categories=[],
        scores=np.zeros((0, 3, 3, 4)),
        vertex_distances=np.zeros((0, 3)),
    )
    assert np.isnan(report.metrics["Average/mIoU"].value)
    assert np.isnan(report.curve.area)
    json.dumps(report.to_plain(), allow_nan=False)


def test_a_report_agrees_with_the_sums_and_groups_events(counts):
    report = make_report(
        counts,
        energies=[0.2, 0.7, 0.7, 1.2, 5, 5, np.nan, 0.5],
        categories=["nu_e", "nu_mu", "NC", None, "nu_e", "nu_mu", "nu_tau", "NC"],
        vertex_distances=np.arange(24).reshape(8, 3).astype(float),
        bootstrap=50,
    )
    sums = Totals.of(counts).metrics()
    del sums["loss"]
    assert {name: report.metrics[name].value for name in sums} == pytest.approx(sums)
    assert [count for _, _, count, _ in report.by_energy] == [1, 3, 1, 0, 0, 2]
    assert {name: count for name, (count, _) in report.by_category.items()} == {
        "nu_e": 2,
        "nu_mu": 2,
        "NC": 2,
    }
    expected = iou(counts[[0, 4]])[..., 2].mean()
    assert report.by_category["nu_e"][1]["Average/Neutrino_IoU"].value == pytest.approx(expected)
    assert report.vertex["plane0/median_distance"].value == 10.5
    assert report.vertex["plane0/found"].value == 1
    assert report.confusion.sum() == counts.sum()
    json.dumps(report.to_plain(), allow_nan=False)


def test_intervals_hold_the_value_repeat_with_a_seed_and_shrink_with_more_events(counts):
    def width(report):
        each = report.metrics["Average/Neutrino_IoU"]
        assert each.low <= each.value <= each.high
        return each.high - each.low

    few, again = make_report(counts, bootstrap=200, seed=3), make_report(counts, bootstrap=200, seed=3)
    assert few.metrics == again.metrics
    assert width(make_report(np.tile(counts, (16, 1, 1, 1)), bootstrap=200)) < 0.5 * width(few)


def test_the_interval_of_a_mean_is_its_standard_error():
    values = np.random.default_rng(0).normal(size=(400, 1))
    (found,) = estimates(
        np.concatenate([values, np.ones_like(values)], axis=1), lambda s: s[..., :1] / s[..., 1:], 2000
    )
    assert (found.high - found.low) / 2 == pytest.approx(values.std() / 20, rel=0.1)


def test_the_curve_of_a_perfect_score_and_of_a_guess():
    perfect, guess = np.zeros((2, 1, 3, 3, 4))
    perfect[..., 0, 0] = perfect[..., 1, 0] = perfect[..., 2, 3] = 5
    guess[:] = 5
    assert Curve.of(perfect[None, 0]).area == 1
    assert Curve.of(guess[None, 0]).area == pytest.approx(0.5)
    curve = Curve.of(guess[None, 0])
    assert curve.retention.tolist() == [1, 0.75, 0.5, 0.25, 0]
    assert curve.cosmic_rejection.tolist() == [0, 0.25, 0.5, 0.75, 1]


def test_the_vertex_is_where_most_charge_of_neutrino_pixels_lies():
    charge = torch.zeros(2, 40, 60)
    true = torch.zeros(2, 40, 60, dtype=torch.uint8)
    true[0, 10, 20:40] = true[0, 10:30, 20] = 2  # two prongs from (10, 20)
    charge[0][true[0] == 2] = 1.0
    charge[0, 35, 50] = 500.0  # a cosmic pixel of high charge
    place = predicted_vertex(charge, one_hot(true))
    assert (place[0] - torch.tensor([10.0, 20.0])).abs().max() <= 4
    assert place[1].isnan().all()


@pytest.mark.parametrize(
    "wrong",
    [np.zeros((2, 3, 3)), np.zeros((2, 3, 3, 4)), np.full((1, 3, 3, 3), -1.0), np.full((1, 3, 3, 3), np.nan)],
)
def test_wrong_counts_are_refused(wrong):
    with pytest.raises(ValueError, match="confusion counts are"):
        Totals.of(wrong)


def test_lists_of_another_length_are_refused(counts):
    with pytest.raises(ValueError, match="8 events but 2 energies"):
        make_report(counts, energies=[1.0, 2.0])
