"""Images follow from stored pixels by one rule: the mean of the charge, the greatest label."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from cosmictagger.data import (
    Event,
    SparseEventDataset,
    SyntheticEvents,
    at_voxels,
    densify,
    densify_on_device,
    grid,
)
from cosmictagger.data.dense import most_downsample, vertex_pixels
from hypothesis import given
from hypothesis import strategies as st

import poptorch


@st.composite
def events(draw: st.DrawFn) -> Event:
    """Any event: also without pixels, with pixels twice, and in any order."""
    shape = (draw(st.sampled_from([4, 8, 24])), draw(st.sampled_from([4, 8, 40])))
    pixel = st.tuples(
        st.integers(0, shape[0] * shape[1] - 1), st.floats(0, 3000, width=32), st.integers(0, 2)
    )
    planes = [draw(st.lists(pixel, max_size=40)) for _ in range(3)]
    flat = [pixel for plane in planes for pixel in plane]
    return Event(
        shape,
        np.array([pixel[0] for pixel in flat], np.int64),
        np.array([pixel[1] for pixel in flat], np.float32),
        np.array([pixel[2] for pixel in flat], np.uint8),
        np.cumsum([0, *map(len, planes)]),
    )


def by_hand(event: Event, downsample: int) -> tuple[np.ndarray, np.ndarray]:
    """The rule, pixel by pixel."""
    wires, ticks = event.shape
    side = 2**downsample
    image = np.zeros((3, ticks // side, wires // side), np.float32)
    label = np.zeros(image.shape, np.int64)
    for plane in range(3):
        part = slice(event.offsets[plane], event.offsets[plane + 1])
        for pixel, value, kind in zip(event.ids[part], event.values[part], event.labels[part], strict=True):
            x, y = divmod(int(pixel), ticks)
            image[plane, y // side, x // side] += value
            label[plane, y // side, x // side] = max(label[plane, y // side, x // side], kind)
    return image / np.float32(side * side), label


@given(event=events())
def test_every_downsampling_follows_the_rule_to_the_last_bit(event: Event) -> None:
    for downsample in range(most_downsample(event.shape) + 1):
        image, label = densify(event, downsample)
        wanted_image, wanted_label = by_hand(event, downsample)
        assert image.dtype == np.float32
        assert label is not None
        assert label.dtype == np.uint8
        np.testing.assert_array_equal(image, wanted_image)
        np.testing.assert_array_equal(label, wanted_label)


def test_sides_are_halved_only_while_both_can_be() -> None:
    assert [grid((2048, 1280), downsample) for downsample in (0, 1, 8)] == [(1280, 2048), (640, 1024), (5, 8)]
    with pytest.raises(ValueError, match="2048 wires x 1280 ticks can be halved 0 to 8 times"):
        grid((2048, 1280), 9)
    with pytest.raises(ValueError, match="halved 0 to 8"):
        grid((2048, 1280), -1)


@given(event=events(), downsample=st.integers(0, 2))
def test_an_image_gives_each_stored_pixel_its_value_back(event: Event, downsample: int) -> None:
    height, width = grid(event.shape, downsample)
    image = np.arange(3 * height * width).reshape(3, height, width)
    wires, ticks = event.wires_and_ticks()
    planes = np.repeat(np.arange(3), event.counts)
    wanted = image[planes, ticks >> downsample, wires >> downsample]
    np.testing.assert_array_equal(at_voxels(event, image, downsample), wanted)
    several = np.stack([image, 2 * image, 3 * image], axis=1)
    np.testing.assert_array_equal(
        at_voxels(event, several, downsample), wanted[:, None] * np.array([1, 2, 3])
    )


def test_an_image_of_another_size_is_refused() -> None:
    event = SyntheticEvents(1, shape=(64, 32))[0]
    with pytest.raises(ValueError, match=r"shape \(3, 8, 8\)"):
        at_voxels(event, np.zeros((3, 8, 8)), 1)


def test_the_vertex_moves_with_the_image() -> None:
    event = SyntheticEvents(1, shape=(64, 32))[0]
    assert event.vertex is not None
    np.testing.assert_array_equal(vertex_pixels(event, 2), event.vertex[:, ::-1] // 4)


@pytest.mark.parametrize("downsample", [0, 2])
def test_a_model_makes_the_same_images_on_the_device(downsample: int) -> None:
    source = SyntheticEvents(2, shape=(64, 32), cosmics=2)
    dataset = SparseEventDataset(source, downsample, voxels=1000)

    class Images(torch.nn.Module):
        def forward(
            self, ids: torch.Tensor, values: torch.Tensor, labels: torch.Tensor
        ) -> tuple[torch.Tensor, ...]:
            return densify_on_device(ids, values, labels, dataset.size, downsample)

    model = poptorch.inferenceModel(Images(), poptorch.Options())
    batch = torch.utils.data.default_collate([dataset[0], dataset[1]])
    images, labels = model(*batch[:3])
    model.destroy()
    for number in range(2):
        image, label = densify(source[number], downsample)
        np.testing.assert_array_equal(images[number].numpy(), image)
        np.testing.assert_array_equal(labels[number].numpy(), label)
        assert batch[3][number].tolist() == source[number].counts.tolist()
