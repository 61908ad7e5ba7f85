"""Archives hold what was written, and nothing else is read."""

from __future__ import annotations

import io
import zipfile

import numpy as np
import pytest

from tremula.checked_archive import Kind, write_archive
from tremula.errors import Error

KIND = Kind("it.json", "test", 3, "a thing", 1 << 20, "Make it again")


def written(document: dict[str, object] | None = None) -> io.BytesIO:
    file = io.BytesIO()
    document = {**KIND.head(), "x": [1, 2]} if document is None else document
    write_archive(file, KIND.name, document, {"column": np.arange(5)})
    file.seek(0)
    return file


def test_documents_and_arrays_come_back() -> None:
    document, arrays = KIND.read(written(), "it")
    assert document["x"] == [1, 2]
    assert arrays["column"].tolist() == [0, 1, 2, 3, 4]
    assert written().getvalue() == written().getvalue()


@pytest.mark.parametrize(
    ("document", "text"),
    [
        ({"format": "other", "version": 3}, "it is not a thing"),
        ({"format": "test", "version": 2}, r"version 2 of the file format.* reads version 3\. Make it again"),
    ],
)
def test_other_formats_are_refused(document: dict[str, object], text: str) -> None:
    with pytest.raises(Error, match=text):
        KIND.read(written(document), "it")


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        ("extra", b"", "something that does not belong there"),
        ("pickle.npy", b"\x80\x04N.", "pickle.npy is not an array"),
        ("large.npy", bytes(1 << 21), "unpacks to"),
    ],
)
def test_what_does_not_belong_there_is_refused(name: str, content: bytes, text: str) -> None:
    file = written()
    with zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    file.seek(0)
    with pytest.raises(Error, match=text):
        KIND.read(file, "it")


def test_arrays_of_objects_are_not_read() -> None:
    file = written()
    buffer = io.BytesIO()
    np.save(buffer, np.array([{}], dtype=object), allow_pickle=True)
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("objects.npy", buffer.getvalue())
    file.seek(0)
    with pytest.raises(Error, match=r"objects.npy is not an array\. Make it again"):
        KIND.read(file, "it")
