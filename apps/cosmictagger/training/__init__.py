"""Training, validation and inference: on the host, on IPUs, in one process or several."""
