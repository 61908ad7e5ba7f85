"""Graphs: variables, tensors as views over them, tile mappings, vertices and compute sets."""
