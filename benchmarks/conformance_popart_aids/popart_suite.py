"""A pytest plugin for PopART's suite: names that NumPy 1.24 took away, which the suite still uses."""

from __future__ import annotations

import numpy as np

for _name, _type in (("bool", bool), ("int", int), ("float", float), ("object", object)):
    if _name not in np.__dict__:
        setattr(np, _name, _type)
