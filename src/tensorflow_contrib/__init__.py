"""`tensorflow.contrib`: the names of it that public programs for IPUs use."""

import importlib.machinery as _machinery
import sys as _sys

from tremula.frontends.tensorflow.tensorflow1 import contrib as _contrib


class _Loader:
    """Makes the modules below this one, which have no files."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        below = name.removeprefix("tensorflow.contrib.")
        if below == name or not _contrib.is_module(below):
            return None
        return _machinery.ModuleSpec(name, _Loader, is_package=bool(_contrib.folders(below)))

    @staticmethod
    def create_module(spec):
        return None

    @staticmethod
    def exec_module(module):
        _contrib.fill(module, module.__name__.removeprefix("tensorflow.contrib."))


_sys.meta_path.append(_Loader)
from tensorflow.python import ipu  # noqa: E402  # SDKs before 1.2 had it here

_contrib.fill(_sys.modules[__name__], "")
