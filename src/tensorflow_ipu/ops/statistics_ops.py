"""Histograms."""

from tremula.frontends.tensorflow.ops.histograms import (
    fixed_width_bins,
    histogram,
    histogram_normalize,
    histogram_update,
)

__all__ = ["fixed_width_bins", "histogram", "histogram_normalize", "histogram_update"]
