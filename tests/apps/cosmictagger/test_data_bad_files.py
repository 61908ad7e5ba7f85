"""A broken file is refused with words that name it, the place and the event; it never gives wrong data."""

from __future__ import annotations

import contextlib
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
from cosmictagger.data import BadEventFile, EventFile

CHARGE = "Data/sparse2d_sbndwire_group"
LABELS = "Data/sparse2d_sbnd_cosmicseg_group"
VERTEX = "Data/cluster2d_sbndneutrino_group"
TRUTH = "Data/particle_sbndneutrino_group"


def put(table: str, row: int, field: str, value: object) -> Callable[[h5py.File], None]:
    """An edit: one field of one row."""

    def edit(file: h5py.File) -> None:
        rows = file[table][:]
        if isinstance(value, tuple):
            rows[field][row] = value
        else:
            rows[field][row : row + 1] = value
        file[table][:] = rows

    return edit


def replace(table: str, change: Callable[[np.ndarray], np.ndarray]) -> Callable[[h5py.File], None]:
    """An edit: a table made anew."""

    def edit(file: h5py.File) -> None:
        rows = change(file[table][:])
        del file[table]
        file.create_dataset(table, data=rows)

    return edit


def remove(path: str) -> Callable[[h5py.File], None]:
    def edit(file: h5py.File) -> None:
        del file[path]

    return edit


def link_elsewhere(file: h5py.File) -> None:
    del file[f"{CHARGE}/voxels"]
    file[f"{CHARGE}/voxels"] = h5py.ExternalLink("/etc/passwd", "/voxels")


def external_data(file: h5py.File) -> None:
    dtype = file[f"{CHARGE}/voxels"].dtype
    del file[f"{CHARGE}/voxels"]
    file.create_dataset(f"{CHARGE}/voxels", (10,), dtype, external=[("/etc/passwd", 0, 160)])


def other_compression(file: h5py.File) -> None:
    rows = file[f"{CHARGE}/voxels"][:]
    del file[f"{CHARGE}/voxels"]
    file.create_dataset(f"{CHARGE}/voxels", data=rows, compression="lzf", chunks=(1000,))


def huge_chunks(file: h5py.File) -> None:
    rows = file[f"{CHARGE}/voxels"]
    dtype = rows.dtype
    del file[f"{CHARGE}/voxels"]
    file.create_dataset(
        f"{CHARGE}/voxels", (10,), dtype, maxshape=(None,), chunks=(2**27,), compression="gzip"
    )


#: What is broken: the edit, where the error must point, the event if it is one, and words.
FAULTS: dict[str, tuple[Callable[[h5py.File], None], str, int | None, str]] = {
    "no charge": (remove(CHARGE), CHARGE, None, "missing"),
    "no labels": (remove(LABELS), LABELS, None, "missing"),
    "no voxels": (remove(f"{CHARGE}/voxels"), f"{CHARGE}/voxels", None, "missing"),
    "no data at all": (remove("Data"), "Data", None, "missing"),
    "a link": (link_elsewhere, f"{CHARGE}/voxels", None, "link to elsewhere"),
    "external data": (external_data, f"{CHARGE}/voxels", None, "another file"),
    "lzf": (other_compression, f"{CHARGE}/voxels", None, "only gzip"),
    "huge chunks": (huge_chunks, f"{CHARGE}/voxels", None, "chunks of more than 64 MB"),
    "other types": (
        replace(f"{CHARGE}/voxels", lambda rows: rows.astype([("id", "<i4"), ("value", "<f4")])),
        f"{CHARGE}/voxels",
        None,
        "'id' should be uint64, but is int32",
    ),
    "no field": (
        replace(f"{CHARGE}/voxels", lambda rows: rows[["id"]].copy()),
        f"{CHARGE}/voxels",
        None,
        "'value' should be float32, but is nothing",
    ),
    "two dimensions": (
        replace(f"{CHARGE}/voxels", lambda rows: rows[:10].reshape(2, 5)),
        f"{CHARGE}/voxels",
        None,
        "one dimension",
    ),
    "no events": (
        replace(f"{CHARGE}/extents", lambda rows: rows[:0]),
        f"{CHARGE}/extents",
        None,
        "no events",
    ),
    "fewer labels": (
        replace(f"{LABELS}/extents", lambda rows: rows[:-1]),
        f"{LABELS}/extents",
        None,
        "has 9 events, but the charge has 10",
    ),
    "fewer ids": (replace("Events/event_id", lambda rows: rows[:3]), "Events/event_id", None, "has 3 events"),
    "empty plane": (
        put(f"{CHARGE}/image_meta", 0, "number_of_voxels", (0, 160)),
        f"{CHARGE}/image_meta",
        0,
        "0 wires x 160 ticks are not plausible",
    ),
    "vast planes": (
        put(f"{CHARGE}/image_meta", 0, "number_of_voxels", (2**40, 2**40)),
        f"{CHARGE}/image_meta",
        0,
        "not plausible",
    ),
    "two planes": (put(f"{CHARGE}/extents", 2, "N", 2), f"{CHARGE}/extents", 2, "2 planes; there must be 3"),
    "plane missing": (
        put(f"{CHARGE}/image_meta", 4, "projection_id", 0),
        f"{CHARGE}/image_meta",
        1,
        r"\[0, 0, 2\]; there must be 0, 1 and 2",
    ),
    "plane unknown": (
        put(f"{CHARGE}/image_meta", 5, "projection_id", 7),
        f"{CHARGE}/image_meta",
        1,
        r"\[0, 1, 7\]",
    ),
    "other size": (
        put(f"{CHARGE}/image_meta", 7, "number_of_voxels", (256, 320)),
        f"{CHARGE}/image_meta",
        2,
        r"\[256, 320\] pixels \(wires, ticks\); the others have \[256, 160\]",
    ),
    "rows beyond": (
        put(f"{CHARGE}/extents", 3, "first", 2**63),
        f"{CHARGE}/image_meta",
        3,
        "there are only 30",
    ),
    "voxels beyond": (
        put(f"{CHARGE}/voxel_extents", 8, "first", 2**64 - 1),
        f"{CHARGE}/voxel_extents",
        2,
        "plane 2 has .* voxels from row 18446744073709551615",
    ),
    "too many voxels": (
        put(f"{CHARGE}/voxel_extents", 29, "N", 2**32 - 1),
        f"{CHARGE}/voxel_extents",
        9,
        "4294967295 voxels",
    ),
    "pixel outside": (
        put(f"{CHARGE}/voxels", 3, "id", 256 * 160),
        f"{CHARGE}/voxels",
        0,
        "pixel 40960 is outside",
    ),
    "negative charge": (
        put(f"{CHARGE}/voxels", 5, "value", -1.0),
        f"{CHARGE}/voxels",
        0,
        "is -1.0; it must be 0",
    ),
    "charge not a number": (put(f"{CHARGE}/voxels", 5, "value", np.nan), f"{CHARGE}/voxels", 0, "is nan"),
    "infinite charge": (put(f"{CHARGE}/voxels", 5, "value", np.inf), f"{CHARGE}/voxels", 0, "is inf"),
    "label of another pixel": (
        put(f"{LABELS}/voxels", 4, "id", 9),
        f"{LABELS}/voxels",
        0,
        "is for pixel 9, the charge",
    ),
    "label 3": (
        put(f"{LABELS}/voxels", 4, "value", 3),
        f"{LABELS}/voxels",
        0,
        "is 3.0; it must be 0, 1 or 2",
    ),
    "label 0.5": (put(f"{LABELS}/voxels", 4, "value", 0.5), f"{LABELS}/voxels", 0, "is 0.5"),
    "label not a number": (put(f"{LABELS}/voxels", 4, "value", np.nan), f"{LABELS}/voxels", 0, "is nan"),
    "fewer labelled pixels": (
        put(f"{LABELS}/voxel_extents", 1, "N", 1),
        f"{LABELS}/voxel_extents",
        0,
        "labelled pixels",
    ),
    "vertex outside": (put(f"{VERTEX}/voxels", 10, "id", 2**50), f"{VERTEX}/voxels", 0, "outside the plane"),
    "vertex too large": (
        put(f"{VERTEX}/cluster_extents", 4, "N", 10),
        f"{VERTEX}/cluster_extents",
        1,
        "10 pixels",
    ),
    "vertex beyond": (
        put(f"{VERTEX}/projection_extents", 6, "first", 99),
        f"{VERTEX}/cluster_extents",
        2,
        "there are only 30",
    ),
    "too many particles": (
        put(f"{TRUTH}/extents", 1, "N", 10**6),
        f"{TRUTH}/extents",
        1,
        "1000000 particles",
    ),
    "particles beyond": (
        put(f"{TRUTH}/extents", 1, "first", 10),
        f"{TRUTH}/particles",
        1,
        "there are only 10",
    ),
    "energy not a number": (
        put(f"{TRUTH}/particles", 3, "energy_init", np.nan),
        f"{TRUTH}/particles",
        3,
        "energy nan",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_named_with_its_place(small_file: Path, tmp_path: Path, fault: str) -> None:
    edit, where, event, words = FAULTS[fault]
    path = tmp_path / "bad.h5"
    shutil.copy(small_file, path)
    with h5py.File(path, "r+") as file:
        edit(file)
    with pytest.raises(BadEventFile, match=words) as caught:
        EventFile(path)[event or 0]
    error = caught.value
    assert (error.path, error.where, error.event) == (str(path), where, event)
    assert str(error).startswith(f"{path}: {where}")


def test_other_events_of_the_file_can_still_be_read(small_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "bad.h5"
    shutil.copy(small_file, path)
    with h5py.File(path, "r+") as file:
        put(f"{CHARGE}/voxels", 5, "value", -1.0)(file)
    np.testing.assert_array_equal(EventFile(path)[1].values, EventFile(small_file)[1].values)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.99])
def test_a_file_that_was_cut_off_is_refused(small_file: Path, tmp_path: Path, share: float) -> None:
    path = tmp_path / "cut.h5"
    whole = small_file.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(BadEventFile, match=r"cut.h5: cannot be opened: not an HDF5 file, or cut off"):
        EventFile(path)


def test_damaged_chunks_are_refused(small_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "damaged.h5"
    shutil.copy(small_file, path)
    with h5py.File(path) as file:
        chunk = file[f"{CHARGE}/voxels"].id.get_chunk_info(0)
    with open(path, "r+b") as file:
        file.seek(chunk.byte_offset)
        file.write(b"\xff" * chunk.size)
    with pytest.raises(
        BadEventFile, match=r"damaged.h5: .*sbndwire_group/voxels, event 0: rows .* cannot be read"
    ):
        EventFile(path)[0]


def test_a_file_that_is_not_there_is_not_called_broken(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        EventFile(tmp_path / "none.h5")


def test_the_error_comes_whole_through_a_pipe() -> None:
    error = pickle.loads(pickle.dumps(BadEventFile("a.h5", "Data", "broken.", 3)))  # noqa: S301  our own bytes
    assert str(error) == "a.h5: Data, event 3: broken."
    assert (error.path, error.where, error.event) == ("a.h5", "Data", 3)
    # as torch makes it again in the process that asked a worker for the event
    assert str(BadEventFile(f"Caught in a worker:\n{error}")) == f"Caught in a worker:\n{error}"


@pytest.mark.parametrize(
    "raised",
    [
        KeyError("Unable to open object"),
        RuntimeError("Object visitation failed"),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"),
        OverflowError("too large"),
    ],
)
def test_whatever_hdf5_raises_for_a_damaged_file_names_it(
    small_file: Path, monkeypatch: pytest.MonkeyPatch, raised: Exception
) -> None:
    def fail(*_arguments: object, **_options: object) -> None:
        raise raised

    events = EventFile(small_file)
    events.read(0)
    monkeypatch.setattr("cosmictagger.data.opened.OpenFile._voxels", fail)
    with pytest.raises(BadEventFile, match=r"small\.h5, event 2: cannot be read.*fetch it"):
        events.read(2)
    monkeypatch.setattr(h5py.Group, "get", fail)
    with pytest.raises(BadEventFile, match=r"small\.h5: cannot be read"):
        EventFile(small_file)


def test_a_table_that_claims_more_than_the_file_holds_is_refused(small_file: Path, tmp_path: Path) -> None:
    path = Path(shutil.copy(small_file, tmp_path / "events.h5"))
    with h5py.File(path, "r+") as file:
        file[f"{CHARGE}/voxels"].resize((2**40,))
    with pytest.raises(BadEventFile, match="claims 1099511627776 rows, far more than the file can hold"):
        EventFile(path)


def test_bytes_of_a_damaged_file_give_its_own_error_or_sound_events(small_file: Path, tmp_path: Path) -> None:
    whole = small_file.read_bytes()
    path = tmp_path / "events.h5"
    rng = np.random.default_rng(5)
    for _ in range(150):
        data = bytearray(whole)
        for place in rng.integers(0, 1 << 14, 6):
            data[place] = rng.integers(0, 256)
        path.write_bytes(data)
        with contextlib.suppress(BadEventFile):
            EventFile(path).read(0)


def test_a_number_that_is_too_wide_for_its_field_is_not_read(small_file: Path, tmp_path: Path) -> None:
    """numpy has no type for such a fraction but one of 16 bytes, and its field has eight. In another process: such a
    read damages memory.
    """
    fraction = bytes(
        (0x34, 0x0B, 0x00, 0x34)
    )  # where the parts of an 8-byte fraction are; then what exponents begin at
    whole = small_file.read_bytes()
    places = [at for at in range(len(whole)) if whole.startswith(fraction + b"\xff\x03\0\0", at)]
    assert len(places) > 20
    for number, at in enumerate(places):
        data = bytearray(whole)
        data[at + len(fraction)] = 0xDD
        (tmp_path / f"{number}.h5").write_bytes(data)
    program = (
        "import sys\nfrom pathlib import Path\nfrom cosmictagger.data import BadEventFile, EventFile\n"
        "for path in Path(sys.argv[1]).iterdir():\n"
        "    try:\n        EventFile(path).read(0)\n    except BadEventFile as problem:\n        print(problem)\n"
    )
    ended = subprocess.run([sys.executable, "-c", program, tmp_path], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr[-500:]
    assert "particles: has fields that reach into each other." in ended.stdout
