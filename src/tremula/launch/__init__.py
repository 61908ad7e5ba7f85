"""`poprun`: starts the instances of a distributed program, watches them, and leaves nothing behind."""
