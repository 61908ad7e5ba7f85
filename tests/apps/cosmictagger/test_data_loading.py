"""Loaders give the same batches in the same order, however many processes read, and feed a model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from cosmictagger.data import (
    BadEventFile,
    EventDataset,
    EventFile,
    EventFiles,
    SparseEventDataset,
    SyntheticEvents,
    densify,
    event_loader,
    iotest,
    split,
)

import poptorch
from tremula.frontends.torch.data.epochs import EpochSampler


@pytest.fixture
def files(small_file: Path) -> Iterator[EventFiles]:
    with EventFiles(small_file) as found:
        yield found


def test_an_element_is_image_label_and_index(files: EventFiles) -> None:
    dataset = EventDataset(files, 1)
    assert len(dataset) == 10
    image, label, index = dataset[4]
    wanted_image, wanted_label = densify(files[4], 1)
    np.testing.assert_array_equal(image.numpy(), wanted_image)
    np.testing.assert_array_equal(label.numpy(), wanted_label)
    assert (image.dtype, label.dtype, index.dtype) == (torch.float32, torch.uint8, torch.int32)
    assert image.shape == label.shape == (3, 80, 128)
    assert int(index) == 4
    assert dataset.element_bytes == image.nbytes + label.nbytes


def test_the_charge_may_be_given_as_a_logarithm(files: EventFiles) -> None:
    plain, log = EventDataset(files, 2)[0][0], EventDataset(files, 2, log=True)[0][0]
    torch.testing.assert_close(log, torch.log(plain + 1))


def test_a_part_keeps_the_indices_of_the_source(files: EventFiles) -> None:
    training, validation = split(len(files), (0.7, 0.3))
    dataset = EventDataset(files, 2, events=validation)
    assert [int(dataset[position][2]) for position in range(3)] == validation.tolist()
    assert len(EventDataset(files, events=training)) == 7
    with pytest.raises(ValueError, match="but the source has 10 events"):
        EventDataset(files, events=[10])


def test_detector_data_has_no_labels(small_file: Path) -> None:
    source = EventFile(small_file, labels=None)
    image, index = EventDataset(source, 2, labels=False)[3]
    assert image.shape == (3, 40, 64)
    assert int(index) == 3
    with pytest.raises(ValueError, match="Event 3 has no labels"):
        EventDataset(source)[3]


def test_sparse_elements_do_not_drop_pixels_in_silence(files: EventFiles) -> None:
    with pytest.raises(ValueError, match="there is room for 10"):
        SparseEventDataset(files, voxels=10)[0]
    dataset = SparseEventDataset(files, 1, voxels=5000)
    ids, values, labels, counts, index = dataset[2]
    assert counts.tolist() == files[2].counts.tolist()
    assert values.sum().item() == pytest.approx(files[2].values.sum(), rel=1e-5)
    assert int(ids.max()) < 80 * 128
    assert not values[0, counts[0] :].any()
    assert (ids.dtype, labels.dtype, int(index)) == (torch.int32, torch.uint8, 2)
    assert dataset.element_bytes == sum(part.nbytes for part in (ids, values, labels, counts))


def order(loader: torch.utils.data.DataLoader, epochs: int = 2) -> list[list[int]]:
    """The events of each epoch, as they come; each image is checked against its index."""
    found = []
    for _ in range(epochs):
        indices: list[int] = []
        for image, _, index in loader:
            source = loader.dataset
            for row, number in zip(image, index.tolist(), strict=True):
                wanted = densify(SyntheticEvents(10, 3, shape=(256, 160)).read(number), 2)[0]
                assert np.array_equal(row.numpy(), wanted), (source, number)
            indices += index.tolist()
        found.append(indices)
    return found


@pytest.mark.parametrize(
    ("workers", "context"),
    [(0, None), (1, "fork"), (2, "fork"), pytest.param(2, "spawn", marks=pytest.mark.slow)],
)
def test_the_order_does_not_depend_on_worker_processes(
    files: EventFiles, workers: int, context: str | None
) -> None:
    files[0]  # the file is open in this process
    extra = {} if context is None else {"multiprocessing_context": context}
    loader = event_loader(EventDataset(files, 2), 3, seed=5, workers=workers, **extra)
    assert len(loader) == 3
    assert order(loader) == [
        EpochSampler(10, 5, epoch=epoch).indices(epoch)[:9].tolist() for epoch in range(2)
    ]


@pytest.mark.parametrize(
    ("mode", "workers"), [("sync", 0), ("sync", 1), ("async", 0), ("async_rebatched", 0)]
)
def test_poptorch_loaders_give_the_same_order(files: EventFiles, mode: str, workers: int) -> None:
    options = poptorch.Options()
    options.deviceIterations(2)
    loader = event_loader(EventDataset(files, 2), 2, options=options, mode=mode, workers=workers, seed=5)
    assert len(loader) == 2
    try:
        assert order(loader) == [EpochSampler(10, 5).indices(epoch)[:8].tolist() for epoch in range(2)]
    finally:
        loader.terminate()


def test_ranks_take_turns_and_a_run_can_go_on(files: EventFiles) -> None:
    dataset = EventDataset(files, 2)
    parts = [order(event_loader(dataset, 1, seed=5, rank=rank, ranks=2), 1)[0] for rank in range(2)]
    assert sorted(parts[0] + parts[1]) == list(range(10))
    rest = order(event_loader(dataset, 1, seed=5, done=4), 1)[0]
    assert sorted(rest + parts[0][:2] + parts[1][:2]) == list(range(10))


def test_all_events_can_be_had_for_inference(files: EventFiles) -> None:
    options = poptorch.Options()
    options.deviceIterations(2)
    loader = event_loader(EventDataset(files, 2), 2, options=options, shuffle=False, remainder="repeat")
    assert order(loader, 1) == [[*range(10), 0, 1]]


def test_batches_feed_a_model(files: EventFiles) -> None:
    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Conv2d(3, 3, 1)

        def forward(self, image: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
            loss = torch.nn.functional.cross_entropy(self.layer(image), label[:, 0].long())
            return poptorch.identity_loss(loss, reduction="none")

    options, model = poptorch.Options(), Model()
    training = poptorch.trainingModel(model, options, poptorch.optim.SGD(model.parameters(), lr=0.001))
    loader = event_loader(EventDataset(files, 3, log=True), 5, options=options)
    losses = [float(training(image, label)) for image, label, _ in loader]
    training.destroy()
    assert len(losses) == 2
    assert np.isfinite(losses).all()


@pytest.mark.slow  # torch takes five seconds to end a worker that raised
def test_an_error_in_a_worker_names_the_file(small_file: Path, tmp_path: Path) -> None:
    import h5py

    path = tmp_path / "bad.h5"
    path.write_bytes(small_file.read_bytes())
    with h5py.File(path, "r+") as file:
        table = file["Data/sparse2d_sbndwire_group/voxels"]
        rows = table[:]
        rows["value"] = -1
        table[:] = rows
    loader = event_loader(EventDataset(EventFiles(path), 2), 2, workers=1)
    with pytest.raises(BadEventFile, match=r"bad.h5: .*the charge of pixel"):
        next(iter(loader))


def test_modes_need_poptorch_options(files: EventFiles) -> None:
    with pytest.raises(ValueError, match="give options"):
        event_loader(EventDataset(files), mode="async")
    with pytest.raises(ValueError, match="must be one of sync, async"):
        event_loader(EventDataset(files), mode="fast")


@pytest.mark.parametrize("workers", [0, 1])
def test_an_io_test_reports_events_and_bytes(
    files: EventFiles, capsys: pytest.CaptureFixture[str], workers: int
) -> None:
    report = iotest(EventDataset(files, 2), 4, batches=5, workers=workers)
    assert (report.batches, report.events, report.batch_size) == (5, 20, 4)
    assert report.first_batch_seconds > 0
    assert report.events_per_second == pytest.approx(20 / report.seconds)
    assert report.gigabytes_per_second == pytest.approx(report.events_per_second * 3 * 40 * 64 * 5 / 1e9)
    assert report.file_gigabytes_per_second == pytest.approx(
        report.events_per_second * files.bytes_on_disk / 10 / 1e9
    )
    printed = capsys.readouterr()
    assert f"Average Image IO Throughput: {report.events_per_second:.3f}" in printed.out.splitlines()
    assert "Total images read per batch: 4" in printed.out.splitlines()
    assert "Reading" in printed.err


def test_an_io_test_may_be_limited_by_time_and_read_generated_events() -> None:
    dataset = EventDataset(SyntheticEvents(4, shape=(32, 32), cosmics=0), 1)
    lines: list[str] = []
    report = iotest(
        dataset, 2, batches=None, seconds=0.05, progress=False, tell=lines.append, options=poptorch.Options()
    )
    assert report.batches >= 1
    assert report.file_bytes is None
    assert len(lines) == 5
    with pytest.raises(ValueError, match="would not end"):
        iotest(dataset, batches=None)
    with pytest.raises(ValueError, match="4 events are too few"):
        iotest(dataset, 5)
