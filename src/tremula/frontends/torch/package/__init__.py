"""Compiled models as files: a checked container of JSON and tensors, never pickle or code.

- `container`: writes and opens files (`write`, `opened`, `Package`).
- `saved_program`: a compiled program with what a session needs to run it (`encode_saved`, `decode_saved`).
- `module_writing`, `module_reading`: the torch modules of a model (`encode_module`, `decode_module`).
- `compatibility`: whether a saved program fits a model (`check_fit`).
- `graph_writing`, `graph_reading`, `operand_data`, `plain_data`, `allowed_ops`: graphs, operands, values and operators,
  as the others write and read them.
"""
