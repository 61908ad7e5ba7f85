"""What each operator computes, in torch: one file per family, one table (table.py) for all."""
