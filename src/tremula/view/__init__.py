"""Viewers of profile files: text, a page, a trace, notebooks. They read the file and know nothing else."""
