"""What to change in a program so that it fits or runs faster: predicted by the chip model, told as code."""
