"""Programs of several processes: collectives of the host by name, strategies, and the names of Horovod."""
