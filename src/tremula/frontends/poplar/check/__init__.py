"""Checks of a graph before it runs: mappings and hazards."""
