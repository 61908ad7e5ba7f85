"""Thin re-exports; see the package above."""
