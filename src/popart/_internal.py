"""The bindings of PopART's graph, on which PopXL and its tests rest: not there yet."""

raise ImportError(
    "popart._internal is not there yet: Tremula's popart has the enumerations and the version that PopTorch programs "
    "use, and runs no PopART or PopXL programs (docs/limits.md).",
    name="popart._internal",
)
