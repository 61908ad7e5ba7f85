"""Which TensorFlow this is, and whether the front end can run on it.

The first tier is TensorFlow 2.15 with Keras 2.15: the last release with Keras 2 as `keras` and with estimators. The
second is a newer TensorFlow with `tf_keras`, for Python versions that 2.15 has no wheels for.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib import metadata

#: the release that everything is tested with
FIRST_TIER = (2, 15)
#: the oldest release of the second tier
SECOND_TIER = (2, 18)
#: the variable by which TensorFlow is told to use tf_keras
LEGACY_KERAS = "TF_USE_LEGACY_KERAS"


class UnsupportedTensorFlow(ImportError):
    """This TensorFlow cannot run IPU programs; the text says why and what to install."""


@dataclass(frozen=True)
class Versions:
    """The TensorFlow and Keras of this environment, as their metadata name them; empty where there is none."""

    tensorflow: str
    keras: str
    tf_keras: str

    @property
    def release(self) -> tuple[int, int]:
        """Major and minor number of TensorFlow."""
        major, minor = (self.tensorflow or "0.0").split(".")[:2]
        return int(major), int(minor)

    @property
    def tier(self) -> int:
        """1: all is tested; 2: programs run on tf_keras; 0: nothing runs."""
        if self.release == FIRST_TIER:
            return 1
        return 2 if self.release >= SECOND_TIER and self.tf_keras else 0

    @property
    def problem(self) -> str:
        """Why nothing runs here; empty if something does."""
        if not self.tensorflow:
            return "TensorFlow is not installed: pip install 'tremula[tensorflow]'."
        if self.tier:
            return ""
        if self.release >= SECOND_TIER:
            return (
                f"TensorFlow {self.tensorflow} comes with Keras 3, on which IPU programs cannot run, and tf_keras is "
                f"not installed: pip install 'tremula[tensorflow]' installs what this Python can use."
            )
        return (
            f"TensorFlow {self.tensorflow} is not supported: IPU programs run on TensorFlow 2.15.1 (Python 3.11), or "
            f"on 2.18 and newer with tf_keras: pip install 'tremula[tensorflow]'."
        )


def _version(*names: str) -> str:
    for name in names:
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return ""


def installed() -> Versions:
    """What is installed, without importing it."""
    return Versions(_version("tensorflow-cpu", "tensorflow"), _version("keras"), _version("tf_keras"))


def check() -> Versions:
    """The versions of this environment; an error if IPU programs cannot run on them.

    Raises:
        UnsupportedTensorFlow: nothing runs here.
    """
    found = installed()
    if found.problem:
        raise UnsupportedTensorFlow(found.problem)
    if found.tier == 2 and os.environ.get(LEGACY_KERAS, "").lower() not in ("1", "true"):
        raise UnsupportedTensorFlow(
            f"With TensorFlow {found.tensorflow}, `tf.keras` is Keras 3, on which IPU programs cannot run. tf_keras is "
            f"installed: set {LEGACY_KERAS}=1 before the program starts, and `tf.keras` is Keras 2."
        )
    return found
