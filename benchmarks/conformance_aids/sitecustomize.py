"""Lets torchvision import where only its CUDA build exists: declares the operators it looks for at import.

Used for the conformance run alone; the operators themselves are not needed by it.
"""

import importlib.abc
import sys


class _DeclareBeforeTorchvision(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == "torchvision":
            sys.meta_path.remove(self)
            import torch

            try:
                torch._C._dispatch_has_kernel_for_dispatch_key("torchvision::nms", "Meta")
            except RuntimeError:
                self.library = torch.library.Library("torchvision", "DEF")
                for name in ("nms", "qnms"):
                    self.library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
                sys.modules[__name__].library = self.library
        return


sys.meta_path.insert(0, _DeclareBeforeTorchvision())
