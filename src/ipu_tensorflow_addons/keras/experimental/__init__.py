"""Things that may change."""
