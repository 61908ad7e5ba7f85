"""What to change in a program so that it fits or runs faster: predicted by the chip model, as lines of code."""
