"""Codelets in C++: found in their preprocessed text, compiled for the host, bound by the names of their fields."""
