"""Colours of series and parts, the same in plots and on the page; told apart also by those who see fewer colours."""

from __future__ import annotations

#: one for each target, with a marker that tells them apart in print
SERIES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b58900", "#56b4e9", "#8a6fd1", "#6b7480")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "h")
PARTS = {
    "compute": "#4a5fc1",
    "exchange": "#88ccee",
    "sync": "#44aa99",
    "inter_ipu": "#228833",
    "collectives": "#999933",
    "streaming": "#ddcc77",
    "pipeline_idle": "#bbbfc6",
    "host": "#cc6677",
    "data": "#aa3377",
}
