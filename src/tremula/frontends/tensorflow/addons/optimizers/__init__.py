"""Optimizers that choose the precision of their state and of their arithmetic."""
