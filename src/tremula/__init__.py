"""Tremula: the open Poplar stack for people who have no IPU, or not yet."""

__version__ = "0.1.0"
