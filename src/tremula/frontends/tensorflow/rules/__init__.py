"""From captured nodes to work: one rule for each op type of TensorFlow. Nothing here imports TensorFlow."""
