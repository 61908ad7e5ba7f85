"""Codelets: the code of vertices, in Python or C++, bound to the data of many vertices at once."""
