"""`load_data()` of Keras data sets without a network: the error names the file and the folder where it can be put.

Only the failure of a download is changed. Stock Keras uses a file that lies in the folder without a network, if it has
the published checksum.
"""

from __future__ import annotations

import functools
import os
from typing import Any

from tremula.frontends.tensorflow.stock_keras import internal


class DownloadFailed(Exception):
    """A data set could not be downloaded."""


def install() -> None:
    """Explain failed downloads of `keras.utils.get_file`, in its own module and in those that took it by name."""
    data_utils = internal("utils.data_utils")
    stock = data_utils.get_file

    @functools.wraps(stock)
    def get_file(fname: Any = None, origin: Any = None, *args: Any, **kwargs: Any) -> Any:
        try:
            return stock(fname, origin, *args, **kwargs)
        except Exception as problem:
            if "URL fetch failure" not in str(problem):
                raise
            name = os.path.basename(str(fname or origin)) + (".tar.gz" if kwargs.get("untar") else "")
            folder = os.path.join(kwargs.get("cache_dir") or _home(), kwargs.get("cache_subdir", "datasets"))
            raise DownloadFailed(
                f"{name} could not be downloaded from {origin}: {problem}. Without a network, put the file there by "
                f"hand: {os.path.join(folder, name)} (the original file: its checksum is compared), or give the "
                f"program its data in another way."
            ) from problem

    data_utils.get_file = get_file
    for name in ("boston_housing", "cifar10", "cifar100", "fashion_mnist", "imdb", "mnist", "reuters"):
        internal(f"datasets.{name}").get_file = get_file


def _home() -> str:
    return os.environ.get("KERAS_HOME") or os.path.join(os.path.expanduser("~"), ".keras")
