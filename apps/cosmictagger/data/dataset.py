"""Events as torch data sets, and loaders over them.

`EventDataset` makes the images in the processes that load; `SparseEventDataset` hands out the stored pixels,
padded, for a model that makes the images itself (`dense.densify_on_device`).

Which is faster: measured with a one-layer model on one core, full-size events at downsample 2, batch 2, and a
loader in the same process: 100 events/s with images made on the host, 70 with `densify_on_device`, as the
emulated device scatters into as many pixels with the same core. With an asynchronous loader both wait for
reading (120 events/s), but the model's process spends 1 ms per event on images and 6 on pixels. So images
are the choice, unless the link to a real device is the bottleneck: pixels are 1.35 MB per event (room for
50,000 per plane), images 2.46 MB; at downsample 0 it is 1.35 MB against 39 MB.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import torch
import torch.utils.data
from numpy.typing import NDArray
from tremula.frontends.torch.data.epochs import EpochSampler

from cosmictagger.data.dense import densify, grid, image_pixels
from cosmictagger.data.events import PLANES, Event

if TYPE_CHECKING:
    import poptorch


class EventSource(Protocol):
    """Where events come from: `EventFile`, `EventFiles`, `SyntheticEvents`."""

    shape: tuple[int, int]

    def __len__(self) -> int: ...

    def read(self, number: int, with_truth: bool = True) -> Event: ...


class _Events(torch.utils.data.Dataset[tuple[torch.Tensor, ...]]):
    """What both data sets share: a source and a choice of its events."""

    def __init__(
        self,
        source: EventSource,
        downsample: int = 0,
        *,
        events: Sequence[int] | NDArray[np.int64] | None = None,
        log: bool = False,
        labels: bool = True,
    ) -> None:
        self.source, self.downsample, self.log, self.labels = source, downsample, log, labels
        self.size = grid(source.shape, downsample)
        self.events = np.arange(len(source)) if events is None else np.asarray(events, np.int64)
        if self.events.ndim != 1 or not len(self.events):
            raise ValueError("events must be a list of one position at least.")
        if self.events.min() < 0 or self.events.max() >= len(source):
            raise ValueError(
                f"events has positions from {self.events.min()} to {self.events.max()}, "
                f"but the source has {len(source)} events."
            )

    def __len__(self) -> int:
        return len(self.events)

    def _read(self, position: int) -> tuple[Event, torch.Tensor]:
        number = int(self.events[position])
        event = self.source.read(number, with_truth=False)
        if self.labels and event.labels is None:
            raise ValueError(f"Event {number} has no labels: make the data set with labels=False.")
        return event, torch.tensor(number, dtype=torch.int32)


class EventDataset(_Events):
    """Images: each element is (image, label, index).

    image is float32 [3, height, width]; label is uint8 of the same shape, the smallest type that PopTorch takes
    (convert it with `.int()` or `.long()` in the model: that costs the device little, and the way to it is four
    times shorter); index is the int32 position of the event in the source.

    Args:
        source: where events come from.
        downsample: how often to halve both sides of the images.
        events: positions of those to use, such as a part of `split`; all by default.
        log: give log(charge + 1) in place of the charge.
        labels: False leaves the label out of the elements, for detector data.
    """

    def __getitem__(self, position: int) -> tuple[torch.Tensor, ...]:
        event, index = self._read(position)
        charge, label = densify(event, self.downsample, self.labels)
        if self.log:
            np.log1p(charge, out=charge)
        image = torch.from_numpy(charge)
        if label is None:
            return image, index
        return image, torch.from_numpy(label), index

    @property
    def element_bytes(self) -> int:
        """Bytes of the image and label of one event."""
        return PLANES * self.size[0] * self.size[1] * (5 if self.labels else 4)


class SparseEventDataset(_Events):
    """Stored pixels, padded: each element is (ids, values, labels, counts, index).

    ids is int32 [3, voxels], the place in the image of a plane laid flat; values float32 and labels uint8 of
    that shape; counts int32 [3] says how many are not padding. Padding has id 0, charge 0 and label 0.

    Args:
        source: where events come from.
        downsample: how often the sides of the images will be halved.
        voxels: room for pixels of each plane; what does not fit is an error, never dropped in silence.
        events: positions of those to use; all by default.
        labels: False leaves the labels out of the elements.
    """

    def __init__(
        self,
        source: EventSource,
        downsample: int = 0,
        *,
        voxels: int = 50_000,
        events: Sequence[int] | NDArray[np.int64] | None = None,
        labels: bool = True,
    ) -> None:
        super().__init__(source, downsample, events=events, labels=labels)
        if voxels < 1:
            raise ValueError(f"voxels={voxels} must be 1 or more.")
        self.voxels = voxels

    def __getitem__(self, position: int) -> tuple[torch.Tensor, ...]:
        event, index = self._read(position)
        counts = event.counts
        if counts.max() > self.voxels:
            raise ValueError(
                f"Event {int(index)} has planes of {counts.tolist()} pixels, but there is room for {self.voxels}: "
                "give a greater number of voxels."
            )
        places = image_pixels(event, self.downsample)
        pixels = self.size[0] * self.size[1]
        ids = np.zeros((PLANES, self.voxels), np.int32)
        values = np.zeros((PLANES, self.voxels), np.float32)
        labels = np.zeros((PLANES, self.voxels), np.uint8)
        for plane in range(PLANES):
            part, room = event.plane(plane), slice(int(counts[plane]))
            ids[plane, room] = places[part] - plane * pixels
            values[plane, room] = event.values[part]
            if self.labels and event.labels is not None:
                labels[plane, room] = event.labels[part]
        found = [torch.from_numpy(ids), torch.from_numpy(values)]
        if self.labels:
            found.append(torch.from_numpy(labels))
        return (*found, torch.from_numpy(counts.astype(np.int32)), index)

    @property
    def element_bytes(self) -> int:
        """Bytes of one element."""
        return PLANES * self.voxels * (9 if self.labels else 8) + PLANES * 4


def event_loader(
    dataset: torch.utils.data.Dataset[Any],
    batch_size: int = 1,
    *,
    options: poptorch.Options | None = None,
    workers: int = 0,
    mode: str = "sync",
    seed: int = 0,
    rank: int = 0,
    ranks: int = 1,
    shuffle: bool = True,
    remainder: str = "drop",
    epoch: int = 0,
    done: int = 0,
    **arguments: Any,
) -> torch.utils.data.DataLoader[Any]:
    """A loader whose every pass is the next epoch; see `EpochSampler` for the order.

    Args:
        dataset: the data set.
        batch_size: micro-batch size.
        options: those of the model, for a `poptorch.DataLoader`, whose batches are combined ones; None makes
            a plain torch loader.
        workers: processes that read.
        mode: "sync", "async" or "async_rebatched"; the latter two need options.
        seed, rank, ranks, shuffle, remainder, epoch, done: as for `EpochSampler`. For a distributed run rank and
            ranks are those of the processes; replicas of one process share its batches.
        arguments: further arguments of the loader.

    Note:
        With `done`, the first pass is shorter than the others. An asynchronous loader gives the right events, but
        its `len()` stays that of the first pass, as its sampler advances in another process.
    """
    modes = {"sync": "Sync", "async": "Async", "async_rebatched": "AsyncRebatched"}
    if mode not in modes:
        raise ValueError(f"mode={mode!r} must be one of {', '.join(modes)}.")
    combined = batch_size
    if options is not None:
        import poptorch

        # what one call of the model takes; poptorch knows the rule
        probe = poptorch.DataLoader(
            options, dataset, batch_size=batch_size, auto_distributed_partitioning=False
        )
        combined = probe.combinedBatchSize
    sampler = EpochSampler(
        len(dataset),  # type: ignore[arg-type]
        seed,
        rank=rank,
        ranks=ranks,
        shuffle=shuffle,
        multiple=combined,
        remainder=remainder,
        epoch=epoch,
        done=done,
    )
    if options is None:
        if mode != "sync":
            raise ValueError(f"mode={mode!r} is one of poptorch.DataLoader: give options.")
        arguments.setdefault("persistent_workers", workers > 0)
        return torch.utils.data.DataLoader(
            dataset, batch_size, sampler=sampler, num_workers=workers, drop_last=True, **arguments
        )
    return poptorch.DataLoader(
        options,
        dataset,
        batch_size=batch_size,
        sampler=sampler,
        num_workers=workers,
        drop_last=True,
        auto_distributed_partitioning=False,
        mode=getattr(poptorch.DataLoaderMode, modes[mode]),
        **arguments,
    )
