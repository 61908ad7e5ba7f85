"""Poplar programs in C++: headers and libraries, and the process that builds and runs what they record."""
