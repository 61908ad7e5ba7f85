"""Optimizers whose values have a default and, for some weights, values of their own."""
