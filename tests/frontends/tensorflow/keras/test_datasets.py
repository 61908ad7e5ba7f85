"""Data sets that cannot be downloaded."""

from __future__ import annotations

import pytest
import tensorflow as tf
from tensorflow.python import ipu  # noqa: F401

from tremula.frontends.tensorflow import hooks


@pytest.mark.parametrize("name", ["mnist", "fashion_mnist", "cifar10", "imdb"])
def test_a_failed_download_names_the_folder_for_the_file(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: pytest.TempPathFactory
) -> None:
    hooks.apply(with_strategy=True)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
    load_data = getattr(tf.keras.datasets, name).load_data
    with pytest.raises(Exception, match=r"put the file there by hand: .*datasets"):
        load_data()
