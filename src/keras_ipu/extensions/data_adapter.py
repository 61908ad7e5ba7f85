"""The data of Keras models on the device."""

from tremula.frontends.tensorflow.keras.data_handler import IPUDataHandler

__all__ = ["IPUDataHandler"]
