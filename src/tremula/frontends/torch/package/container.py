"""One file for a compiled model: a zip container that holds JSON documents, safetensors and bytes of known names.

No entry is compressed, so a file cannot unpack to more than its own size; names, sizes and checksums are
checked before anything is parsed. Files are written atomically.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NoReturn

import safetensors
import safetensors.torch
import torch

from tremula.atomic_files import atomic_open_binary
from tremula.checked_json import BadValue
from tremula.errors import Error


@dataclass(frozen=True)
class Layout:
    """What files of one kind hold: entries of other names are refused.

    Attributes:
        format: the kind, as files of it say themselves.
        version: of the format.
        documents: names of JSON documents.
        tensors: names of groups of tensors.
        data: full names of entries of other bytes.
        what: such a file in words.
        makers: the functions that make them.
    """

    format: str
    version: int
    documents: tuple[str, ...]
    tensors: tuple[str, ...]
    data: tuple[str, ...] = ()
    what: str = "compiled model"
    makers: str = "save() and compileAndExport()"

    @functools.cached_property
    def names(self) -> frozenset[str]:
        """All entries that may be in a file."""
        documents = (f"{name}.json" for name in self.documents)
        return frozenset([*documents, *(f"{name}.safetensors" for name in self.tensors), *self.data])


FORMAT = "tremula-executable"
FORMAT_VERSION = 2

#: everything that may be in a file: JSON documents and groups of tensors
DOCUMENTS = ("manifest", "program", "model", "optimizer")
TENSORS = ("program", "model", "optimizer")
#: files of PopTorch models
COMPILED_MODEL = Layout(FORMAT, FORMAT_VERSION, DOCUMENTS, TENSORS)

_OWN_FIELDS = ("format", "format_version", "entries")
_JSON_LIMIT = 512 << 20
_ENCRYPTED = 0x1
_EPOCH = (1980, 1, 1, 0, 0, 0)  # entries carry no time: equal contents make equal files

#: contents that cannot be those of a file which `write` made
BadData = BadValue


class OtherVersion(Error):
    """A file is sound, but of a version that this one does not read."""


def write(
    path: str,
    documents: Mapping[str, Any],
    tensors: Mapping[str, Mapping[str, torch.Tensor]],
    data: Mapping[str, bytes] | None = None,
    layout: Layout = COMPILED_MODEL,
) -> None:
    """Put documents (JSON data), groups of tensors, and other bytes into the file `path`.

    Raises Error if a tensor cannot be stored, or the file cannot be written; what was there before is kept.
    """
    try:
        with atomic_open_binary(Path(path), parents=False) as file:
            _write_entries(file, documents, tensors, data or {}, layout)
    except OSError as problem:
        raise Error(f"The {layout.what} cannot be written to {path}: {problem}.") from problem


def _write_entries(
    file: IO[bytes],
    documents: Mapping[str, Any],
    tensors: Mapping[str, Mapping[str, torch.Tensor]],
    others: Mapping[str, bytes],
    layout: Layout,
) -> None:
    names = [*(f"{name}.json" for name in documents), *(f"{name}.safetensors" for name in tensors), *others]
    own = {"format": layout.format, "format_version": layout.version, "entries": sorted(names)}
    manifest = {**documents["manifest"], **own}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as container:
        for name, document in {**documents, "manifest": manifest}.items():
            text = json.dumps(document, allow_nan=False, separators=(",", ":"))
            container.writestr(zipfile.ZipInfo(f"{name}.json", _EPOCH), text)
        for name, group in tensors.items():
            try:
                data = safetensors.torch.save(_storable(group))
            except (safetensors.SafetensorError, ValueError, KeyError) as problem:
                raise Error(f"A tensor of the {name} cannot be stored: {problem}.") from problem
            container.writestr(zipfile.ZipInfo(f"{name}.safetensors", _EPOCH), data)
        for name, content in others.items():
            container.writestr(zipfile.ZipInfo(name, _EPOCH), content)


def _storable(group: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The tensors dense and each in memory of its own, as safetensors needs them."""
    seen: set[int] = set()
    result = {}
    for name, tensor in group.items():
        plain = tensor.detach().contiguous()
        place = plain.untyped_storage().data_ptr()
        if place in seen or plain.numel() * plain.element_size() != plain.untyped_storage().nbytes():
            plain = plain.clone()
        seen.add(place)
        result[name] = plain
    return result


class Package:
    """A file that is open for reading; `opened` makes one."""

    def __init__(self, path: str, container: zipfile.ZipFile, layout: Layout = COMPILED_MODEL) -> None:
        self.path = path
        self.layout = layout
        self._container = container
        self.manifest: dict[str, Any] = {}

    def entries(self) -> list[str]:
        """Names of all entries."""
        return self._container.namelist()

    def has(self, document: str) -> bool:
        """Whether there is a document of that name."""
        return f"{document}.json" in self.entries()

    def document(self, name: str) -> Any:
        """A document, parsed."""
        entry = self._entry(f"{name}.json")
        if entry.file_size > _JSON_LIMIT:
            self.refuse(f"{entry.filename} has {entry.file_size} bytes, more than any program needs")
        try:
            return json.loads(self._container.read(entry), parse_constant=_no_constant)
        except (ValueError, RecursionError) as problem:
            self.refuse(f"{entry.filename} is not readable as JSON ({problem})")

    def tensors(self, name: str) -> dict[str, torch.Tensor]:
        """A group of tensors; an absent group is empty."""
        if f"{name}.safetensors" not in self.entries():
            return {}
        entry = self._entry(f"{name}.safetensors")
        try:
            return safetensors.torch.load(self._container.read(entry))
        except (safetensors.SafetensorError, ValueError, KeyError) as problem:
            self.refuse(f"{entry.filename} is not readable as safetensors ({problem})")

    def data(self, name: str) -> bytes | None:
        """The bytes of an entry that is neither; None if there is none of that name."""
        return self._container.read(self._entry(name)) if name in self.entries() else None

    def refuse(self, reason: str) -> NoReturn:
        """Raise the Error that names this file and the reason."""
        raise problem_of(self.path, reason, self.layout)

    def _entry(self, name: str) -> zipfile.ZipInfo:
        try:
            return self._container.getinfo(name)
        except KeyError:
            self.refuse(f"{name} is missing")


def problem_of(path: str, reason: str, layout: Layout = COMPILED_MODEL) -> Error:
    """The error about a file that cannot be used."""
    return Error(
        f"{path} cannot be used: {reason}. Files of {layout.what}s are written by {layout.makers}; write this "
        "one again."
    )


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


@contextlib.contextmanager
def opened(path: str, layout: Layout = COMPILED_MODEL) -> Iterator[Package]:
    """Open a file, check its outside, and read its manifest.

    Raises OtherVersion for another format version; Error if it is missing, corrupt or foreign, also inside the `with`.
    """
    try:
        with open(path, "rb") as file, zipfile.ZipFile(file) as container:
            package = Package(path, container, layout)
            _check_entries(package, container, os.fstat(file.fileno()).st_size)
            package.manifest = _manifest(package)
            try:
                yield package
            except BadData as problem:
                package.refuse(str(problem))
    except FileNotFoundError as problem:
        raise Error(f"There is no file {path}: cannot load a {layout.what}.") from problem
    except OSError as problem:
        raise Error(f"The {layout.what} cannot be read from {path}: {problem}.") from problem
    except (zipfile.BadZipFile, EOFError, NotImplementedError, UnicodeDecodeError) as problem:
        raise problem_of(
            path, f"it is corrupt, cut short or no {layout.what} at all ({problem})", layout
        ) from problem


def _check_entries(package: Package, container: zipfile.ZipFile, size: int) -> None:
    total = 0
    seen = set()
    for entry in container.infolist():
        if entry.filename not in package.layout.names or entry.filename in seen:
            package.refuse(f"it has an entry {entry.filename[:80]!r} that does not belong in it")
        seen.add(entry.filename)
        stored = entry.compress_type == zipfile.ZIP_STORED and entry.file_size == entry.compress_size
        if not stored or entry.flag_bits & _ENCRYPTED:
            package.refuse(f"its entry {entry.filename} is compressed or encrypted")
        total += entry.file_size
    if total > size:
        package.refuse("its entries claim more bytes than the file has")


def _manifest(package: Package) -> dict[str, Any]:
    manifest = package.document("manifest")
    if not isinstance(manifest, dict) or manifest.get("format") != package.layout.format:
        package.refuse("it is some other kind of file")
    if manifest.get("format_version") != package.layout.version:
        raise OtherVersion(
            f"{package.path} has version {manifest.get('format_version')!r} of the file format; this version "
            f"of Tremula reads version {package.layout.version}. Compile and save the model again."
        )
    if manifest.get("entries") != sorted(package.entries()):
        package.refuse("it lacks entries that it should have, or has others")
    return {name: value for name, value in manifest.items() if name not in _OWN_FIELDS}
