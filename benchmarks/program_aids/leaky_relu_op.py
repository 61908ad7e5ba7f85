"""The custom op of the custom-op example, in Python: what a user would write to run that program here."""

import torch

from tremula.custom_ops import register

register("custom.ops", "LeakyRelu", lambda x, alpha: torch.nn.functional.leaky_relu(x, alpha))
