"""Stages for inference."""
