"""`IPUConfig`: the options of a system of IPUs, built from the table."""

from __future__ import annotations

import copy
from typing import Any

from tremula.frontends.tensorflow.config import option_message
from tremula.frontends.tensorflow.config.metadata import AttributeMetadata
from tremula.frontends.tensorflow.config.option_table import CATEGORIES, OPTIONS
from tremula.frontends.tensorflow.config.tree import ConfigNode


def _depth(name: str) -> int:
    return name.count(".") + 1


_CATEGORIES = {name: AttributeMetadata(name, doc, _depth(name)) for name, doc in CATEGORIES.items()}
_OPTIONS = {
    option.name: AttributeMetadata(
        option.name,
        option.doc,
        _depth(option.name),
        default=option.default,
        deprecated_msg=option.deprecated,
        hint=option.type_hint,
        effect=option.effect,
    )
    for option in OPTIONS
}


class Category(ConfigNode):
    """A category of an `IPUConfig`."""


class IPUConfig(ConfigNode):
    """The options of a system of IPUs; the text of the class lists them."""

    def __init__(self) -> None:
        nodes: dict[str, ConfigNode] = {"": self}
        for name, metadata in _OPTIONS.items():
            *categories, own = name.split(".")
            path = ""
            for category in categories:
                outer, path = path, f"{path}.{category}" if path else category
                if path not in nodes:
                    nodes[path] = Category()
                    nodes[outer]._declare(category, _CATEGORIES[path], nodes[path])
            nodes[path]._declare(own, metadata, copy.deepcopy(metadata.default))

    def _create_protobuf(self) -> Any:
        """This configuration as an `IpuOptions` message.

        Raises:
            TypeError, ValueError: options contradict each other, or do not fit this machine.
        """
        return option_message.written(self)

    def configure_ipu_system(self, device: str = "cpu") -> None:
        """Configure the IPUs of this process.

        Args:
            device: the CPU device that the IPUs belong to; there is one.
        """
        from tremula.frontends.tensorflow.config.configure import configure_ipu_system

        configure_ipu_system(self, device)


IPUConfig()._finalize_base_config()


def from_message(pb: Any) -> IPUConfig:
    """The configuration that an `IpuOptions` message describes."""
    config = IPUConfig()
    option_message.read(pb, config)
    return config
