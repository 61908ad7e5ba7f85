"""Training and inference steps: wrapped by poptorch they give the numbers of the plain model."""

import copy

import pytest
import torch
from cosmictagger.losses import LossBalanceScheme, SegmentationLoss
from cosmictagger.metrics.summary import Totals
from cosmictagger.model import InferenceStep, TrainingStep
from cosmictagger.network import build, configuration
from cosmictagger.network.placement import keep_checkpoints, split

import poptorch

#: what a test can afford
TINY = {
    "depth": 1,
    "n_initial_filters": 3,
    "bottleneck_deepest": 4,
    "blocks_per_layer": 1,
    "blocks_deepest_layer": 1,
    "blocks_final": 1,
}


@pytest.fixture(autouse=True, scope="module")
def no_chip_figures():
    """Figures of the chip are not asked for here, and take longer than these models."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TREMULA_CHIP_MODEL", "off")
        yield


class OnePixel(torch.nn.Module):
    """The least that is a network: each pixel for itself."""

    def __init__(self):
        super().__init__()
        self.head = torch.nn.Conv2d(1, 3, 1)

    def forward(self, image):
        return tuple(self.head(plane) for plane in image.chunk(3, dim=1))


def batch(events, height=16, width=24):
    """Sparse charges, and labels that follow from them."""
    charge = torch.rand(events, 3, height, width) * 50
    image = charge * (torch.rand(events, 3, height, width) > 0.8)
    label = (image > 10).to(torch.uint8) + (image > 40)
    return image, label


def quiet(**changes):
    options = poptorch.Options().showCompilationProgressBar(False)
    options.deviceIterations(changes.get("iterations", 1)).replicationFactor(changes.get("replicas", 1))
    options.Training.gradientAccumulation(changes.get("accumulation", 1))
    options.outputMode(poptorch.OutputMode.All)
    return options


def step_of(name="a21", scheme="light", **changes):
    return TrainingStep(build(configuration(name, **(TINY | changes))), SegmentationLoss(scheme))


def trained_directly(step, image, label, pieces, lr):
    """One update from the mean of the gradients of some micro-batches."""
    optimizer = torch.optim.SGD(step.parameters(), lr=lr)
    results = [step(*each) for each in zip(image.chunk(pieces), label.chunk(pieces), strict=True)]
    (sum(loss for _, loss in results) / pieces).backward()
    optimizer.step()
    counts = torch.cat([counts for counts, _ in results])
    return counts, torch.stack([loss.detach() for _, loss in results])


@pytest.mark.parametrize(
    ("name", "scheme", "changes"),
    [("a21", "focal", {}), ("scc21", "even", {}), ("uresnet3d", "none", {})],
)
def test_training_gives_the_numbers_of_the_plain_model(name, scheme, changes):
    step = step_of(name, scheme, **changes)
    plain = copy.deepcopy(step)
    image, label = batch(4)
    model = poptorch.trainingModel(
        step, quiet(accumulation=2), poptorch.optim.SGD(step.parameters(), lr=0.01)
    )
    counts, loss = model(image, label)
    expected_counts, expected = trained_directly(plain, image, label, 2, 0.01)
    torch.testing.assert_close(loss, expected, rtol=1e-4, atol=1e-5)
    assert (counts - expected_counts).abs().max() <= 2  # a pixel on the edge may fall either way
    assert counts.sum() == image.numel()
    model.copyWeightsToHost()
    for (where, one), other in zip(step.state_dict().items(), plain.state_dict().values(), strict=True):
        # a leaky ReLU that flips with rounding shows in single gradients, which the learning rate makes small
        torch.testing.assert_close(
            one, other, rtol=2e-3, atol=2e-4, msg=lambda said, at=where: f"{at}: {said}"
        )


def test_replicas_are_one_large_batch_of_micro_batches():
    step = step_of()
    plain = copy.deepcopy(step)
    image, label = batch(4)
    options = quiet(replicas=2, accumulation=2)
    model = poptorch.trainingModel(step, options, poptorch.optim.SGD(step.parameters(), lr=0.01))
    counts, loss = model(image, label)
    _, expected = trained_directly(plain, image, label, 4, 0.01)
    assert counts.shape == (4, 3, 3, 3)
    torch.testing.assert_close(loss.sort().values, expected.sort().values, rtol=1e-4, atol=1e-5)
    model.copyWeightsToHost()
    torch.testing.assert_close(step.network.head.weight, plain.network.head.weight, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("scheme", [str(each) for each in LossBalanceScheme])
def test_half_precision_trains_in_half(scheme):
    step = TrainingStep(OnePixel(), SegmentationLoss(scheme)).half()
    image, label = batch(2)
    image /= 50
    optimizer = poptorch.optim.SGD(step.parameters(), lr=0.05, loss_scaling=128.0)
    model = poptorch.trainingModel(step, quiet(), optimizer)
    losses = [float(model(image.half(), label)[1]) for _ in range(6)]
    assert losses[-1] < losses[0]
    model.copyWeightsToHost()
    assert step.network.head.weight.dtype == torch.float16


def test_norms_of_a_half_model_hold_their_statistics_in_single_precision():
    step = step_of().half()
    image, label = batch(2)
    optimizer = poptorch.optim.SGD(step.parameters(), lr=0.01, loss_scaling=128.0)
    model = poptorch.trainingModel(step, quiet(), optimizer)
    _, loss = model(50 * image.half(), label)
    assert loss.isfinite()
    model.copyWeightsToHost()
    variance = step.network.initial.norm.running_var
    assert variance.dtype == torch.float32
    assert variance.max() > 65504 / 10
    assert all(each.isfinite().all() for each in step.parameters())


def test_images_in_single_precision_are_cast_to_the_type_of_a_half_model():
    step = step_of().half().eval()
    image, label = batch(1)
    model = poptorch.inferenceModel(InferenceStep(step.network, step.loss), quiet())
    torch.testing.assert_close(model(image, label)[1], model(image.half().float(), label)[1])


@pytest.mark.parametrize(("ipus", "accumulation"), [(2, 3), (4, 7)])
def test_a_pipeline_gives_the_numbers_of_one_ipu(ipus, accumulation):
    step = step_of(depth=1 if ipus == 2 else 3)
    plain = copy.deepcopy(step)
    split(step, ipus)
    keep_checkpoints(step)
    image, label = batch(accumulation, 16, 16)
    options = quiet(accumulation=accumulation)
    model = poptorch.trainingModel(step, options, poptorch.optim.SGD(step.parameters(), lr=0.01))
    _, loss = model(image, label)
    _, expected = trained_directly(plain, image, label, accumulation, 0.01)
    torch.testing.assert_close(loss, expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("fold_planes", [False, True])
def test_inference_gives_counts_and_what_is_asked_for(fold_planes):
    network = build(configuration("a21_2024", **TINY), fold_planes).eval()
    step = InferenceStep(
        network, SegmentationLoss("light"), scores=True, vertex=True, labels=True, probabilities=True
    )
    image, label = batch(2)
    model = poptorch.inferenceModel(step, quiet())
    found, expected = model(image, label), step(image, label)
    shapes = [(2, 3, 3, 3), (), (2, 3, 3, 32), (2, 3, 2), (2, 3, 16, 24), (2, 3, 3, 16, 24)]
    assert [tuple(each.shape) for each in expected] == shapes
    counts, loss, scores, vertex, labels, probabilities = found
    torch.testing.assert_close(loss.squeeze(), expected[1], rtol=1e-4, atol=1e-5)
    assert (counts - expected[0]).abs().max() <= 2
    assert (scores - expected[2]).abs().max() <= 2
    assert labels.dtype == torch.uint8
    assert (labels != expected[4]).sum() <= 4
    assert vertex.shape == expected[3].shape
    torch.testing.assert_close(probabilities, expected[5], rtol=1e-2, atol=1e-3)
    assert Totals.of(counts).metrics()["Average/Total_Accuracy"] == pytest.approx(
        float((labels == label).float().mean()), abs=1e-6
    )


def test_training_learns():
    step = step_of("demo")
    image, label = batch(4)
    model = poptorch.trainingModel(step, quiet(), poptorch.optim.Adam(step.parameters(), lr=2e-2))
    results = [model(image, label) for _ in range(40)]
    assert results[-1][1] < 0.6 * results[0][1]
    before, after = (Totals.of(results[at][0]).metrics()["Average/mIoU"] for at in (0, -1))
    assert after > 1.5 * before
