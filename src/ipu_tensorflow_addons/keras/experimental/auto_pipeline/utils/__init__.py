"""What finding stages needs."""
