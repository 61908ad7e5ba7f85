"""Programs that measure the package; each is run from the repository's root."""
