"""`tensorflow.compiler.plugin`: modules of the Poplar plugin that programs import."""
