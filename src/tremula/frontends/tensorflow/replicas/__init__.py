"""Replicas: one traced program becomes one graph that holds a copy for each replica.

A program is traced once. Ops that exchange data between replicas are ordinary ops with a mark (`collectives.py`). To
run it on R replicas, its graph is copied R times into one (`lowering.py`): each copy has its own variables
(`variables.py`), random streams and elements of the infeed, and a marked op becomes arithmetic over the copies.
Replicas never wait for each other at run time, so results are deterministic and a deadlock is impossible.
"""
