"""Executables in files: a graph with its programs. Nothing that is read is executed, and everything is checked."""
