"""A look into executable files under the names of `popef`, the library that programs inspect them with."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tremula.frontends.tensorflow.executables import container
from tremula.frontends.tensorflow.executables.signature import Entry, to_json

#: the programs of an executable; data goes in and out during the second
PROGRAMS = {0: "load_program", 1: "main_program", 2: "save_program"}


class Anchor:
    """One tensor that goes into an executable or comes out of it.

    Args:
        entry: the tensor.
        programs: the numbers of the programs that it belongs to.
    """

    def __init__(self, entry: Entry, programs: Sequence[int]) -> None:
        self._entry, self._programs = entry, list(programs)

    def name(self) -> str:
        """Its name."""
        return self._entry.name

    def programs(self) -> list[int]:
        """The numbers of the programs that it belongs to."""
        return list(self._programs)


class Metadata:
    """What a file says about its executable."""

    def __init__(self, executable: container.Executable) -> None:
        signature = executable.signature
        self._ipus = executable.ipus
        self._anchors = [
            *(Anchor(entry, [1]) for entry in (*signature.streamed_inputs, *signature.streamed_outputs)),
            *(Anchor(entry, [0]) for entry in signature.inputs),
            *(Anchor(entry, [2]) for entry in signature.outputs),
        ]

    def anchors(self) -> list[Anchor]:
        """The tensors: those of calls, then those of the start, then those of the end."""
        return list(self._anchors)

    def programsMap(self) -> dict[int, str]:  # noqa: N802
        """The names of the programs by number."""
        return dict(PROGRAMS)

    def numIpus(self) -> int:  # noqa: N802
        """How many IPUs it was compiled for."""
        return self._ipus


class OpaqueBlob:
    """The description of an executable as bytes."""

    def __init__(self, executable: container.Executable) -> None:
        self._data = json.dumps(to_json(executable.signature)).encode()

    def data(self) -> bytes:
        """The bytes."""
        return self._data


class Reader:
    """Reads files, checked."""

    def __init__(self) -> None:
        self._executables: list[container.Executable] = []

    def parseFile(self, path: Any) -> None:  # noqa: N802
        """Read one more file.

        Raises:
            ExecutableError: it is not an executable.
        """
        self._executables.append(container.read(Path(os.fsdecode(path))))

    def metadata(self) -> list[Metadata]:
        """Of each file."""
        return [Metadata(executable) for executable in self._executables]

    def opaqueBlobs(self) -> list[OpaqueBlob]:  # noqa: N802
        """Of each file."""
        return [OpaqueBlob(executable) for executable in self._executables]
