"""Nothing that programs use."""
