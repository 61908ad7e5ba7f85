"""Backward graphs of graphs."""

from tremula.frontends.popxl.autodiff.transform import GradInfo, differentiate

__all__ = ["GradInfo", "differentiate"]
