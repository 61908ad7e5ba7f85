"""The life of a program on a (virtual) device: the same for every front end."""
