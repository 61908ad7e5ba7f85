"""PopXL: graphs as lists of ops with explicit aliasing, differentiated as graphs and executed on torch, per replica."""
