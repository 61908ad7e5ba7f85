"""How codelets written as Python classes are read, translated, executed and costed."""
