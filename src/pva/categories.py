"""Uses of tile memory under the names of the original.

Each use of the chip model goes to exactly one of the original's categories, so that the categories of a tile sum to
its bytes without gaps. Categories that the chip model does not separate or does not know are 0
and marked as such.
"""

from __future__ import annotations

from collections.abc import Iterator

#: use of the chip model -> category
MAPPED = {
    "weights": "variable",
    "buffers": "variable",
    "optimizer state": "variable",
    "gradient accumulators": "variable",
    "pipeline stashes": "variable",
    "host I/O buffers": "variable",
    "activations": "variable",
    "temporaries": "variable",
    "constants": "constant",
    "vertex code": "vertexCode",
    "vertex state": "vertexInstanceState",
    "exchange code": "internalExchangeCode",
    "control code": "controlCode",
    "stacks": "stack",
    # programs that place their variables and vertices themselves
    "variables": "variable",
    "temporary variables": "variable",
    "message buffers": "message",
    "edge pointers": "vertexFieldData",
    "host exchange code": "hostExchangeCode",
}
#: categories that every profile tells apart; others only some do
_ALWAYS_MODELLED = frozenset(MAPPED.values()) - {"message", "vertexFieldData", "hostExchangeCode"}
#: bytes that nothing can use; no category, but the difference between `includingGaps` and `excludingGaps`
GAPS = "gaps"

#: categories, in the order of the original's list
NAMES = (
    "vertexCode", "vertexInstanceState", "vertexFieldData", "internalExchangeCode", "hostExchangeCode",
    "globalExchangeCode", "controlCode", "controlId", "controlTable", "constant", "copyDescriptor",
    "vectorListDescriptor", "instrumentationResults", "hostExchangePacketHeader", "globalExchangePacketHeader",
    "stack", "variable", "message", "hostMessage", "globalMessage", "multiple", "outputEdge", "pipelinedOutputEdge",
    "programId", "rearrangement", "sharedCodeStorage", "sharedDataStorage",
)  # fmt: skip

#: categories that are part of another one in the chip model
COUNTED_IN = {
    "vertexFieldData": "vertexInstanceState",
    "vectorListDescriptor": "vertexInstanceState",
    "message": "variable",
    "rearrangement": "variable",
}
#: categories whose bytes are code or bookkeeping, not tensors
NOT_TENSORS = frozenset(
    {
        "vertexCode", "vertexInstanceState", "vertexFieldData", "internalExchangeCode", "hostExchangeCode",
        "controlCode", "stack",
    }
)  # fmt: skip


def category_of(use: str) -> str:
    """The original's name for a use of the chip model; uses of later versions count as variables."""
    return MAPPED.get(use, "variable")


class CategoryBytes:
    """Bytes of one category on a tile or an IPU."""

    __slots__ = ("name", "total")

    def __init__(self, name: str, total: int) -> None:
        self.name = name
        self.total = total

    @property
    def modelled(self) -> bool:
        """Whether the chip model tells this category apart; if not, `total` is 0."""
        return self.total > 0 or self.name in _ALWAYS_MODELLED

    @property
    def countedIn(self) -> str:
        """The category that has these bytes where this one is not told apart; empty: nobody counts them."""
        return COUNTED_IN.get(self.name, "")

    def __repr__(self) -> str:
        if self.modelled:
            return f"CategoryBytes({self.name}, total={self.total})"
        return f"CategoryBytes({self.name}, {f'counted in {self.countedIn}' if self.countedIn else 'not modelled'})"


class Categories:
    """Bytes by category: an attribute for each name, or iterate over all of them."""

    __slots__ = ("_bytes",)

    def __init__(self, sizes: dict[str, int]) -> None:
        self._bytes = sizes

    def __getattr__(self, name: str) -> CategoryBytes:
        if name in NAMES:
            return CategoryBytes(name, self._bytes.get(name, 0))
        raise AttributeError(f"Unknown memory category {name!r}; the categories are {', '.join(NAMES)}.")

    def __iter__(self) -> Iterator[CategoryBytes]:
        return (CategoryBytes(name, self._bytes.get(name, 0)) for name in NAMES)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *NAMES]

    def __repr__(self) -> str:
        used = ", ".join(f"{name}={size}" for name, size in self._bytes.items() if size)
        return f"Categories({used})"
