"""`poprun`: starts the instances of a distributed program, watches them, and cleans up after them."""
