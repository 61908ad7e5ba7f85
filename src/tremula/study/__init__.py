"""Questions about a model that the chip model answers: does it fit, how fast, on how many IPUs, cut where."""
