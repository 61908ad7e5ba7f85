"""What `ipu_tensorflow_addons` re-exports: Keras layers and optimizers made for the IPU, and tools around them."""
