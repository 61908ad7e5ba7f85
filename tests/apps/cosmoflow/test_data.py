"""Reading, writing, generating and ordering samples."""

from __future__ import annotations

import functools
import operator
import pickle
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch
from cosmoflow.data import (
    BadSampleFile,
    GeneratedSamples,
    SampleFiles,
    VolumeDataset,
    VolumeSampler,
    reader,
    sample_loader,
    write_folder,
    write_samples,
)
from cosmoflow.data.dataset import SYMMETRIES, turned
from cosmoflow.data.generate import PARAMETERS, counts_of, physical

import poptorch

SAMPLES = GeneratedSamples(5, 8, 1)


def same(found: reader.Sample, expected: reader.Sample) -> bool:
    return np.array_equal(found[0], expected[0]) and np.array_equal(found[1], expected[1])


# -- layouts ----------------------------------------------------------------------------------------------------


def test_one_file_of_many_samples_comes_back(tmp_path: Path) -> None:
    path = write_samples(tmp_path / "all.h5", SAMPLES, 5, parameters=PARAMETERS, compress=True)
    files = SampleFiles(path)
    assert len(files) == 5
    assert files.size == 8
    assert files.parameters == PARAMETERS
    assert all(same(files.read(i), SAMPLES.read(i)) for i in range(5))


def test_a_folder_of_single_samples_comes_back_in_order_of_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "MOST_OPEN", 2)
    written = write_folder(tmp_path / "a" / "b", SAMPLES)
    files = SampleFiles(tmp_path)
    assert files.paths == sorted(written)
    assert all(same(files.read(i), SAMPLES.read(i)) for i in (4, 0, 3, 1, 2))
    assert len(files._open) <= 2


@pytest.mark.parametrize(("counts", "targets"), [("x", "y"), ("full", "unitPar"), ("3Dmap", "unitPar")])
@pytest.mark.parametrize("kind", ["<i2", "<i4", "<f4", ">u2"])
def test_known_names_and_types_are_read(tmp_path: Path, counts: str, targets: str, kind: str) -> None:
    expected = SAMPLES.read(0)
    with h5py.File(tmp_path / "one.hdf5", "w") as file:
        file[counts], file[targets] = expected[0].astype(kind), expected[1].astype("<f8")
    found = SampleFiles(tmp_path / "one.hdf5").read(0)
    assert found[0].dtype == np.int16
    assert found[1].dtype == np.float32
    assert same(found, expected)


def test_channels_first_become_channels_last(tmp_path: Path) -> None:
    expected = SAMPLES.read(0)
    with h5py.File(tmp_path / "one.h5", "w") as file:
        file["x"], file["y"] = np.moveaxis(expected[0], -1, 0), expected[1]
    assert same(SampleFiles(tmp_path / "one.h5").read(0), expected)


def test_universes_are_cut_into_cubes_in_the_order_of_axes(tmp_path: Path) -> None:
    counts, targets = SAMPLES.read(0)
    with h5py.File(tmp_path / "one.h5", "w") as file:
        file["full"], file["unitPar"] = counts, targets
    files = SampleFiles(tmp_path / "one.h5", size=4)
    assert len(files) == 8
    expected = [
        block for i in np.split(counts, 2, 0) for j in np.split(i, 2, 1) for block in np.split(j, 2, 2)
    ]
    assert all(same(files.read(n), (block, targets)) for n, block in enumerate(expected))
    with pytest.raises(BadSampleFile, match="cannot be cut into cubes of side 3"):
        SampleFiles(tmp_path / "one.h5", size=3)


# -- bad files --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("counts", "targets", "message"),
    [
        (np.zeros((8, 8, 8, 4), "i2"), None, "y: missing: the file has counts"),
        (None, np.zeros(4), "holds 'y'; counts and targets should be named"),
        (np.zeros((8, 8, 8), "i2"), np.zeros(4), r"has the shape \(8, 8, 8\)"),
        (np.zeros((8, 8, 6, 4), "i2"), np.zeros(4), "should be cubes with 4 channels"),
        (np.zeros((8, 8, 8, 3), "i2"), np.zeros(4), "should be cubes with 4 channels"),
        (np.zeros((0, 8, 8, 8, 4), "i2"), np.zeros((0, 4)), "has no samples"),
        (np.zeros((2, 8, 8, 8, 4), "i2"), np.zeros((3, 4)), r"it should be \(2, 4\)"),
        (np.zeros((8, 8, 8, 4), "i2"), np.full(4, np.nan), "targets .*nan"),
        (np.full((8, 8, 8, 4), -1, "i2"), np.zeros(4), "negative counts"),
        (np.full((8, 8, 8, 4), 70000, "i4"), np.zeros(4), "above 32767"),
        (np.full((8, 8, 8, 4), np.nan, "f4"), np.zeros(4), "not finite"),
        (np.full((8, 8, 8, 4), 0.5, "f4"), np.zeros(4), "has fractions"),
        (np.full((8, 8, 8, 4), b"text"), np.zeros(4), "not an array of numbers"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(
    tmp_path: Path, counts: np.ndarray | None, targets: np.ndarray | None, message: str
) -> None:
    path = tmp_path / "bad.h5"
    with h5py.File(path, "w") as file:
        if counts is not None:
            file["x"] = counts
        if targets is not None:
            file["y"] = targets
    with pytest.raises(BadSampleFile, match=message) as problem:
        SampleFiles(path).read(0)
    assert str(path) in str(problem.value)
    assert str(pickle.loads(pickle.dumps(problem.value))) == str(problem.value)  # noqa: S301 - our own


def test_damaged_and_missing_files_are_named(tmp_path: Path) -> None:
    whole = write_samples(tmp_path / "whole.h5", SAMPLES, 5)
    (tmp_path / "cut.h5").write_bytes(whole.read_bytes()[:-5000])
    (tmp_path / "text.h5").write_text("no HDF5")
    for name, message in (("cut", "cut short"), ("text", "is not an HDF5 file"), ("none", "no such file")):
        with pytest.raises(BadSampleFile, match=message):
            SampleFiles(tmp_path / f"{name}.h5")
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadSampleFile, match="has no files that end in"):
        SampleFiles(tmp_path / "empty")


def test_a_side_that_the_file_cannot_hold_is_refused_before_anything_is_allocated(tmp_path: Path) -> None:
    path = tmp_path / "huge.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", (4096, 4096, 4096, 4), "<i2", chunks=(64, 64, 64, 4))
        file["y"] = np.zeros(4, np.float32)
    with pytest.raises(
        BadSampleFile, match=r"huge\.h5: x: claims the shape .* far more than the file can hold"
    ):
        reader.SampleFile(path)


def test_a_sample_that_is_too_large_to_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_samples(tmp_path / "large.h5", SAMPLES, 5)
    monkeypatch.setattr(reader, "MOST_SAMPLE_BYTES", 1000)
    with pytest.raises(BadSampleFile, match=r"large\.h5: x: has samples of .* Ask for smaller cubes"):
        reader.SampleFile(path)
    reader.SampleFile(path, 4).read(0)


@pytest.mark.parametrize(
    "raised", [KeyError("x"), RuntimeError("y"), UnicodeDecodeError("utf-8", b"x", 0, 1, "z")]
)
def test_whatever_hdf5_raises_for_a_damaged_file_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, raised: Exception
) -> None:
    path = write_samples(tmp_path / "damaged.h5", SAMPLES, 5)
    samples = reader.SampleFile(path)

    def fail(*_arguments: object, **_options: object) -> None:
        raise raised

    monkeypatch.setattr(h5py.Dataset, "__getitem__", fail)
    with pytest.raises(BadSampleFile, match=r"damaged\.h5: x, sample 3: cannot be read .* fetch it again"):
        samples.read(3)
    monkeypatch.setattr(h5py.Group, "get", fail)
    with pytest.raises(BadSampleFile, match=r"damaged\.h5: cannot be read"):
        reader.SampleFile(path)


def test_texts_in_a_damaged_heap_are_not_searched_for_without_end(tmp_path: Path) -> None:
    """In a process of its own: what the HDF5 library is doing cannot be interrupted."""
    path = write_samples(tmp_path / "all.h5", SAMPLES, 5)
    with h5py.File(path, "r+") as file:
        file.attrs["parameters"] = list(PARAMETERS.names)  # of any length
    data = bytearray(path.read_bytes())
    heap = data.index(b"GCOL")
    first = heap + 16 + 24  # behind the first of its texts there is nothing
    data[first : heap + 4096] = bytes(heap + 4096 - first)
    path.write_bytes(data)
    program = f"from cosmoflow.data import SampleFiles; print(SampleFiles({str(path)!r}).parameters.names[0])"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert ended.stdout == "parameter 1\n", ended.stderr


def test_links_to_other_files_are_not_followed(tmp_path: Path) -> None:
    write_samples(tmp_path / "other.h5", SAMPLES, 5)
    with h5py.File(tmp_path / "link.h5", "w") as file:
        file["x"], file["y"] = h5py.ExternalLink("other.h5", "x"), np.zeros((5, 4))
    with pytest.raises(BadSampleFile, match="not followed"):
        SampleFiles(tmp_path / "link.h5")


def test_a_file_that_differs_from_its_folder_is_found_when_it_is_read(tmp_path: Path) -> None:
    write_folder(tmp_path, [SAMPLES.read(0)])
    write_samples(tmp_path / "z.h5", SAMPLES, 5)
    files = SampleFiles(tmp_path)
    with pytest.raises(BadSampleFile, match="has 5 samples, but"):
        files.read(1)


def test_a_writer_that_fails_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="5 samples came, but 6"):
        write_samples(tmp_path / "few.h5", SAMPLES, 6)
    assert list(tmp_path.iterdir()) == []


# -- generated universes ----------------------------------------------------------------------------------------


def test_a_universe_depends_on_its_seed_and_number_only() -> None:
    assert same(SAMPLES.read(3), GeneratedSamples(9, 8, 1, first=1).read(2))
    assert not same(SAMPLES.read(3), GeneratedSamples(5, 8, 2).read(3))


def spectrum(counts: np.ndarray) -> np.ndarray:
    """Power of the fluctuations at four scales, long waves first."""
    density = counts / counts.mean() - 1
    power = np.abs(np.fft.fftn(density)) ** 2
    k = np.sqrt(sum(a**2 for a in np.meshgrid(*[np.fft.fftfreq(len(counts)) * 2] * 3)))
    return np.array([power[(k >= low) & (k < low + 0.25)].mean() for low in (0.05, 0.25, 0.5, 0.75)])


def average(targets: list[float], what: object) -> np.ndarray:
    return np.mean(
        [what(counts_of(np.array(targets), 16, np.random.default_rng(i), 50.0)) for i in range(6)], axis=0
    )


def test_every_parameter_leaves_its_mark() -> None:
    def spread(c: np.ndarray) -> np.ndarray:
        return np.log1p(c).std((0, 1, 2))

    def slope(c: np.ndarray) -> np.ndarray:
        power = spectrum(c[..., -1])
        return power / power.sum()

    quiet, loud = average([0, -1, 0, 0], spread), average([0, 1, 0, 0], spread)
    assert loud[-1] > 1.5 * quiet[-1]
    early, late = average([0, 0, 0, -1], spread), average([0, 0, 0, 1], spread)
    assert late[0] / late[-1] > 1.5 * early[0] / early[-1]
    assert average([0, 0, -1, 0], slope)[0] > 1.2 * average([0, 0, 1, 0], slope)[0]
    assert average([-1, 0, 0, 0], slope)[0] > 1.2 * average([1, 0, 0, 0], slope)[0]


def test_counts_have_the_density_that_was_asked_for() -> None:
    counts = counts_of(np.zeros(4), 32, np.random.default_rng(0), 7.0)
    assert counts.dtype == np.int16
    np.testing.assert_allclose(counts.mean((0, 1, 2)), 7.0, rtol=0.05)
    # the same universe at four times: fluctuations are correlated and grow
    assert np.corrcoef(counts[..., 0].ravel(), counts[..., 3].ravel())[0, 1] > 0.5
    assert (np.diff(counts.std((0, 1, 2))) > 0).all()


def test_targets_in_their_units() -> None:
    np.testing.assert_allclose(physical(-np.ones(4)), PARAMETERS.low)
    np.testing.assert_allclose(physical(np.ones(4)), PARAMETERS.high)


# -- order ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_every_sample_comes_once_per_epoch_over_all_ranks(ranks: int) -> None:
    parts = [VolumeSampler(12, 5, rank=rank, ranks=ranks, multiple=2) for rank in range(ranks)]
    epochs = [[list(part) for part in parts] for _ in range(2)]
    for epoch in epochs:
        assert sorted(functools.reduce(operator.iadd, epoch, [])) == list(range(12))
    assert epochs[0] != epochs[1]


def test_steps_of_several_ranks_have_the_samples_of_one() -> None:
    one = list(VolumeSampler(16, 5, multiple=8))
    two = [list(VolumeSampler(16, 5, rank=rank, ranks=2, multiple=4)) for rank in range(2)]
    for step in range(2):
        together = sorted(two[0][4 * step : 4 * step + 4] + two[1][4 * step : 4 * step + 4])
        assert together == sorted(one[8 * step : 8 * step + 8])


def test_what_does_not_fit_is_dropped_or_made_up() -> None:
    assert len(list(VolumeSampler(11, shuffle=False, multiple=4))) == 8
    assert list(VolumeSampler(5, shuffle=False, multiple=4, remainder="repeat")) == [0, 1, 2, 3, 4, 0, 1, 2]


def test_an_epoch_can_be_gone_on_with() -> None:
    whole = list(VolumeSampler(12, 7, augment=True, epoch=3))
    assert list(VolumeSampler(12, 7, augment=True, epoch=3, done=5)) == whole[5:]


def test_symmetries_are_all_different_and_keep_the_values() -> None:
    cube = np.arange(27 * 4, dtype=np.int16).reshape(3, 3, 3, 4)
    seen = {turned(cube, number).tobytes() for number in range(SYMMETRIES)}
    assert len(seen) == SYMMETRIES == 48
    assert np.array_equal(turned(cube, 0), cube)
    # channels of a voxel stay together
    assert all((np.diff(turned(cube, number), axis=-1) == 1).all() for number in range(SYMMETRIES))
    element = VolumeDataset(SAMPLES)[2 + 5 * 17]
    assert np.array_equal(element[0].numpy(), turned(SAMPLES.read(2)[0], 17))


@pytest.mark.parametrize("workers", [0, 2])
def test_a_loader_gives_combined_batches_epoch_by_epoch(small_file: Path, workers: int) -> None:
    options = poptorch.Options()
    options.deviceIterations(3)
    files = SampleFiles(small_file)
    loader = sample_loader(files, options, 4, workers=workers, seed=1)
    epochs = [list(loader) for _ in range(2)]
    assert [len(batch[0]) for batch in epochs[0]] == [12, 12]
    numbers = [torch.cat([batch[2] for batch in epoch]).tolist() for epoch in epochs]
    assert sorted(numbers[0]) == sorted(numbers[1]) == list(range(24))
    assert numbers[0] != numbers[1]
    counts, targets, number = epochs[1][0]
    assert counts.dtype == torch.int16
    assert same((counts[5].numpy(), targets[5].numpy()), files.read(int(number[5])))


@pytest.mark.parametrize("workers", [0, 1])
def test_a_bad_sample_is_named_also_from_a_worker(tmp_path: Path, workers: int) -> None:
    write_samples(tmp_path / "bad.h5", [(SAMPLES.read(0)[0] - np.int16(1000), SAMPLES.read(0)[1])] * 2, 2)
    loader = sample_loader(SampleFiles(tmp_path / "bad.h5"), poptorch.Options(), 2, workers=workers)
    with pytest.raises(BadSampleFile, match=r"bad\.h5: x, sample \d: has negative counts"):
        list(loader)
