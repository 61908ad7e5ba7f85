"""Names of tensors: unique in a graph, in those around it and in those inside it."""

from __future__ import annotations

from collections.abc import Iterator

_DELIMITER = "/"


class Names:
    """The names of one graph, and the name scopes in force."""

    def __init__(self, parent: Names | None = None) -> None:
        self._parent = parent
        self._children: list[Names] = []
        self._used: set[str] = set()
        #: last number tried by base, so that many alike stay fast
        self._counts: dict[str, int] = {}
        self.scopes: list[str] = [] if parent is None else list(parent.scopes)
        if parent is not None:
            parent._children.append(self)

    def scoped(self, name: str) -> str:
        """`name` inside the scopes in force."""
        return _DELIMITER.join([*self.scopes, name]) if name or self.scopes else name

    def take(self, base: str, output: int | None = None) -> str:
        """A new name from `base`, inside the scopes in force; `output` is the place among a node's outputs."""
        base = self.scoped(base)
        if output is not None:
            base = f"{base}:{output}"
        number = self._counts.get(base, 0)
        name = f"{base}{_DELIMITER}{number}" if number else base
        while self.known(name):
            number += 1
            name = f"{base}{_DELIMITER}{number}"
        self._counts[base] = number
        self._used.add(name)
        return name

    def add(self, name: str) -> None:
        """A name that a file has."""
        self._used.add(name)

    def own(self, name: str) -> bool:
        """Whether this graph has it."""
        return name in self._used

    def outside(self, name: str) -> bool:
        """Whether a graph around this one has it."""
        return any(name in each._used for each in self._above())

    def known(self, name: str) -> bool:
        """Whether this graph, one around it or one inside it has the name."""
        return name in self._used or self.outside(name) or self._inside(name)

    def visible(self) -> Iterator[str]:
        """All names that a node of this graph may read."""
        yield from self._used
        for each in self._above():
            yield from each._used

    def _inside(self, name: str) -> bool:
        return any(name in each._used or each._inside(name) for each in self._children)

    def _above(self) -> Iterator[Names]:
        found = self._parent
        while found is not None:
            yield found
            found = found._parent
