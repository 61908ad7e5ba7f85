"""Graphs and programs of Poplar, as the chip model takes them."""
