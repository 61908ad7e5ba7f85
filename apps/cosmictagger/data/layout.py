"""The larcv3 layout of HDF5 files: paths, record types, chunk sizes, and checks that a file has it.

A file is not trusted. Only plain, one-dimensional tables of numbers inside the file itself are read: no links
to other files, no virtual or external data, no objects, no filters but gzip's; chunks are bounded.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np

from tremula.formatting import plain

#: Names of the groups: charge, labels, the true vertex (clusters) and the true particles.
CHARGE, LABELS, VERTEX, TRUTH = "sbndwire", "sbnd_cosmicseg", "sbndneutrino", "sbndneutrino"

EVENT_IDS = "Events/event_id"

_POINT = [("x", "<f8"), ("y", "<f8"), ("z", "<f8"), ("t", "<f8")]

#: Rows first .. first+N-1 of another table. The padding of this and other records is that of the C++ structs.
EXTENTS = np.dtype({"names": ["first", "N"], "formats": ["<u8", "<u4"], "offsets": [0, 8], "itemsize": 16})
ID_EXTENTS = np.dtype([("first", "<u8"), ("N", "<u4"), ("ID", "<u4")])
VOXEL = np.dtype({"names": ["id", "value"], "formats": ["<u8", "<f4"], "offsets": [0, 8], "itemsize": 16})
IMAGE_META = np.dtype(
    {
        "names": ["valid", "projection_id", "image_sizes", "number_of_voxels", "origin"],
        "formats": ["u1", "<u8", ("<f8", (2,)), ("<u8", (2,)), ("<f8", (2,))],
        "offsets": [0, 8, 16, 32, 48],
        "itemsize": 72,
    }
)
EVENT_ID = np.dtype([("run", "<i8"), ("subrun", "<i8"), ("event", "<i8")])
_PARTICLE_FIELDS = {
    "id": ("<u2", 0),
    "mcst_index": ("<u2", 2),
    "mct_index": ("<u2", 4),
    "shape": ("<i4", 8),
    "current_type": ("<i2", 12),
    "interaction_type": ("<i2", 14),
    "trackid": ("<u4", 16),
    "pdg": ("<i4", 20),
    "px": ("<f8", 24),
    "py": ("<f8", 32),
    "pz": ("<f8", 40),
    "vtx": (_POINT, 48),
    "end_pt": (_POINT, 80),
    "first_step": (_POINT, 112),
    "last_step": (_POINT, 144),
    "dist_travel": ("<f8", 176),
    "energy_init": ("<f8", 184),
    "energy_deposit": ("<f8", 192),
    "process": ("S64", 200),
    "parent_trackid": ("<u4", 264),
    "parent_pdg": ("<i4", 268),
    "parent_vtx": (_POINT, 272),
    "ancestor_trackid": ("<u4", 304),
    "ancestor_pdg": ("<i4", 308),
    "ancestor_vtx": (_POINT, 312),
}
PARTICLE = np.dtype(
    {
        "names": list(_PARTICLE_FIELDS),
        "formats": [kind for kind, _ in _PARTICLE_FIELDS.values()],
        "offsets": [offset for _, offset in _PARTICLE_FIELDS.values()],
        "itemsize": 344,
    }
)

#: Tables of a group by its kind: record type, rows of a chunk, and the fields that reading needs.
TABLES: dict[str, dict[str, tuple[np.dtype, int, tuple[str, ...]]]] = {
    "sparse2d": {
        "extents": (EXTENTS, 10, ("first", "N")),
        "image_meta": (IMAGE_META, 100, ("projection_id", "number_of_voxels")),
        "voxel_extents": (ID_EXTENTS, 100, ("first", "N")),
        "voxels": (VOXEL, 1000, ("id", "value")),
    },
    "cluster2d": {
        "extents": (EXTENTS, 10, ("first", "N")),
        "image_meta": (IMAGE_META, 100, ("projection_id", "number_of_voxels")),
        "projection_extents": (ID_EXTENTS, 100, ("first", "N")),
        "cluster_extents": (ID_EXTENTS, 100, ("first", "N")),
        "voxels": (VOXEL, 1000, ("id",)),
    },
    "particle": {
        "extents": (EXTENTS, 100, ("first", "N")),
        "particles": (PARTICLE, 500, ("pdg", "current_type", "energy_init", "vtx")),
    },
}
EVENT_ID_CHUNK = 100

#: Limits that no sound file comes near: they keep a broken one from taking all memory.
MOST_PIXELS = 2**28
MOST_CHUNK_BYTES = 2**26
_FILTERS = {"gzip", None}


class BadEventFile(ValueError):
    """A file cannot be used. The text names the file, the place in it and, if it is one, the event.

    Attributes:
        path: the file.
        where: the group or table inside it.
        event: the number of the event in the file, or None.
    """

    def __init__(self, path: str | Path, where: str = "", what: str = "", event: int | None = None) -> None:
        self.path, self.where, self.what, self.event = str(path), where, what, event
        place = f"{path}: {where}" if where else str(path)
        # With one argument it is the whole text: so torch makes the errors of its worker processes again.
        text = f"{place}{'' if event is None else f', event {event}'}: {what}" if what else place
        super().__init__(plain(text))

    def __reduce__(self) -> tuple[type[BadEventFile], tuple[str, str, str, int | None]]:
        # it has to come back whole from the worker processes of a loader
        return type(self), (self.path, self.where, self.what, self.event)


#: what HDF5 and numpy raise for damaged files, besides what they should
_DAMAGE = (OSError, RuntimeError, KeyError, ValueError, TypeError, OverflowError, MemoryError, AttributeError)
#: no filter that is read here makes data smaller by more
_MOST_PACKED = 1100


@contextlib.contextmanager
def damage(path: str | Path, event: int | None = None) -> Iterator[None]:
    """Whatever is raised in reading a damaged file becomes a BadEventFile that names it.

    Raises:
        BadEventFile: something was raised.
    """
    try:
        yield
    except (BadEventFile, FileNotFoundError, PermissionError):
        raise
    except _DAMAGE as problem:
        text = " ".join(str(problem).split())[:200] or type(problem).__name__
        advice = "The file is damaged: make or fetch it again."
        raise BadEventFile(path, "", f"cannot be read ({text}). {advice}", event) from problem


def group_path(kind: str, name: str) -> str:
    """The path of a group: `Data/<kind>_<name>_group`."""
    return f"Data/{kind}_{name}_group"


def has_group(file: h5py.File, kind: str, name: str) -> bool:
    """Whether the file has this group."""
    return group_path(kind, name) in file


def tables(file: h5py.File, path: Path, kind: str, name: str) -> dict[str, h5py.Dataset]:
    """The checked tables of a group.

    Raises:
        BadEventFile: one is missing or is not what the layout says.
    """
    found = {}
    for table, (dtype, _, fields) in TABLES[kind].items():
        found[table] = checked_table(file, path, f"{group_path(kind, name)}/{table}", dtype, fields)
    return found


def checked_table(
    file: h5py.File, path: Path, where: str, dtype: np.dtype, fields: tuple[str, ...]
) -> h5py.Dataset:
    """A table of the file, after a look at its type.

    Raises:
        BadEventFile: it is missing or is not what the layout says.
    """
    found: h5py.Group | h5py.Dataset = file
    done = ""
    for part in where.split("/"):
        done = f"{done}/{part}" if done else part
        link = found.get(part, getlink=True) if isinstance(found, h5py.Group) else None
        if link is None:
            raise BadEventFile(
                path, done, "missing; this is not a file of the larcv3 layout with these names."
            )
        if not isinstance(link, h5py.HardLink):
            raise BadEventFile(path, done, "is a link to elsewhere; such links are not followed.")
        found = found[part]
    if not isinstance(found, h5py.Dataset) or found.ndim != 1:
        raise BadEventFile(path, where, "is not a table (a dataset with one dimension).")
    if found.is_virtual or found.external:
        raise BadEventFile(path, where, "has its data in another file; such data is not read.")
    if found.compression not in _FILTERS or _foreign_filter(found):
        raise BadEventFile(path, where, "is compressed in a way that is not known here; only gzip is.")
    if found.chunks is not None and found.chunks[0] * found.dtype.itemsize > MOST_CHUNK_BYTES:
        raise BadEventFile(path, where, f"has chunks of more than {MOST_CHUNK_BYTES >> 20} MB.")
    if found.size * found.dtype.itemsize > _MOST_PACKED * (found.id.get_storage_size() + 4096):
        raise BadEventFile(path, where, f"claims {found.size} rows, far more than the file can hold.")
    if not _apart(found.dtype):
        raise BadEventFile(path, where, "has fields that reach into each other.")
    names = found.dtype.names or ()
    for field in fields:
        if field not in names or not _same_kind(found.dtype[field], dtype[field]):
            has = found.dtype[field] if field in names else "nothing"
            raise BadEventFile(path, where, f"field '{field}' should be {dtype[field]}, but is {has}.")
    if found.dtype.hasobject:
        raise BadEventFile(path, where, "holds objects of variable length; only numbers are read.")
    return found


def _apart(dtype: np.dtype) -> bool:
    """Whether all fields of a row lie behind one another and inside it.

    A number of a damaged type may be held in a wider one here; reading it would write over what lies behind it.
    """
    if dtype.subdtype is not None:
        return _apart(dtype.base)
    end = 0
    for member, offset, *_ in sorted((dtype.fields or {}).values(), key=lambda field: field[1]):
        if offset < end or not _apart(member):
            return False
        end = offset + member.itemsize
    return end <= dtype.itemsize


def _same_kind(found: np.dtype, wanted: np.dtype) -> bool:
    if wanted.names is not None:
        return found.names is not None and all(
            name in found.names and _same_kind(found[name], wanted[name]) for name in wanted.names
        )
    return found.base == wanted.base and found.shape == wanted.shape


def _foreign_filter(table: h5py.Dataset) -> bool:
    properties = table.id.get_create_plist()
    known = {h5py.h5z.FILTER_DEFLATE, h5py.h5z.FILTER_SHUFFLE, h5py.h5z.FILTER_FLETCHER32}
    return any(properties.get_filter(i)[0] not in known for i in range(properties.get_nfilters()))
