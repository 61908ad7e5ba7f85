"""Makes ONNX graphs: the operators that a builder offers, names of tensors, attributes of nodes, and shapes."""
