"""Gradients are registered with the ops; programs import this module for its effect."""
