"""CosmoFlow: reads cosmological parameters off the distribution of matter, on Graphcore IPUs.

A cube of particle counts at four redshifts goes in, four parameters come out. The package reads, writes and
generates such cubes, trains the published networks and shows how well they do.
"""

__version__ = "0.1.0"
