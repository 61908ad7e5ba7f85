"""What sessions of ONNX graphs and of PopXL programs have in common: their life on a device, and their executables."""
