"""Runs ONNX graphs step by step: inputs in, anchored tensors out, weights trained on the way."""
