"""What executors of all front ends have in common: the protocol that a device drives, and the output modes."""
