"""`tensorflow.python.ipu.autoshard`, of SDKs before 2.1."""

from tremula.frontends.tensorflow.automatic_sharding import automatic_sharding, ipu_autoshard

__all__ = ["automatic_sharding", "ipu_autoshard"]
