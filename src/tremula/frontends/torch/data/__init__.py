"""Feeding a model from another process: shared-memory slots, rebatching, distributed partition."""
