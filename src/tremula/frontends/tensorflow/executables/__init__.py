"""Programs that are compiled ahead of time into a file, and run from it without their Python source."""
