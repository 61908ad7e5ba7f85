"""Linear algebra, convolutions and norms of poplin: what they compute and what they are for the chip model."""
