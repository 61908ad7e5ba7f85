"""Cycles of the vertices that run on a tile: one module per kind, closed formulas over numpy arrays."""
