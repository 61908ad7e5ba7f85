"""The Poplar plugin."""
