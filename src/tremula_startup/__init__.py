"""Lets `import tensorflow.python.ipu` and `import keras.ipu` find Tremula.

A `.pth` file imports this module when the interpreter starts. It appends one finder to `sys.meta_path`, which is
asked only for modules that nobody else has: where a real stack is installed, programs get that one. Nothing of
TensorFlow is imported or changed here.
"""

import os
import sys

__all__ = ["MODULES", "IpuFinder", "install"]

#: public modules -> the folders, beside this one, that hold their thin re-exports
MODULES = {
    "tensorflow.python.ipu": "tensorflow_ipu",
    "tensorflow.compiler.plugin": "tensorflow_plugin",
    "keras.ipu": "keras_ipu",
    "tf_keras.ipu": "keras_ipu",
}
#: it is there in programs for TensorFlow 1 only
CONTRIB = "tensorflow.contrib"
#: the variable by which `import tensorflow` gives the interface of TensorFlow 1
SWITCH = "TREMULA_TENSORFLOW"
#: packages whose modules may be looked for under names that later releases dropped
MOVED = ("tensorflow.", "keras.")


class IpuFinder:
    """Finds the modules above, and, once TensorFlow runs as an IPU's, modules that were moved since TensorFlow 2.6."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        """The spec of a module that `sys.meta_path` found nowhere else; None if it is not one of ours."""
        if not name.startswith(("tensorflow.", "keras.", "tf_keras.")):
            return None
        folder = MODULES.get(name)
        if name == CONTRIB:
            folder = _contrib_folder()
        if folder is not None:
            import importlib.util

            root = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), folder)
            return importlib.util.spec_from_file_location(
                name, os.path.join(root, "__init__.py"), submodule_search_locations=[root]
            )
        if name.startswith(MOVED):
            from tremula.frontends.tensorflow.legacy import moved_modules

            return moved_modules.find_spec(name)
        return None


class _TensorFlow1:
    """Is asked before `tensorflow` is imported, in programs for TensorFlow 1."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != "tensorflow":
            return None
        import importlib.util

        from tremula.frontends.tensorflow.tensorflow1 import interface

        sys.meta_path.remove(_TensorFlow1)
        interface.follow_switch()
        return importlib.util.find_spec(name)


def _contrib_folder():
    if os.environ.get(SWITCH) == "1":
        return "tensorflow_contrib"
    from tremula.frontends.tensorflow.tensorflow1 import hints

    hints.watch()
    return None


def install():
    """Append the finder, unless it is there."""
    if not any(finder is IpuFinder for finder in sys.meta_path):
        sys.meta_path.append(IpuFinder)
        if os.environ.get(SWITCH) == "1":
            sys.meta_path.insert(0, _TensorFlow1)


install()
