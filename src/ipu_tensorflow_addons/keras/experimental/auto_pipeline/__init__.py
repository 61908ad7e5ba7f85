"""Stages of pipelines that are found by a program."""
