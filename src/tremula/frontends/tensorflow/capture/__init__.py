"""Traced graphs as a flat list of nodes, for the chip model."""
