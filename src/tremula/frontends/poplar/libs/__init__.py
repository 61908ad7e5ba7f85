"""Functions of the libraries, by their C++ names: each computes and has a cost."""
