"""CosmicTagger: finds the pixels of a neutrino among those of cosmic rays, on Graphcore IPUs.

Images of a liquid-argon detector (three wire planes) are labelled pixel by pixel: background, cosmic or
neutrino. The package reads, writes and generates events, trains the network and shows what it found.
"""

__version__ = "0.1.0"
