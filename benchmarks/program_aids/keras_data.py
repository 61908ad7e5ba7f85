"""Starts a program with data in place of downloads (keras_datasets.py): `python keras_data.py SCRIPT ARGUMENT ...`."""

from __future__ import annotations

import pathlib
import runpy
import sys

from keras_datasets import replace_downloads

replace_downloads()
sys.argv = sys.argv[1:]
sys.path[0] = str(pathlib.Path(sys.argv[0]).resolve().parent)
runpy.run_path(sys.argv[0], run_name="__main__")
