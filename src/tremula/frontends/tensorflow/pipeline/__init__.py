"""Pipelines: stages on several IPUs that work on several micro-batches at a time, with one weight update for all.

All schedules compute the same: on the host each micro-batch passes through all stages, one after the other. What
differs on the device (schedule, placement, recomputation, offloading) is kept for the chip model (`facts.py`).
"""
