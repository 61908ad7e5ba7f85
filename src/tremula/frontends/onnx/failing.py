"""Errors that name the node, its inputs and the user's line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch

from tremula.errors import Error
from tremula.frontends.onnx.model import STANDARD, Node

#: what operators raise for a graph that makes no sense
_USERS = (
    RuntimeError,
    ValueError,
    IndexError,
    TypeError,
    KeyError,
    ZeroDivisionError,
    OverflowError,
    NotImplementedError,
)


class KnownError(Error):
    """An error whose message programs look at: it stays as it is, and what is known of the node goes beside it."""


class NodeError(Error):
    """A node that cannot be run; `node` is the innermost, and `note` says more where the message does not."""

    def __init__(self, message: str, node: Node, note: str = "") -> None:
        super().__init__(message, location="" if node.source is None else str(node.source))
        self.node = node
        self.note = note


def explained(problem: Exception, node: Node, inputs: Sequence[torch.Tensor | None]) -> Exception:
    """`problem`, which a node raised, with the node, its inputs and its line; what is not a user's error stays."""
    if isinstance(problem, NodeError) or not isinstance(problem, (Error, *_USERS)):
        return problem
    why = problem.message if isinstance(problem, Error) else str(problem).strip().partition("\n")[0]
    shapes = ", ".join(
        f"{name}: {_shown(tensor)}" for name, tensor in zip(node.inputs, inputs, strict=False) if name
    )
    line = "" if node.source is None else f" It was made at {node.source}."
    if isinstance(problem, KnownError):
        return NodeError(why, node, f"{node}. Its inputs are {shapes or 'none'}.{line}")
    return NodeError(
        f"{node}: {why or type(problem).__name__} Its inputs are {shapes or 'none'}.{line}", node
    )


def unknown_operators(missing: Mapping[tuple[str, str, int], Node]) -> Error:
    """All operators of a model that are not known, at once."""
    names = sorted(
        f"{'' if domain == STANDARD else domain + '.'}{kind} (version {version}{_where(node)})"
        for (domain, kind, version), node in missing.items()
    )
    return Error(f"the model has operators that are not supported: {', '.join(names)}.")


def _where(node: Node) -> str:
    return f", at {node.source}" if node.source is not None else ""


def _shown(tensor: torch.Tensor | None) -> str:
    if tensor is None:
        return "left out"
    return f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)}"
