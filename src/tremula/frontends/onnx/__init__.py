"""ONNX graphs on torch: read, checked, interpreted, captured like any other torch model."""
