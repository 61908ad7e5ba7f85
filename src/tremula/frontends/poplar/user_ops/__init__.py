"""Compiled operators of users' libraries, for the front ends: they build Poplar graphs, which run here."""
