"""The TensorFlow front end: IPU programs on stock TensorFlow.

`tensorflow.python.ipu`, `keras.ipu` and `ipu_tensorflow_addons` re-export what is here. Importing this package imports
nothing of TensorFlow; its modules do.
"""
