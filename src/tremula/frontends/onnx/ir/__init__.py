"""A program as a list of ops with the names that the device's graph compiler gives them: to read, not to run."""
