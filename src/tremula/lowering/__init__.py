"""From what an op does to `Work`, without a framework: the arithmetic that the rules of all front ends share."""
