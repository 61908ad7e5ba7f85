"""Python implementations of custom ops that a program brings as C++ for the device."""

from tremula.frontends.torch.ops.custom import register

__all__ = ["register"]
