"""Weights of the published TensorFlow programs: read and written, with nothing of TensorFlow.

keras_files.py   HDF5 files of Keras: weights or whole models
bundles.py       checkpoints of TensorFlow: an index of tensors and a file with their numbers
tables.py        the sorted tables that such an index is
checksums.py     the checksums of both
layers.py        which arrays are those of which layer
weights.py       between any of these files and the network
"""
