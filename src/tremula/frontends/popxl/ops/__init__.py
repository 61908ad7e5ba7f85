"""What ops compute, by kind."""
