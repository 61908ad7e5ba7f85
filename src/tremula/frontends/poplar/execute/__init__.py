"""Execution: programs lowered to calls on an arena of bytes, and the host's side of streams."""
