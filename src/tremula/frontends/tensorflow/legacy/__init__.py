"""What programs for TensorFlow 2.6 name and later releases moved or changed."""
