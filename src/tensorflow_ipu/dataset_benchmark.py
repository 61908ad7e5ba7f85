"""Speed of datasets."""

from tremula.frontends.tensorflow.dataset_speed import dataset_benchmark, infeed_benchmark

__all__ = [
    "dataset_benchmark",
    "infeed_benchmark",
]
