"""Finds the pipeline stages of a model from measurements of its layers."""
